#include "src/platform/metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace kgpu::metrics {
namespace {

using ::testing::HasSubstr;

TEST(ExpositionTest, WritesFamiliesWithTheirSamples) {
  Exposition page;
  page.Family("kgpu_ready", Type::kGauge, "Whether pods can get GPUs.");
  page.Sample(1);
  page.Family("kgpu_allocations_total", Type::kCounter, "Answers to Allocate.");
  page.Sample({{"resource", "nvidia.com/gpu"}, {"result", "ok"}}, 12);
  page.Sample({{"resource", "nvidia.com/gpu"}, {"result", "refused"}}, 0.5);
  EXPECT_EQ(page.text(),
            "# HELP kgpu_ready Whether pods can get GPUs.\n"
            "# TYPE kgpu_ready gauge\n"
            "kgpu_ready 1\n"
            "# HELP kgpu_allocations_total Answers to Allocate.\n"
            "# TYPE kgpu_allocations_total counter\n"
            "kgpu_allocations_total{resource=\"nvidia.com/gpu\",result=\"ok\"} 12\n"
            "kgpu_allocations_total{resource=\"nvidia.com/gpu\",result=\"refused\"} 0.5\n");
}

TEST(ExpositionTest, EscapesWhatOthersNamed) {
  Exposition page;
  page.Family("x", Type::kGauge, "a\\b\n\"c\"");
  page.Sample({{"l", "a\\b\n\"c\""}}, 1);
  EXPECT_EQ(page.text(),
            "# HELP x a\\\\b\\n\"c\"\n# TYPE x gauge\nx{l=\"a\\\\b\\n\\\"c\\\"\"} 1\n");
}

TEST(ExpositionTest, WritesNumbersThatAreNone) {
  Exposition page;
  page.Family("x", Type::kGauge, "h");
  page.Sample(std::numeric_limits<double>::quiet_NaN());
  page.Sample(std::numeric_limits<double>::infinity());
  page.Sample(-std::numeric_limits<double>::infinity());
  page.Sample(1e18);
  EXPECT_EQ(page.text(), "# HELP x h\n# TYPE x gauge\nx NaN\nx +Inf\nx -Inf\nx 1e+18\n");
}

TEST(ExpositionTest, AFamilyWithoutSamplesLeavesNoTrace) {
  Exposition page;
  page.Family("a", Type::kGauge, "h");
  page.Family("b", Type::kUnknown, "h");
  page.Sample(1);
  EXPECT_EQ(page.text(), "# HELP b h\n# TYPE b untyped\nb 1\n");
}

TEST(ExpositionTest, SharedLabelsStandBeforeOthers) {
  const std::string labels = LabelText({{"gpu", "0"}, {"pod", ""}, {"name", "a\"b"}});
  EXPECT_EQ(labels, R"(gpu="0",name="a\"b")");
  Exposition page;
  page.Family("x", Type::kGauge, "h");
  page.SampleOf(labels, 1);
  page.SampleOf(labels, {{"link", "3"}}, 2);
  page.SampleOf("", {{"link", "3"}}, 3);
  EXPECT_EQ(page.text(),
            "# HELP x h\n# TYPE x gauge\n"
            "x{gpu=\"0\",name=\"a\\\"b\"} 1\n"
            "x{gpu=\"0\",name=\"a\\\"b\",link=\"3\"} 2\n"
            "x{link=\"3\"} 3\n");
}

TEST(ExpositionTest, OpenMetricsNamesFamiliesWithoutTheEndingOfTheirType) {
  Exposition page(Format::kOpenMetrics);
  page.Family("x_joules_total", Type::kCounter, "say \"h\"", "joules");
  page.Sample(1);
  page.Family("x_info", Type::kInfo, "h");
  page.Sample({{"version", "1"}}, 1);
  page.Family("OTHERS_COUNTER", Type::kCounter, "h");
  page.Sample(2);
  page.Family("x_ratio", Type::kGauge, "h", "ratio");
  page.Sample(0.25);
  EXPECT_EQ(page.text(),
            "# HELP x_joules say \\\"h\\\"\n# TYPE x_joules counter\n# UNIT x_joules joules\n"
            "x_joules_total 1\n"
            "# HELP x h\n# TYPE x info\nx_info{version=\"1\"} 1\n"
            "# HELP OTHERS_COUNTER h\n# TYPE OTHERS_COUNTER unknown\nOTHERS_COUNTER 2\n"
            "# HELP x_ratio h\n# TYPE x_ratio gauge\n# UNIT x_ratio ratio\nx_ratio 0.25\n");
}

TEST(ExpositionTest, AHistogramAddsItsSamplesUp) {
  const std::array bounds = {0.001, 1.0};
  const std::array<uint64_t, 3> samples = {2, 0, 1};
  const Histogram histogram{.bounds = bounds, .samples = samples, .sum = 2.5};
  Exposition page;
  page.Family("kgpu_wait_seconds", Type::kHistogram, "Waits.", "seconds");
  page.Sample({{"resource", "a"}}, histogram);
  EXPECT_EQ(page.Take(),
            "# HELP kgpu_wait_seconds Waits.\n"
            "# TYPE kgpu_wait_seconds histogram\n"
            "kgpu_wait_seconds_bucket{resource=\"a\",le=\"0.001\"} 2\n"
            "kgpu_wait_seconds_bucket{resource=\"a\",le=\"1\"} 2\n"
            "kgpu_wait_seconds_bucket{resource=\"a\",le=\"+Inf\"} 3\n"
            "kgpu_wait_seconds_sum{resource=\"a\"} 2.5\n"
            "kgpu_wait_seconds_count{resource=\"a\"} 3\n");
  Exposition open(Format::kOpenMetrics);
  open.Family("kgpu_wait_seconds", Type::kHistogram, "Waits.", "seconds");
  open.Sample({}, histogram);
  EXPECT_THAT(open.Take(), HasSubstr("kgpu_wait_seconds_bucket{le=\"1.0\"} 2\n"));
}

}  // namespace
}  // namespace kgpu::metrics
