#include "testing/driver/mig.h"

#include <gmock/gmock.h>

#include <string>

#include "src/gpu/nvml/abi.h"
#include "src/platform/base/status_macros.h"
#include "testing/driver/faults.h"
#include "testing/driver/sample_state.h"
#include "testing/status_matchers.h"

namespace kgpu::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MigTest : public ::testing::Test {
 protected:
  MigTest() : state_(SampleState(2)) {
    (void)SetMigMode(*state_, 0, true);
    (void)Heal(*state_, 0);
  }
  SimMig& mig() { return state_->gpus[0].mig; }
  StatusOr<uint32_t> Create(std::string_view profile,
                            std::optional<uint32_t> start = std::nullopt) {
    return MigCreate(*state_, 0, profile, start);
  }
  std::string UuidOf(uint32_t gi) { return mig().instances[gi].compute_instances[0].uuid; }

  std::unique_ptr<SimState> state_;
};

TEST_F(MigTest, ModeOfAmpereWaitsForAReset) {
  ASSERT_OK(SetMigMode(*state_, 1, true));
  EXPECT_EQ(state_->gpus[1].mig.mode, 0U);
  EXPECT_THAT(MigCreate(*state_, 1, "1g.10gb"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("reset")));
  ASSERT_OK(Heal(*state_, 1));
  EXPECT_EQ(state_->gpus[1].mig.mode, 1U);
}

TEST_F(MigTest, TheDriverTriesTheReset) {
  ASSERT_OK(SetMigMode(*state_, 1, true));
  ASSERT_OK(ActivateMigMode(*state_, 1));
  EXPECT_EQ(state_->gpus[1].mig.mode, 1U);
}

TEST_F(MigTest, ModeOfHopperTakesEffectAtOnce) {
  state_->gpus[1].mig.needs_reset = 0;
  ASSERT_OK(SetMigMode(*state_, 1, true));
  EXPECT_EQ(state_->gpus[1].mig.mode, 1U);
}

TEST_F(MigTest, ModeNeedsAnIdleGpuThatHasMig) {
  SimProcess process = {};
  process.pid = 9;
  process.gpu_instance = process.compute_instance = kUnsupported;
  ASSERT_OK(AddProcess(*state_, 1, process));
  ASSERT_OK(SetMigMode(*state_, 1, true));
  EXPECT_THAT(ActivateMigMode(*state_, 1), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_EQ(state_->gpus[1].mig.mode, 0U);
  EXPECT_EQ(state_->gpus[1].mig.pending_mode, 1U);
  state_->gpus[1].mig.needs_reset = 0;
  EXPECT_THAT(SetMigMode(*state_, 1, true), StatusIs(StatusCode::kFailedPrecondition));
  state_->gpus[1].mig.is_capable = 0;
  EXPECT_THAT(SetMigMode(*state_, 1, true), StatusIs(StatusCode::kUnimplemented));
}

TEST_F(MigTest, IdsAreNodesOfTheSliceTree) {
  EXPECT_THAT(Create("3g.40gb"), IsOkAndHolds(2U));
  EXPECT_THAT(Create("2g.20gb"), IsOkAndHolds(4U));
  EXPECT_THAT(Create("1g.10gb"), IsOkAndHolds(8U));
  EXPECT_THAT(Create("1g.10gb"), IsOkAndHolds(7U));
  EXPECT_THAT(Create("1g.10gb"), StatusIs(StatusCode::kResourceExhausted));
  EXPECT_EQ(mig().instances[2].cap_minor, GpuInstanceCapMinor(0, 2));
  EXPECT_EQ(mig().instances[2].compute_instances[0].cap_minor, 3U + 2 * 9 + 1);
}

TEST_F(MigTest, WholeGpuIsInstanceZero) {
  EXPECT_THAT(Create("7g.80gb"), IsOkAndHolds(0U));
  EXPECT_THAT(Create("1g.10gb"), StatusIs(StatusCode::kResourceExhausted));
}

TEST_F(MigTest, SevenSmallInstancesFit) {
  for (int i = 0; i < 7; ++i) {
    ASSERT_OK(Create("1g.10gb"));
  }
  EXPECT_THAT(Create("1g.10gb"), StatusIs(StatusCode::kResourceExhausted));
}

TEST_F(MigTest, InstancesDoNotOverlapInMemorySlices) {
  ASSERT_OK(Create("1g.20gb", 6));
  EXPECT_THAT(Create("3g.40gb", 4),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("memory slice 4")));
  EXPECT_THAT(Create("3g.40gb", 0), IsOkAndHolds(1U));
  EXPECT_THAT(Create("3g.40gb", 2), StatusIs(StatusCode::kInvalidArgument, HasSubstr("start: 2")));
}

TEST_F(MigTest, MediaExtensionsGoToOneInstance) {
  ASSERT_OK(Create("1g.10gb+me"));
  EXPECT_THAT(Create("1g.10gb+me"), StatusIs(StatusCode::kResourceExhausted));
  EXPECT_OK(Create("1g.10gb"));
}

TEST_F(MigTest, IdsComeBackAndUuidsDoNot) {
  ASSERT_THAT(Create("3g.40gb", 0), IsOkAndHolds(1U));
  const std::string first = UuidOf(1);
  EXPECT_THAT(first, ::testing::StartsWith("MIG-"));
  EXPECT_EQ(first.size(), 40U);
  ASSERT_OK(MigDestroy(*state_, 0, 1));
  ASSERT_THAT(Create("3g.40gb", 0), IsOkAndHolds(1U));
  EXPECT_NE(UuidOf(1), first);
}

TEST_F(MigTest, ComputeInstancesShareTheSlicesOfTheirGpuInstance) {
  ASSERT_THAT(CreateGpuInstance(*state_, 0, 9, 0), IsOkAndHolds(1U));
  EXPECT_THAT(CreateComputeInstance(*state_, 0, 1, 1), IsOkAndHolds(0U));  // 2c.3g
  EXPECT_THAT(CreateComputeInstance(*state_, 0, 1, 0), IsOkAndHolds(1U));  // 1c.3g
  EXPECT_THAT(CreateComputeInstance(*state_, 0, 1, 0), StatusIs(StatusCode::kResourceExhausted));
  EXPECT_THAT(CreateComputeInstance(*state_, 0, 1, 3), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(DestroyGpuInstance(*state_, 0, 1), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_OK(DestroyComputeInstance(*state_, 0, 1, 0));
  EXPECT_OK(DestroyComputeInstance(*state_, 0, 1, 1));
  EXPECT_OK(DestroyGpuInstance(*state_, 0, 1));
  EXPECT_THAT(DestroyGpuInstance(*state_, 0, 1), StatusIs(StatusCode::kNotFound));
}

TEST_F(MigTest, BusyInstanceStays) {
  ASSERT_THAT(Create("3g.40gb", 0), IsOkAndHolds(1U));
  SimProcess process = {};
  process.pid = 9;
  process.gpu_instance = 1;
  ASSERT_OK(AddProcess(*state_, 0, process));
  EXPECT_THAT(MigDestroy(*state_, 0, 1), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(DestroyComputeInstance(*state_, 0, 1, 0), StatusIs(StatusCode::kFailedPrecondition));
}

TEST_F(MigTest, ChangesAreReported) {
  const uint64_t before = state_->event_count;
  ASSERT_OK(Create("1g.10gb"));
  EXPECT_GT(state_->event_count, before);
  EXPECT_EQ(state_->events[before % kMaxEvents].type, nvml::kEventMigConfig);
}

TEST_F(MigTest, DisablingDestroysAndUnloadingToo) {
  ASSERT_OK(Create("1g.10gb", 0));
  ASSERT_OK(Unload(*state_));
  EXPECT_EQ(mig().instances[7].exists, 0U);
  EXPECT_EQ(mig().mode, 1U) << "Ampere keeps the mode";
  ASSERT_OK(Load(*state_, "", 0));
  ASSERT_OK(Create("1g.10gb", 0));
  ASSERT_OK(SetMigMode(*state_, 0, false));
  ASSERT_OK(Heal(*state_, 0));
  EXPECT_EQ(mig().mode, 0U);
  EXPECT_EQ(mig().instances[7].exists, 0U);
}

TEST_F(MigTest, UnknownProfileOffersTheNearest) {
  EXPECT_THAT(Create("3g.40g"),
              StatusIs(StatusCode::kNotFound, HasSubstr("did you mean 3g.40gb?")));
}

TEST_F(MigTest, FreePlacementsFollowTheInstances) {
  const SimMigProfile* two = FindMigProfileByName(mig(), "MIG 2g.20gb");
  ASSERT_NE(two, nullptr);
  EXPECT_THAT(FreePlacements(mig(), *two), ElementsAre(0, 2, 4));
  ASSERT_OK(Create("1g.10gb", 3));
  EXPECT_THAT(FreePlacements(mig(), *two), ElementsAre(0, 4));
  ASSERT_OK(Create("3g.40gb", 4));
  EXPECT_THAT(FreePlacements(mig(), *FindMigProfileByIndex(mig(), 4)), IsEmpty());
  EXPECT_EQ(FindMigProfileById(mig(), 99), nullptr);
}

}  // namespace
}  // namespace kgpu::sim
