#include "src/cluster/adopt/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "src/cluster/chart/chart.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::adopt {
namespace {

using ::testing::HasSubstr;

Carried Sample() {
  Foreign foreign;
  foreign.plugins.push_back({.where = "gpu-operator/plugin"});
  foreign.plugins[0].config = MapKey{.space = "gpu-operator", .name = "configs"};
  foreign.plugins[0].default_config = "any";
  foreign.maps[*foreign.plugins[0].config] = {
      {"any", "version: v1\n"},
      {"a100", "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"}};
  foreign.exporters.push_back({.where = "monitoring/dcgm-exporter", .listen = ":9500"});
  Carried carried = Carry(foreign);
  carried.driver_root = "/run/nvidia/driver";
  return carried;
}

TEST(ValuesTest, AreReadAgainAsTheSameConfigurations) {
  const Carried carried = Sample();
  const boost::json::object values = ValuesOf(carried);
  const auto config =
      config::ParseNodeConfig(doc::Print(values.at("config"), doc::Format::kYaml), "config.yaml");
  ASSERT_OK(config);
  EXPECT_EQ(*config, carried.config);
  const auto named =
      config::ParseNodeConfig(values.at("configs").at("a100").get_string().c_str(), "a100.yaml");
  ASSERT_OK(named);
  EXPECT_EQ(*named, carried.named.at("a100"));
}

TEST(ValuesTest, AreThoseOfTheChart) {
  const auto values =
      chart::ReadValues({.files = {{.name = "carried over",
                                    .text = doc::Print(ValuesOf(Sample()), doc::Format::kYaml)}}});
  ASSERT_OK(values);
  const auto manifests = chart::Render(*values);
  ASSERT_OK(manifests);
  const std::string text = chart::PrintYaml(*manifests);
  EXPECT_THAT(text, HasSubstr("--driver-root=/host/run/nvidia/driver"));
  EXPECT_THAT(text, HasSubstr(":9500"));
  EXPECT_THAT(text, HasSubstr("a100:"));
  EXPECT_THAT(text, HasSubstr("replicas: 4"));
}

}  // namespace
}  // namespace kgpu::adopt
