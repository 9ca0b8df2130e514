#include "src/cli/gpu/health_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "src/gpu/health/test_health_event.h"

namespace kgpu::cli {
namespace {

using health::TestGpu;
using ::testing::SizeIs;

class HealthLookTest : public ::testing::Test {
 protected:
  HealthLookTest() {
    snapshot_.version = 1;
    snapshot_.driver.state = device::DriverState::kReady;
    device::Gpu& gpu = snapshot_.gpus.emplace_back();
    gpu.uuid = TestGpu(0);
    samples_.gpus.emplace_back().uuid = TestGpu(0);
  }
  report::HealthReport Look() const {
    return ReportOf({.snapshot = std::make_shared<const device::Snapshot>(snapshot_),
                     .samples = std::make_shared<const device::SampleSet>(samples_)});
  }

  void FailToRemap() {
    device::RowRemaps remaps;
    remaps.has_failed = true;
    samples_.gpus[0].remaps = remaps;
  }

  device::Snapshot snapshot_;
  device::SampleSet samples_;
};

TEST_F(HealthLookTest, WhatIsHealthyIsReportedSo) {
  EXPECT_TRUE(report::IsHealthy(Look()));
  EXPECT_TRUE(Look().overview.open.empty());
}

TEST_F(HealthLookTest, WhatIsMeasuredIsJudged) {
  FailToRemap();
  const report::HealthReport report = Look();
  ASSERT_THAT(report.overview.open, SizeIs(1));
  EXPECT_EQ(report.overview.open[0].rule, "RowRemapFailed");
  EXPECT_FALSE(report::IsHealthy(report));
}

TEST_F(HealthLookTest, WhatTheReadFoundIsTheCause) {
  FailToRemap();
  snapshot_.gpus[0].health = {false, "GpuLost", "."};
  EXPECT_EQ(Look().snapshot->gpus[0].health.reason, "GpuLost");
}

TEST_F(HealthLookTest, ADriverThatIsSilentMeasuresNothing) {
  snapshot_.driver.state = device::DriverState::kUnresponsive;
  const report::HealthReport report =
      ReportOf({.snapshot = std::make_shared<const device::Snapshot>(snapshot_), .samples = {}});
  EXPECT_FALSE(report::IsHealthy(report));
}

}  // namespace
}  // namespace kgpu::cli
