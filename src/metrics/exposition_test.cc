#include "src/metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace kgpu::metrics {
namespace {

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

}  // namespace
}  // namespace kgpu::metrics
