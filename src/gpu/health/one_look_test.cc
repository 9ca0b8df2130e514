#include "src/gpu/health/one_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "src/gpu/health/test_health_event.h"
#include "src/gpu/nvml/throttle.h"
#include "testing/fake_clock.h"

namespace kgpu::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OneLookTest : public ::testing::Test {
 protected:
  OneLookTest() {
    for (unsigned i = 0; i < gpus_.size(); ++i) {
      gpus_.at(i).uuid = TestGpu(i);
      gpus_.at(i).model = "A100-SXM4-80GB";
      device::GpuSample& sample = samples_.gpus.emplace_back();
      sample.uuid = TestGpu(i);
      sample.throttle_reasons = 0;
      sample.ecc.volatile_uncorrected = 0;
      sample.nvlinks.resize(2);
      for (unsigned link = 0; link < 2; ++link) {
        sample.nvlinks[link].link = link;
        sample.nvlinks[link].is_active = true;
      }
    }
  }
  std::vector<std::string> Rules() {
    std::vector<std::string> rules;
    for (const OpenFault& fault : JudgeOnce(samples_, clock_, gpus_)) {
      rules.push_back(fault.rule);
    }
    return rules;
  }

  FakeClock clock_;
  std::array<device::Gpu, 2> gpus_;
  device::SampleSet samples_;
};

TEST_F(OneLookTest, FindsNothingOnHealthyGpus) {
  EXPECT_THAT(Rules(), IsEmpty());
  EXPECT_TRUE(gpus_[0].health.is_healthy);
}

TEST_F(OneLookTest, HeatNeedsNotLast) {
  samples_.gpus[1].throttle_reasons = nvml::kThrottleHwThermal | nvml::kThrottleHwSlowdown;
  samples_.gpus[1].temperatures.gpu = 96;
  EXPECT_THAT(Rules(), ElementsAre("ThermalSlowdown"));
  EXPECT_EQ(JudgeOnce(samples_, clock_, gpus_)[0].detail, "96 degrees Celsius");
  EXPECT_TRUE(gpus_[1].health.is_healthy) << "a warning";
}

TEST_F(OneLookTest, ErrorsCountFromTheStartOfTheDriver) {
  samples_.gpus[0].ecc.volatile_uncorrected = 2;
  EXPECT_THAT(Rules(), ElementsAre("EccUncorrected"));
  EXPECT_EQ(gpus_[0].health.reason, "EccUncorrected");
}

TEST_F(OneLookTest, ALinkIsDownIfAnotherGpuHasIt) {
  samples_.gpus[0].nvlinks[1].is_active = false;
  EXPECT_THAT(Rules(), ElementsAre("NvLinkDown"));
}

}  // namespace
}  // namespace kgpu::health
