// promtool's word on what we serve and ship.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/node/telemetry/page_cache.h"
#include "src/node/telemetry/test_node.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/monitoring/prometheus_programs.h"

namespace kgpu::monitoring {
namespace {

using telemetry::NameSet;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr const char* kFolder = KGPU_SOURCE_DIR "/deploy/monitoring";

class PromtoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (promtool_.empty()) {
      GTEST_SKIP() << kNoPrometheus;
    }
  }
  // In the folder of what is shipped.
  e2e::Result Promtool(const std::string& arguments) const {
    return e2e::RunProgram(
        {"/bin/sh", "-c", fmt::format("cd {} && {} {}", kFolder, promtool_, arguments)});
  }
  static std::string PageOf(NameSet set) {
    const FakeClock clock;
    telemetry::PageCache cache(clock, {.stale = std::chrono::hours(24 * 365 * 50)});
    cache.Set(telemetry::TestNode(8, 20));
    const http::Response page = cache.Answer({.target = "/metrics"}, {set});
    EXPECT_EQ(page.code, 200);
    return (page.shared_front ? *page.shared_front : "") + page.body;
  }

  const std::string promtool_ = PrometheusProgram("promtool");
  TempDir dir_;
};

TEST_F(PromtoolTest, FindsNothingWrongWithTheRules) {
  const e2e::Result result = Promtool("check rules rules.yaml");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(PromtoolTest, SeesEveryAlertFireAndStayQuiet) {
  const e2e::Result result = Promtool("test rules rules_test.yaml");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

// Debian's Prometheus is built without the discovery of Kubernetes: the rest is checked.
TEST_F(PromtoolTest, FindsNothingWrongWithTheScrape) {
  const auto root = sys::Root::Open(kFolder);
  ASSERT_OK(root.status());
  auto config = doc::Parse(root->ReadFile("prometheus.yaml").value_or(""), doc::Format::kYaml, "c");
  ASSERT_OK(config.status());
  boost::json::object& job = config->at("scrape_configs").at(0).as_object();
  EXPECT_EQ(job.erase("kubernetes_sd_configs"), 1U);
  job["static_configs"] = {{{"targets", {"127.0.0.1:9401"}}}};
  dir_.WriteFile("prometheus.yaml", doc::Print(*config, doc::Format::kYaml));
  dir_.WriteFile("rules.yaml", root->ReadFile("rules.yaml").value_or(""));
  const e2e::Result result = Promtool(fmt::format("check config {}", dir_.At("prometheus.yaml")));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(PromtoolTest, FindsNothingWrongWithOurNames) {
  dir_.WriteFile("page", PageOf(NameSet::kKgpu));
  const e2e::Result result = Promtool(fmt::format("check metrics < {}", dir_.At("page")));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
}

// Others have given these names: promtool may dislike them, but nothing else.
TEST_F(PromtoolTest, DislikesOnlyTheNamesOfOthers) {
  for (const NameSet set : {NameSet::kDcgm, NameSet::kGke}) {
    dir_.WriteFile("page", PageOf(set));
    const e2e::Result result = Promtool(fmt::format("check metrics < {}", dir_.At("page")));
    EXPECT_THAT(result.code, AnyOf(0, 3)) << result.err;
    for (const std::string_view line : Split(Trim(result.err), '\n')) {
      if (!line.empty()) {
        EXPECT_THAT(line, AnyOf(HasSubstr("\"_total\" suffix"), HasSubstr("camelCase"),
                                HasSubstr("abbreviated"), HasSubstr("should not include"),
                                HasSubstr("base unit")));
      }
    }
  }
}

}  // namespace
}  // namespace kgpu::monitoring
