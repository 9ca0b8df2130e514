#include "src/cluster/adopt/carry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "testing/status_matchers.h"

namespace kgpu::adopt {
namespace {

using config::DeviceListStrategy;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

auto NoteHas(std::string_view text) {
  return Field(&config::Note::text, HasSubstr(std::string(text)));
}

PluginSettings Plugin(std::map<std::string, std::string> flags = {}) {
  return {.where = "kube-system/plugin", .flags = std::move(flags)};
}

// A plugin with configurations in a ConfigMap.
Foreign WithMap(std::map<std::string, std::string> data, std::string default_config = "") {
  Foreign foreign;
  foreign.plugins.push_back(Plugin());
  foreign.plugins[0].config = MapKey{.space = "gpu-operator", .name = "configs"};
  foreign.plugins[0].default_config = std::move(default_config);
  foreign.maps[*foreign.plugins[0].config] = std::move(data);
  return foreign;
}

constexpr const char* kSliced = R"(version: v1
sharing:
  timeSlicing:
    resources: [{name: nvidia.com/gpu, replicas: 4}]
)";
constexpr const char* kTegraConfig = R"(version: v1
flags: {deviceDiscoveryStrategy: tegra}
)";

TEST(CarryTest, ContainersGetTheirGpusTheSameWay) {
  Foreign foreign;
  foreign.plugins.push_back(Plugin());
  EXPECT_THAT(Carry(foreign).config.plugin.strategies, ElementsAre(DeviceListStrategy::kEnvvar))
      << "NVIDIA's default: its runtime may be the default one";
  foreign.plugins[0].flags["deviceListStrategy"] = "cdi-cri,envvar";
  EXPECT_THAT(Carry(foreign).config.plugin.strategies,
              ElementsAre(DeviceListStrategy::kCdiCri, DeviceListStrategy::kEnvvar));
}

TEST(CarryTest, FlagsWinOverTheFile) {
  Foreign foreign = WithMap({{"a", "version: v1\nflags: {migStrategy: single}\n"}});
  EXPECT_EQ(Carry(foreign).config.mig, config::MigStrategy::kSingle);
  foreign.plugins[0].flags["migStrategy"] = "mixed";
  EXPECT_EQ(Carry(foreign).config.mig, config::MigStrategy::kMixed);
}

TEST(CarryTest, EveryConfigurationIsKeptUnderItsName) {
  const Carried carried = Carry(WithMap({{"any", "version: v1\n"}, {"a100", kSliced}}, "any"));
  EXPECT_THAT(carried.named, ElementsAre(Key("a100"), Key("any")));
  EXPECT_EQ(carried.named.at("a100").pools.at(0).share.replicas, 4U);
  EXPECT_EQ(carried.config, carried.named.at("any"));
  EXPECT_THAT(carried.refused, IsEmpty());
  EXPECT_THAT(carried.notes, Contains(NoteHas("data.a100: sharing.timeSlicing.resources[0]")))
      << "without a position: flags were written into the text";
}

TEST(CarryTest, TheOnlyConfigurationIsThatOfAllNodes) {
  EXPECT_EQ(Carry(WithMap({{"a100", kSliced}})).config.pools.at(0).share.replicas, 4U);
  const Carried two = Carry(WithMap({{"a100", kSliced}, {"b", "version: v1\n"}}));
  EXPECT_EQ(two.config.pools.at(0).share.replicas, 1U) << "without a default, none";
}

TEST(CarryTest, ThePolicyNamesTheDefault) {
  Foreign foreign = WithMap({{"a100", kSliced}, {"b", "version: v1\n"}});
  foreign.policy =
      PolicySettings{.mig_strategy = "mixed", .plugin_config = "configs", .default_config = "a100"};
  const Carried carried = Carry(foreign);
  EXPECT_EQ(carried.config.pools.back().share.replicas, 4U);
  EXPECT_EQ(carried.config.mig, config::MigStrategy::kMixed);
}

TEST(CarryTest, WhatCannotBeExpressedIsRefusedByName) {
  const Carried carried =
      Carry(WithMap({{"any", "version: v1\n"}, {"tegra", kTegraConfig}}, "any"));
  EXPECT_THAT(carried.named, ElementsAre(Key("any")));
  ASSERT_THAT(carried.refused, ElementsAre(Key("tegra")));
  EXPECT_THAT(carried.refused.at("tegra"), HasSubstr("tegra"));
  EXPECT_THAT(Carry(WithMap({{"tegra", kTegraConfig}})).refused, Contains(Key("")));
}

TEST(CarryTest, BrokenTextsAreRefused) {
  EXPECT_THAT(Carry(WithMap({{"a", "x: ["}})).refused, Contains(Key("a")));
  EXPECT_THAT(Carry(WithMap({{"a", "- 1"}})).refused.at("a"),
              HasSubstr("must be a configuration of NVIDIA's device plugin"));
}

TEST(CarryTest, AMapThatCannotBeReadIsRefused) {
  Foreign foreign = WithMap({});
  foreign.maps.clear();
  EXPECT_THAT(Carry(foreign).refused.at(""), HasSubstr("gpu-operator/configs cannot be read"));
}

TEST(CarryTest, TwoPluginsMustAgree) {
  Foreign foreign;
  foreign.plugins = {Plugin({{"migStrategy", "single"}}), Plugin()};
  foreign.plugins[1].where = "other/plugin";
  EXPECT_THAT(Carry(foreign).refused.at(""),
              HasSubstr("kube-system/plugin and other/plugin have different settings"));
  foreign.plugins[1].flags = foreign.plugins[0].flags;
  EXPECT_THAT(Carry(foreign).refused, IsEmpty());
}

TEST(CarryTest, TheDriversRootIsKept) {
  Foreign foreign;
  foreign.plugins.push_back(Plugin({{"nvidiaDriverRoot", "/run/nvidia/driver"}}));
  const Carried carried = Carry(foreign);
  EXPECT_EQ(carried.driver_root, "/run/nvidia/driver");
  EXPECT_THAT(carried.notes, Not(Contains(NoteHas("not converted"))));
}

TEST(CarryTest, TheExportersPageIsKept) {
  Foreign foreign = WithMap({{"any", "version: v1\n"}}, "any");
  foreign.exporters.push_back({.where = "monitoring/dcgm-exporter",
                               .listen = ":9500",
                               .every = std::chrono::milliseconds(5'000),
                               .has_hostname = true,
                               .unsupported = {"labels of pods on series"}});
  const Carried carried = Carry(foreign);
  const config::MetricsConfig& metrics = carried.config.metrics;
  EXPECT_THAT(metrics.names, ElementsAre(config::NameSet::kKgpu, config::NameSet::kDcgm));
  EXPECT_EQ(metrics.listen.dcgm, ":9500");
  EXPECT_EQ(metrics.every, std::chrono::milliseconds(5'000));
  EXPECT_THAT(metrics.dcgm_labels, ElementsAre(config::DcgmLabel::kHostname));
  EXPECT_EQ(carried.named.at("any").metrics, metrics);
  EXPECT_THAT(carried.notes, Contains(NoteHas("not kept: labels of pods on series")));
}

TEST(CarryTest, OnlyListedFieldsStay) {
  Foreign foreign;
  const MapKey fields{.space = "monitoring", .name = "fields"};
  foreign.exporters.push_back({.where = "monitoring/dcgm-exporter"});
  foreign.exporters[0].fields = MapKey{.space = "monitoring", .name = "fields", .key = "metrics"};
  foreign.maps[fields] = {{"metrics",
                           "DCGM_FI_DEV_GPU_TEMP, gauge, x\nDCGM_FI_DEV_FAN_SPEED, gauge, x\n"
                           "DCGM_FI_DRIVER_VERSION, label, x\n"}};
  const Carried carried = Carry(foreign);
  EXPECT_THAT(carried.config.metrics.exclude, Contains("DCGM_FI_DEV_SM_CLOCK"));
  EXPECT_THAT(carried.config.metrics.exclude, Not(Contains("DCGM_FI_DEV_GPU_TEMP")));
  EXPECT_THAT(carried.notes, Contains(NoteHas("kept: 1 fields")));
  EXPECT_THAT(carried.notes,
              Contains(NoteHas("fields that kgpu does not have: DCGM_FI_DEV_FAN_SPEED")));
}

TEST(CarryTest, AnAddressThatIsNoneIsNotKept) {
  Foreign foreign;
  foreign.exporters.push_back({.where = "m/e", .listen = "what a port"});
  const Carried carried = Carry(foreign);
  EXPECT_EQ(carried.config.metrics.listen.dcgm, std::nullopt);
  EXPECT_THAT(carried.notes, Contains(NoteHas("not kept")));
}

TEST(CarryTest, NamesTheMapsToRead) {
  Foreign foreign = WithMap({});
  foreign.exporters.push_back({});
  foreign.exporters[0].fields = MapKey{.space = "m", .name = "f", .key = "metrics"};
  EXPECT_THAT(MapsOf(foreign), ElementsAre(MapKey{.space = "gpu-operator", .name = "configs"},
                                           MapKey{.space = "m", .name = "f"}));
}

}  // namespace
}  // namespace kgpu::adopt
