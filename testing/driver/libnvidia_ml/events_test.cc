// Waiting for events.
#include <gmock/gmock.h>

#include <thread>

#include "testing/driver/faults.h"
#include "testing/driver/libnvidia_ml/simulated_library.h"
#include "testing/status_matchers.h"

namespace kgpu::sim {
namespace {

using nvml::EventData;
using nvml::EventSet;

class SimulatedEventsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!library_.has_nodes()) {
      GTEST_SKIP() << "this machine does not let us make device nodes";
    }
    ASSERT_EQ(library_.Init(), nvml::kSuccess);
    ASSERT_EQ(library_.Call<nvml::EventSetCreateFn>("nvmlEventSetCreate", &set_), nvml::kSuccess);
  }
  void TearDown() override {
    if (set_ != nullptr) {
      EXPECT_EQ(library_.Call<nvml::EventSetFreeFn>("nvmlEventSetFree", set_), nvml::kSuccess);
    }
  }

  nvml::Return Register(uint32_t index, uint64_t types) {
    return library_.Call<nvml::DeviceRegisterEventsFn>("nvmlDeviceRegisterEvents",
                                                       library_.Gpu(index), types, set_);
  }
  nvml::Return Wait(EventData& data, uint32_t timeout_ms) {
    return library_.Call<nvml::EventSetWaitFn>("nvmlEventSetWait_v2", set_, &data, timeout_ms);
  }
  void Xid(uint32_t slot, uint32_t number) {
    server_.Change([=](SimState& state) { EXPECT_OK(InjectXid(state, slot, number)); });
  }

  SimulatedLibrary library_{2};
  RunningServer server_{library_.root().path(), *SampleState(2)};
  EventSet set_ = nullptr;
};

TEST_F(SimulatedEventsTest, TimesOutWhenNothingHappens) {
  EventData data{};
  ASSERT_EQ(Register(0, nvml::kEventXidCritical), nvml::kSuccess);
  EXPECT_EQ(Wait(data, 0), nvml::kErrorTimeout);
  EXPECT_EQ(Wait(data, 5), nvml::kErrorTimeout);
}

TEST_F(SimulatedEventsTest, RefusesTypesThatTheGpuLacks) {
  EXPECT_EQ(Register(0, nvml::kEventFatalPoison), nvml::kErrorNotSupported);
}

TEST_F(SimulatedEventsTest, DeliversEventsSinceRegistrationInOrder) {
  EventData data{};
  Xid(0, 13);
  ASSERT_EQ(Register(0, nvml::kEventXidCritical), nvml::kSuccess);
  Xid(0, 31);
  Xid(1, 62);  // not registered
  Xid(0, 79);
  ASSERT_EQ(Wait(data, 1000), nvml::kSuccess);
  EXPECT_EQ(data.device, library_.Gpu(0));
  EXPECT_EQ(data.event_type, nvml::kEventXidCritical);
  EXPECT_EQ(data.event_data, 31U);
  EXPECT_EQ(data.gpu_instance_id, nvml::kNoInstance);
  ASSERT_EQ(Wait(data, 1000), nvml::kSuccess);
  EXPECT_EQ(data.event_data, 79U);
  EXPECT_EQ(Wait(data, 0), nvml::kErrorTimeout);
}

TEST_F(SimulatedEventsTest, WakesAWaiter) {
  ASSERT_EQ(Register(1, nvml::kEventXidCritical), nvml::kSuccess);
  EventData data{};
  std::jthread waiter([&] { EXPECT_EQ(Wait(data, 20'000), nvml::kSuccess); });
  Xid(1, 48);
  waiter.join();
  EXPECT_EQ(data.event_data, 48U);
}

TEST_F(SimulatedEventsTest, TellsALossOnceAfterTheEventsBeforeIt) {
  ASSERT_EQ(Register(0, nvml::kEventXidCritical), nvml::kSuccess);
  server_.Change([](SimState& state) {
    EXPECT_OK(InjectXid(state, 0, 79));
    state.gpus[0].is_lost = 1;
  });
  EventData data{};
  EXPECT_EQ(Wait(data, 1000), nvml::kSuccess);
  EXPECT_EQ(Wait(data, 1000), nvml::kErrorGpuIsLost);
  EXPECT_EQ(Wait(data, 0), nvml::kErrorTimeout);
}

TEST_F(SimulatedEventsTest, SkipsEventsThatFellOutOfTheRing) {
  ASSERT_EQ(Register(0, nvml::kEventXidCritical), nvml::kSuccess);
  server_.Change([](SimState& state) {
    for (uint32_t i = 1; i <= kMaxEvents + 10; ++i) {
      EXPECT_OK(InjectXid(state, 0, i));
    }
  });
  EventData data{};
  ASSERT_EQ(Wait(data, 1000), nvml::kSuccess);
  EXPECT_EQ(data.event_data, 11U);
}

TEST_F(SimulatedEventsTest, TheFirstVersionWritesNoInstances) {
  ASSERT_EQ(Register(0, nvml::kEventXidCritical), nvml::kSuccess);
  Xid(0, 31);
  EventData data{};
  data.gpu_instance_id = 77;
  EXPECT_EQ(library_.Call<nvml::EventSetWaitFn>("nvmlEventSetWait", set_, &data, 1000U),
            nvml::kSuccess);
  EXPECT_EQ(data.event_data, 31U);
  EXPECT_EQ(data.gpu_instance_id, 77U);
}

TEST_F(SimulatedEventsTest, RefusesNullAndForeignSets) {
  EventData data{};
  EXPECT_EQ(library_.Call<nvml::EventSetWaitFn>("nvmlEventSetWait_v2",
                                                static_cast<EventSet>(nullptr), &data, 0U),
            nvml::kErrorInvalidArgument);
}

}  // namespace
}  // namespace kgpu::sim
