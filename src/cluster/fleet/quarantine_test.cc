#include "src/cluster/fleet/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "src/cluster/fleet/test_nodes.h"
#include "src/cluster/fleet/upgrade.h"
#include "testing/status_matchers.h"

namespace kgpu::fleet {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class QuarantineTest : public ::testing::Test {
 protected:
  FenceStep Next() {
    return NextFenceStep({.node = node_,
                          .settings = &settings_,
                          .policy = "p",
                          .group = "g",
                          .pods = pods_,
                          .has_room = has_room_,
                          .pod_problem = problem_,
                          .now = now_});
  }
  void Break() {
    node_.gpu_healthy = {.status = "False", .reason = "RowRemapFailure", .message = "GPU 3"};
  }
  void Heal() { node_.gpu_healthy = {.status = "True"}; }
  // Carries out a step that writes.
  void Do(const FenceStep& step) {
    ASSERT_TRUE(step.kind == FenceStepKind::kFence || step.kind == FenceStepKind::kWrite);
    node_.quarantine = PrintRecord(step.record);
    node_.is_tainted = true;
  }
  FenceRecord Record() { return *ParseFenceRecord(node_.quarantine); }

  NodeFacts node_ = HealthyNode("n1");
  policy::Quarantine settings_{.is_enabled = true};
  std::vector<PodFacts> pods_;
  bool has_room_ = true;
  std::string problem_;
  WallTime now_{seconds(1'800'000'000)};
};

TEST_F(QuarantineTest, AHealthyNodeIsLeftAlone) {
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
  node_.gpu_healthy.status = "Unknown";
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
}

TEST_F(QuarantineTest, FencesForTheReasonsOfThePolicy) {
  Break();
  settings_.reasons = {"GpuLost"};
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
  settings_.reasons.emplace_back("RowRemapFailure");
  const FenceStep step = Next();
  EXPECT_EQ(step.kind, FenceStepKind::kFence);
  EXPECT_EQ(step.reason, "Quarantined");
  EXPECT_EQ(step.record.reason, "RowRemapFailure");
  has_room_ = false;
  EXPECT_THAT(Next().message, HasSubstr("maxNodes"));
  has_room_ = true;
  node_.upgrade = "{}";
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
}

// Which GPUs the pods hold nobody knows: the broken one may be among them.
TEST_F(QuarantineTest, ReturnsOnlyAfterTheValidationOfAllGpusThatUsersCanGet) {
  Break();
  Do(Next());
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
  Heal();
  pods_ = {GpuPod("serve"), GpuPod("exporter", PodOwner::kDaemonSet)};
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
  EXPECT_THAT(Next().message, HasSubstr("waits for pod team/serve to end"));
  pods_[0].phase = "Succeeded";
  Do(Next());
  EXPECT_TRUE(Record().is_validating);
  FenceStep step = Next();
  EXPECT_EQ(step.kind, FenceStepKind::kRunPod);
  EXPECT_EQ(step.gpus, 7U);
  pods_.push_back(OwnPod(step.pod, kValidateRole, "Succeeded"));
  step = Next();
  EXPECT_EQ(step.kind, FenceStepKind::kRelease);
  EXPECT_EQ(step.reason, "QuarantineEnded");
}

TEST_F(QuarantineTest, AFailedValidationWaitsLongerEachTime) {
  Break();
  Do(Next());
  Heal();
  Do(Next());
  pods_ = {OwnPod(Next().pod, kValidateRole, "Failed", 7)};
  Do(Next());
  EXPECT_FALSE(Record().is_validating);
  EXPECT_EQ(Record().attempt, 1U);
  now_ += minutes(9);
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
  now_ += minutes(1);
  Do(Next());
  EXPECT_TRUE(Record().is_validating);
  Break();
  Do(Next());
  EXPECT_FALSE(Record().is_validating);
  EXPECT_EQ(Record().attempt, 2U);
  Heal();
  now_ += minutes(19);
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
}

TEST_F(QuarantineTest, WaitingForAFreeGpuIsNoFailure) {
  Break();
  Do(Next());
  Heal();
  pods_ = {GpuPod("exporter", PodOwner::kDaemonSet, 8)};
  EXPECT_THAT(Next().message, HasSubstr("free GPU"));
  pods_.clear();
  Do(Next());
  EXPECT_TRUE(Record().is_validating);
  // Somebody was faster.
  pods_ = {GpuPod("serve", PodOwner::kOther, 8)};
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
  now_ += minutes(15);
  Do(Next());
  EXPECT_FALSE(Record().is_validating);
  EXPECT_EQ(Record().attempt, 0U);
  pods_.clear();
  Do(Next());
  EXPECT_TRUE(Record().is_validating);
}

TEST_F(QuarantineTest, SaysThatTheServerRefusesItsPod) {
  Break();
  Do(Next());
  Heal();
  Do(Next());
  problem_ = "exceeded quota";
  now_ += minutes(15);
  EXPECT_EQ(Next().reason, "QuarantineStays");
  Do(Next());
  EXPECT_EQ(Record().attempt, 0U);
  EXPECT_THAT(Record().message, HasSubstr("could not be created: exceeded quota"));
}

TEST_F(QuarantineTest, SlicesInUseAreWaitedForAndThoseOfDaemonSetsLeaveGpusFree) {
  Break();
  Do(Next());
  Heal();
  pods_ = {GpuPod("slice", PodOwner::kOther, 8, "nvidia.com/mig-1g.10gb")};
  EXPECT_THAT(Next().message, HasSubstr("team/slice"));
  pods_[0].owner = PodOwner::kDaemonSet;
  Do(Next());
  EXPECT_EQ(Next().gpus, 8U);
}

TEST_F(QuarantineTest, AValidationThatHangsIsWaitedFor) {
  Break();
  Do(Next());
  Heal();
  pods_ = {OwnPod("kgpu-validate-before", kValidateRole, "Running")};
  pods_[0].gpus["nvidia.com/gpu"] = 8;
  EXPECT_EQ(Next().message, "waits for pod kgpu-validate-before to end");
}

TEST_F(QuarantineTest, WhereAPodMayHaveOneGpuOnlyOneIsValidated) {
  Break();
  Do(Next());
  Heal();
  Do(Next());
  const std::string first = Next().pod;
  pods_ = {RejectedPod(first, 8)};
  Do(Next());  // within the same second
  EXPECT_TRUE(Record().is_validating);
  EXPECT_EQ(Record().attempt, 0U);
  EXPECT_EQ(Next().kind, FenceStepKind::kRunPod);
  EXPECT_EQ(Next().gpus, 1U);
  EXPECT_NE(Next().pod, first);
  pods_ = {RejectedPod(Next().pod, 1)};
  Do(Next());
  EXPECT_EQ(Record().attempt, 1U);
  EXPECT_FALSE(Record().is_single);
  EXPECT_THAT(Record().message, HasSubstr("the kubelet rejected pod"));
}

TEST_F(QuarantineTest, EndsWithItsPolicy) {
  Break();
  Do(Next());
  settings_.is_enabled = false;
  EXPECT_EQ(Next().kind, FenceStepKind::kRelease);
  EXPECT_EQ(NextFenceStep({.node = node_, .pods = {}}).kind, FenceStepKind::kRelease);
}

TEST_F(QuarantineTest, RenewsWhatSomebodyRemovedOrBroke) {
  Break();
  Do(Next());
  node_.is_tainted = false;
  EXPECT_EQ(Next().kind, FenceStepKind::kFence);
  node_.is_tainted = true;
  node_.quarantine = "broken";
  EXPECT_EQ(Next().kind, FenceStepKind::kFence);
}

}  // namespace
}  // namespace kgpu::fleet
