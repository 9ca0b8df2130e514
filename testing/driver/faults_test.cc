#include "testing/driver/faults.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "src/gpu/nvml/abi.h"
#include "testing/driver/sample_state.h"
#include "testing/driver/state_file.h"
#include "testing/status_matchers.h"

namespace kgpu::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StrEq;

const SimEvent& Newest(const SimState& state) {
  return state.events[(state.event_count - 1) % kMaxEvents];
}

TEST(FindGpuTest, TakesIndexUuidAndPciAddress) {
  const auto state = SampleState(3);
  EXPECT_THAT(FindGpu(*state, "2"), IsOkAndHolds(2U));
  EXPECT_THAT(FindGpu(*state, "GPU-00000000-0000-0000-0000-000000000001"), IsOkAndHolds(1U));
  EXPECT_THAT(FindGpu(*state, "0000:03:00.0"), IsOkAndHolds(2U));
}

TEST(FindGpuTest, CountsInPciOrder) {
  const auto state = SampleState(3);
  state->gpus[2].pci.bus = 0;
  EXPECT_THAT(PresentGpus(*state), ElementsAre(2, 0, 1));
  EXPECT_THAT(FindGpu(*state, "0"), IsOkAndHolds(2U));
}

TEST(FindGpuTest, SaysWhatIsWrong) {
  const auto state = SampleState(2);
  EXPECT_THAT(FindGpu(*state, "2"), StatusIs(StatusCode::kNotFound, HasSubstr("2 GPUs")));
  EXPECT_THAT(FindGpu(*state, "GPU-x"), StatusIs(StatusCode::kNotFound, HasSubstr("GPU-x")));
  EXPECT_THAT(FindGpu(*state, "first"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"first\"")));
}

TEST(XidTest, BecomesAnEvent) {
  const auto state = SampleState(2);
  ASSERT_OK(InjectXid(*state, 1, 48, {.gpu_instance = 7, .compute_instance = 0}));
  EXPECT_EQ(state->event_count, 1U);
  const SimEvent& event = Newest(*state);
  EXPECT_EQ(event.sequence, 1U);
  EXPECT_EQ(event.type, nvml::kEventXidCritical);
  EXPECT_EQ(event.data, 48U);
  EXPECT_EQ(event.gpu, 1U);
  EXPECT_EQ(event.gpu_instance, 7U);
  EXPECT_EQ(state->gpus[1].last_xid, 48U);
  EXPECT_EQ(state->gpus[1].is_lost, 0U);
}

TEST(XidTest, RefusesNumbersThatAreNone) {
  const auto state = SampleState(1);
  EXPECT_THAT(InjectXid(*state, 0, 0), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(InjectXid(*state, 0, 1000), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(InjectXid(*state, 1, 79), StatusIs(StatusCode::kNotFound));
  EXPECT_EQ(state->event_count, 0U);
}

TEST(XidTest, RingKeepsTheNewest) {
  const auto state = SampleState(1);
  for (uint32_t i = 0; i < kMaxEvents + 5; ++i) {
    ASSERT_OK(InjectXid(*state, 0, 31));
  }
  EXPECT_EQ(state->event_count, kMaxEvents + 5);
  EXPECT_EQ(state->events[0].sequence, kMaxEvents + 1);
  EXPECT_EQ(state->events[5].sequence, 6U);
}

TEST(EccTest, CountsAndLeavesARemapPending) {
  const auto state = SampleState(1);
  ASSERT_OK(SetEcc(*state, 0, EccKind::kUncorrected, 2, 3));
  const SimGpu& gpu = state->gpus[0];
  EXPECT_EQ(gpu.ecc.volatile_uncorrected[2], 3U);
  EXPECT_EQ(gpu.ecc.aggregate_uncorrected[2], 3U);
  EXPECT_EQ(gpu.remap.is_pending, 1U);
  EXPECT_EQ(Newest(*state).type, nvml::kEventDoubleBitEcc);
  ASSERT_OK(SetEcc(*state, 0, EccKind::kCorrected, 7, 1));
  EXPECT_EQ(Newest(*state).type, nvml::kEventSingleBitEcc);
}

TEST(EccTest, CountsNothingWhileOff) {
  const auto state = SampleState(1);
  state->gpus[0].ecc.mode = 0;
  EXPECT_THAT(SetEcc(*state, 0, EccKind::kCorrected, 2, 1),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ECC")));
  EXPECT_THAT(SetEcc(*state, 0, EccKind::kCorrected, 8, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("location")));
}

TEST(LoseTest, StaysLostUntilHealed) {
  const auto state = SampleState(2);
  ASSERT_OK(Lose(*state, 0));
  EXPECT_EQ(state->gpus[0].is_lost, 1U);
  EXPECT_EQ(Newest(*state).data, 79U);
  EXPECT_EQ(state->gpus[1].is_lost, 0U);
  ASSERT_OK(Heal(*state, 0));
  EXPECT_EQ(state->gpus[0].is_lost, 0U);
  EXPECT_EQ(state->gpus[0].last_xid, 0U);
}

TEST(KnobTest, OneForEachFunctionAndForAll) {
  const auto state = SampleState(1);
  ASSERT_OK(Hang(*state, 0, "nvmlDeviceGetTemperature"));
  ASSERT_OK(Slow(*state, 0, 5'000'000, "nvmlDeviceGetTemperature"));
  EXPECT_EQ(state->gpus[0].knobs[0].hang, 0U);
  EXPECT_EQ(state->gpus[0].knobs[0].slow_ns, 5'000'000U);
  EXPECT_EQ(state->gpus[0].knobs[1].is_set, 0U);
  ASSERT_OK(Hang(*state, std::nullopt, ""));
  EXPECT_EQ(state->knobs[0].hang, 1U);
  ASSERT_OK(Heal(*state, std::nullopt));
  EXPECT_EQ(state->knobs[0].is_set, 0U);
  EXPECT_EQ(state->gpus[0].knobs[0].is_set, 0U);
}

TEST(KnobTest, IsBounded) {
  const auto state = SampleState(1);
  for (const char* function : {"nvmlA", "nvmlB", "nvmlC", "nvmlD"}) {
    ASSERT_OK(Hang(*state, 0, function));
  }
  EXPECT_THAT(Hang(*state, 0, "nvmlE"), StatusIs(StatusCode::kResourceExhausted));
  EXPECT_THAT(Hang(*state, 0, "open"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"open\"")));
  EXPECT_THAT(Slow(*state, 0, ~uint64_t{0}, ""), StatusIs(StatusCode::kInvalidArgument));
}

TEST(DriverTest, UnloadForgetsAndLoadBringsAnotherVersion) {
  const auto state = SampleState(1);
  ASSERT_OK(InjectXid(*state, 0, 31));
  ASSERT_OK(Unload(*state));
  EXPECT_EQ(state->driver.is_loaded, 0U);
  EXPECT_EQ(state->gpus[0].last_xid, 0U);
  EXPECT_THAT(Unload(*state), StatusIs(StatusCode::kFailedPrecondition));
  ASSERT_OK(Load(*state, "550.54.15", 12040));
  EXPECT_THAT(state->driver.version, StrEq("550.54.15"));
  EXPECT_THAT(state->driver.library_version, StrEq("535.261.03"));
  EXPECT_EQ(state->driver.cuda_version, 12040U);
  EXPECT_THAT(Load(*state, "", 0), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("550")));
}

TEST(HotPlugTest, RemovedGpuComesBackAsANewIncarnation) {
  const auto state = SampleState(2);
  const SimGpu gpu = state->gpus[0];
  ASSERT_OK(RemoveGpu(*state, 0));
  EXPECT_THAT(PresentGpus(*state), ElementsAre(1));
  EXPECT_THAT(RemoveGpu(*state, 0), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(AddGpu(*state, gpu), IsOkAndHolds(0U));
  EXPECT_EQ(state->gpus[0].incarnation, gpu.incarnation + 1);
  EXPECT_THAT(AddGpu(*state, gpu), StatusIs(StatusCode::kAlreadyExists, HasSubstr(gpu.uuid)));
}

TEST(HotPlugTest, CloneDiffersWhereItMust) {
  const auto state = SampleState(2);
  ASSERT_THAT(CloneGpu(*state, 0), IsOkAndHolds(2U));
  const SimGpu& gpu = state->gpus[2];
  EXPECT_EQ(gpu.minor, 2U);
  EXPECT_EQ(gpu.pci.bus, 3U);
  EXPECT_STRNE(gpu.uuid, state->gpus[0].uuid);
  EXPECT_STREQ(gpu.name, state->gpus[0].name);
  EXPECT_EQ(gpu.topology[2], nvml::kTopologyInternal);
  EXPECT_OK(ValidateState(*state));
}

// NVSwitches of a DGX, say.
TEST(HotPlugTest, CloneLeavesTheBusesOfOtherDevices) {
  const auto state = SampleState(2);
  state->driver.highest_bus = 9;
  ASSERT_THAT(CloneGpu(*state, 0), IsOkAndHolds(2U));
  EXPECT_EQ(state->gpus[2].pci.bus, 10U);
}

TEST(KnobTest, RefusesWithACodeOfNvml) {
  const auto state = SampleState(1);
  ASSERT_OK(Refuse(*state, 0, 3, "nvmlDeviceGetMemoryInfo"));
  EXPECT_EQ(state->gpus[0].knobs[0].refusal, 3U);
  ASSERT_OK(Slow(*state, 0, 5, "nvmlDeviceGetMemoryInfo"));
  EXPECT_EQ(state->gpus[0].knobs[0].refusal, 0U) << "the newest fault of a function counts";
  EXPECT_THAT(Refuse(*state, 0, 0, ""), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(Refuse(*state, 0, 3, "memory"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(HotPlugTest, EndsAtTheLimit) {
  const auto state = SampleState(kMaxGpus);
  EXPECT_THAT(CloneGpu(*state, 0), StatusIs(StatusCode::kResourceExhausted, HasSubstr("64")));
}

TEST(ProcessTest, HoldsMemoryThatIsThere) {
  const auto state = SampleState(1);
  SimProcess process = {};
  process.pid = 42;
  process.used_bytes = uint64_t{70} << 30;
  process.gpu_instance = process.compute_instance = kUnsupported;
  ASSERT_OK(AddProcess(*state, 0, process));
  ASSERT_OK(AddProcess(*state, 0, process)) << "the same process again replaces itself";
  process.pid = 43;
  EXPECT_THAT(AddProcess(*state, 0, process),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("71680 MiB")));
  process.gpu_instance = 7;
  process.compute_instance = 0;
  EXPECT_THAT(AddProcess(*state, 0, process), StatusIs(StatusCode::kNotFound));
  ASSERT_OK(RemoveProcess(*state, 0, 42));
  EXPECT_THAT(RemoveProcess(*state, 0, 42), StatusIs(StatusCode::kNotFound));
}

TEST(TemperatureTest, ThrottlesThenShutsDown) {
  const auto state = SampleState(1);
  ASSERT_OK(SetTemp(*state, 0, 90));
  EXPECT_EQ(state->gpus[0].throttle_reasons, 0x40U);
  EXPECT_EQ(Newest(*state).type, nvml::kEventClock);
  ASSERT_OK(SetTemp(*state, 0, 50));
  EXPECT_EQ(state->gpus[0].throttle_reasons, 0U);
  ASSERT_OK(SetTemp(*state, 0, 92));
  EXPECT_EQ(state->gpus[0].is_lost, 1U);
  EXPECT_THAT(SetTemp(*state, 0, 151), StatusIs(StatusCode::kInvalidArgument, HasSubstr("151")));
}

TEST(NvLinkTest, GoesDownAtBothEnds) {
  const auto state = SampleState(2);
  ASSERT_OK(NvLinkDown(*state, 0, 3));
  EXPECT_EQ(state->gpus[0].nvlinks[3].is_active, 0U);
  EXPECT_EQ(state->gpus[1].nvlinks[3].is_active, 0U);
  EXPECT_EQ(state->gpus[1].nvlinks[4].is_active, 1U);
  EXPECT_THAT(NvLinkDown(*state, 0, 12), StatusIs(StatusCode::kNotFound, HasSubstr("12 links")));
  ASSERT_OK(Heal(*state, std::nullopt));
  EXPECT_EQ(state->gpus[1].nvlinks[3].is_active, 1U);
}

TEST(FieldTest, SetsByNameWithinBounds) {
  const auto state = SampleState(1);
  ASSERT_OK(SetField(*state, 0, "power-usage", 123456));
  EXPECT_EQ(state->gpus[0].power.usage, 123456U);
  EXPECT_THAT(SetField(*state, 0, "fan", 101),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be at most 100")));
  EXPECT_THAT(SetField(*state, 0, "power-usge", 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("did you mean power-usage")));
}

}  // namespace
}  // namespace kgpu::sim
