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

TEST_F(QuarantineTest, ReturnsOnlyAfterTheValidationOfItsFreeGpus) {
  Break();
  Do(Next());
  EXPECT_EQ(Next().kind, FenceStepKind::kWait);
  Heal();
  Do(Next());
  EXPECT_TRUE(Record().is_validating);
  pods_ = {GpuPod("serve")};
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

TEST_F(QuarantineTest, WaitsForAFreeGpu) {
  Break();
  Do(Next());
  Heal();
  Do(Next());
  pods_ = {GpuPod("serve")};
  pods_[0].gpus = 8;
  EXPECT_THAT(Next().message, HasSubstr("free GPU"));
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
