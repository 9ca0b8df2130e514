#include "src/cluster/fleet/upgrade.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "src/cluster/fleet/test_nodes.h"
#include "src/platform/base/random.h"

namespace kgpu::fleet {
namespace {

using policy::Amount;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime kStart{seconds(1'800'000'000)};

class StepTest : public ::testing::Test {
 protected:
  StepTest() {
    node_.is_unschedulable = true;
    record_ = FirstRecord(HealthyNode("n1"), *goal_, "p", "g", kStart);
  }
  Step Next(seconds later = seconds(10)) {
    return NextUpgradeStep({.node = node_,
                            .record = record_,
                            .goal = goal_,
                            .settings = settings_,
                            .pods = pods_,
                            .validates = validates_,
                            .pod_problem = problem_,
                            .now = kStart + later});
  }
  // Carries out a write.
  void Go(UpgradeState state, seconds later = seconds(10)) {
    const Step step = Next(later);
    ASSERT_EQ(step.kind, StepKind::kWrite) << step.message;
    record_ = step.record;
    ASSERT_EQ(NameOf(record_.state), NameOf(state)) << record_.message;
  }
  void BeNew() { node_.driver = "550.54.15"; }
  std::string Name(std::string_view role) {
    return PodName(role, node_.uid, record_.since, record_.attempt);
  }

  NodeFacts node_ = HealthyNode("n1");
  std::optional<UpgradeGoal> goal_ = UpgradeGoal{.driver = "550"};
  UpgradeRecord record_;
  policy::Upgrade settings_;
  std::vector<PodFacts> pods_;
  bool validates_ = true;
  std::string problem_;
};

TEST_F(StepTest, AnEmptyNodeGoesThroughAllStates) {
  EXPECT_TRUE(record_.is_cordoned);
  Go(UpgradeState::kEvict);
  Go(UpgradeState::kInstall);
  Step step = Next();
  EXPECT_EQ(step.kind, StepKind::kRunPod);
  EXPECT_EQ(step.pod, Name(kInstallRole));
  pods_ = {OwnPod(step.pod, kInstallRole, "Running")};
  EXPECT_EQ(Next().kind, StepKind::kWait);
  pods_[0].phase = "Succeeded";
  Go(UpgradeState::kValidate);
  EXPECT_EQ(Next().kind, StepKind::kWait);  // the agent has not seen the new driver
  BeNew();
  step = Next();
  EXPECT_EQ(step.kind, StepKind::kRunPod);
  EXPECT_EQ(step.role, kValidateRole);
  pods_ = {OwnPod(step.pod, kValidateRole, "Succeeded")};
  step = Next();
  EXPECT_EQ(step.kind, StepKind::kFinish);
  EXPECT_EQ(step.reason, "Upgraded");
  EXPECT_EQ(step.message, "driver 550.54.15 replaced 535.104.05");
}

TEST_F(StepTest, JobsMayEndFirst) {
  pods_ = {GpuPod("train", PodOwner::kJob), GpuPod("serve")};
  EXPECT_THAT(Next().message, HasSubstr("waits for jobs to end: team/train"));
  Go(UpgradeState::kEvict, seconds(3'600));
}

TEST_F(StepTest, OnlyUsersOfGpusAreEvicted) {
  record_.state = UpgradeState::kEvict;
  PodFacts mirror = GpuPod("static");
  mirror.is_mirror = true;
  PodFacts ended = GpuPod("ended");
  ended.phase = "Succeeded";
  PodFacts plain = GpuPod("plain");
  plain.gpus.clear();
  pods_ = {GpuPod("serve"), GpuPod("exporter", PodOwner::kDaemonSet),           mirror, ended,
           plain,           OwnPod("kgpu-validate-1", kValidateRole, "Running")};
  const Step step = Next();
  EXPECT_EQ(step.kind, StepKind::kEvict);
  ASSERT_EQ(step.pods.size(), 1U);
  EXPECT_EQ(step.pods[0].name, "serve");
  pods_[0].is_terminating = true;
  EXPECT_EQ(Next().message, "waits for pods to end: team/serve");
  pods_.erase(pods_.begin());
  Go(UpgradeState::kInstall);
}

TEST_F(StepTest, PodsThatNobodyCreatesAgainAreLeftUnlessToldSo) {
  record_.state = UpgradeState::kEvict;
  pods_ = {GpuPod("notebook", PodOwner::kNobody)};
  EXPECT_EQ(Next().kind, StepKind::kWait);
  settings_.evicts_unmanaged = true;
  EXPECT_EQ(Next().kind, StepKind::kEvict);
  settings_.evicts_unmanaged = false;
  Go(UpgradeState::kFailed, seconds(1'900));
  EXPECT_EQ(record_.reason, "EvictionTimedOut");
  EXPECT_THAT(record_.message, HasSubstr("team/notebook"));
}

TEST_F(StepTest, AbortReturnsNodesWhoseDriverIsUntouched) {
  settings_.is_aborted = true;
  for (const UpgradeState state : {UpgradeState::kWait, UpgradeState::kEvict}) {
    record_.state = state;
    EXPECT_EQ(Next().kind, StepKind::kFinish);
    EXPECT_EQ(Next().reason, "UpgradeAborted");
  }
  record_.state = UpgradeState::kInstall;
  EXPECT_EQ(Next().kind, StepKind::kRunPod);
}

TEST_F(StepTest, APolicyThatIsGoneOrAsksForAnotherDriverReturnsThemToo) {
  goal_->driver = "560";
  EXPECT_EQ(Next().kind, StepKind::kFinish);
  goal_.reset();
  EXPECT_EQ(Next().kind, StepKind::kFinish);
  record_.state = UpgradeState::kInstall;  // goes on to the end
  EXPECT_EQ(Next().kind, StepKind::kRunPod);
}

TEST_F(StepTest, AnInstallationIsTriedAgainAndThenFails) {
  record_.state = UpgradeState::kInstall;
  pods_ = {OwnPod(Name(kInstallRole), kInstallRole, "Failed", 1)};
  Go(UpgradeState::kInstall);
  EXPECT_EQ(record_.attempt, 2U);
  EXPECT_EQ(Next().kind, StepKind::kRunPod);
  pods_ = {OwnPod(Name(kInstallRole), kInstallRole, "Failed", 1)};
  const std::string name = pods_[0].name;
  Go(UpgradeState::kFailed, seconds(20));
  EXPECT_EQ(record_.reason, "InstallFailed");
  EXPECT_EQ(record_.pod, name);
  EXPECT_EQ(Next(seconds(900'000)).kind, StepKind::kWait);
}

TEST_F(StepTest, AnInstallationThatHangsTimesOut) {
  record_.state = UpgradeState::kInstall;
  settings_.attempts = 1;
  Go(UpgradeState::kFailed, seconds(3'600));
  EXPECT_EQ(record_.reason, "InstallTimedOut");
}

TEST_F(StepTest, APodThatTheServerRefusesIsNotSaidToHang) {
  record_.state = UpgradeState::kInstall;
  settings_.attempts = 1;
  problem_ = "exceeded quota";
  const std::string name = Next().pod;
  Go(UpgradeState::kFailed, seconds(3'600));
  EXPECT_EQ(record_.message, fmt::format("pod {} could not be created: exceeded quota", name));
  record_.state = UpgradeState::kValidate;
  BeNew();
  Go(UpgradeState::kFailed, settings_.validation_limit + seconds(3'600));
  EXPECT_THAT(record_.message, HasSubstr("could not be created: exceeded quota"));
}

TEST_F(StepTest, ARebootEndsAFailure) {
  record_.state = UpgradeState::kInstall;
  pods_ = {OwnPod(Name(kInstallRole), kInstallRole, "Failed", 8)};
  Go(UpgradeState::kFailed);
  EXPECT_EQ(record_.reason, "RebootNeeded");
  BeNew();
  Go(UpgradeState::kValidate, seconds(7'200));
}

TEST_F(StepTest, AFailedValidationStaysUntilSomebodyAsks) {
  record_.state = UpgradeState::kValidate;
  BeNew();
  pods_ = {OwnPod(Name(kValidateRole), kValidateRole, "Failed", 7)};
  Go(UpgradeState::kFailed);
  EXPECT_EQ(record_.reason, "ValidationFailed");
  EXPECT_EQ(Next().kind, StepKind::kWait);
  node_.is_retry_asked = true;
  Go(UpgradeState::kInstall);
}

TEST_F(StepTest, OnlyFreeGpusAreValidated) {
  record_.state = UpgradeState::kValidate;
  BeNew();
  EXPECT_EQ(Next().gpus, 8U);
  pods_ = {GpuPod("exporter", PodOwner::kDaemonSet), GpuPod("static")};
  pods_[1].is_mirror = true;
  EXPECT_EQ(Next().kind, StepKind::kRunPod);
  EXPECT_EQ(Next().gpus, 6U);
  pods_.push_back(OwnPod(Next().pod, kValidateRole, "Running"));
  pods_[2].gpus["nvidia.com/gpu"] = 6;
  EXPECT_EQ(Next().kind, StepKind::kWait);
  pods_.pop_back();
  pods_[0].gpus["nvidia.com/gpu"] = 9;
  EXPECT_EQ(Next().kind, StepKind::kFinish);
  pods_.clear();
  node_.gpus = 0;
  EXPECT_EQ(Next().kind, StepKind::kFinish);
  node_.gpu_ready.status = "False";
  EXPECT_EQ(Next().kind, StepKind::kWait);
}

TEST_F(StepTest, PodsOfOtherResourcesLeaveTheGpusFree) {
  record_.state = UpgradeState::kValidate;
  BeNew();
  pods_ = {GpuPod("slice", PodOwner::kDaemonSet, 8, "nvidia.com/mig-1g.10gb"),
           GpuPod("claim", PodOwner::kDaemonSet, 0)};
  pods_[1].claims = 8;
  EXPECT_EQ(Next().kind, StepKind::kRunPod);
  EXPECT_EQ(Next().gpus, 8U);
}

// The agent's word is enough only where others hold the GPUs.
TEST_F(StepTest, AValidationThatHangsIsNoReasonToSkipTheNext) {
  record_.state = UpgradeState::kValidate;
  BeNew();
  PodFacts hung = OwnPod("kgpu-validate-before", kValidateRole, "Running");
  hung.gpus["nvidia.com/gpu"] = 8;
  hung.is_terminating = true;
  pods_ = {hung};
  EXPECT_EQ(Next().kind, StepKind::kWait);
  EXPECT_EQ(Next().message, "waits for pod kgpu-validate-before to end");
  pods_.clear();
  EXPECT_EQ(Next().kind, StepKind::kRunPod);
  EXPECT_EQ(Next().gpus, 8U);
  pods_ = {hung};
  Go(UpgradeState::kFailed, settings_.validation_limit);
  EXPECT_EQ(record_.reason, "ValidationTimedOut");
  EXPECT_THAT(record_.message, HasSubstr("pod kgpu-validate-before has not ended"));
}

TEST_F(StepTest, WhereAPodMayHaveOneGpuOnlyOneIsValidated) {
  record_.state = UpgradeState::kValidate;
  BeNew();
  const std::string first = Next().pod;
  pods_ = {RejectedPod(first, 8)};
  Go(UpgradeState::kValidate);
  EXPECT_NE(Next().pod, first);
  EXPECT_EQ(Next().kind, StepKind::kRunPod);
  EXPECT_EQ(Next().gpus, 1U);
  pods_.push_back(OwnPod(Next().pod, kValidateRole, "Succeeded"));
  EXPECT_EQ(Next().kind, StepKind::kFinish);
  pods_ = {RejectedPod(pods_[1].name, 1)};
  Go(UpgradeState::kFailed, seconds(20));
  EXPECT_EQ(record_.reason, "ValidationFailed");
  EXPECT_EQ(record_.message, "the kubelet rejected pod " + pods_[0].name +
                                 ": UnexpectedAdmissionError: Allocate failed");
  // The next driver's validation begins with all of them again.
  node_.is_retry_asked = true;
  Go(UpgradeState::kInstall);
  EXPECT_FALSE(record_.is_single);
}

TEST_F(StepTest, APodThatWasRejectedForAnotherReasonFails) {
  record_.state = UpgradeState::kValidate;
  BeNew();
  pods_ = {RejectedPod(Next().pod, 8)};
  pods_[0].rejection = "OutOfpods";
  Go(UpgradeState::kFailed);
  EXPECT_THAT(record_.message, HasSubstr("OutOfpods"));
}

TEST_F(StepTest, AnotherDriverRestartsAFailedNode) {
  record_.state = UpgradeState::kFailed;
  record_.failed_in = UpgradeState::kInstall;
  goal_->driver = "560";
  settings_.is_paused = true;
  EXPECT_EQ(Next().kind, StepKind::kWait);
  settings_.is_paused = false;
  settings_.is_aborted = true;
  EXPECT_EQ(Next().kind, StepKind::kWait);
  settings_.is_aborted = false;
  Go(UpgradeState::kWait);
  EXPECT_EQ(record_.to, "560");
}

TEST_F(StepTest, APersonMayRetryAFailedNodeOfAPausedPolicy) {
  record_.state = UpgradeState::kFailed;
  record_.failed_in = UpgradeState::kInstall;
  goal_->driver = "560";
  settings_.is_paused = true;
  node_.is_retry_asked = true;
  Go(UpgradeState::kWait);
  EXPECT_EQ(record_.to, "560");
}

TEST_F(StepTest, ANodeThatSomebodyUncordonsIsCordonedAgain) {
  node_.is_unschedulable = false;
  record_.is_cordoned = false;
  const Step step = Next();
  EXPECT_EQ(step.kind, StepKind::kWrite);
  EXPECT_TRUE(step.record.is_cordoned);
  EXPECT_EQ(step.record.since, record_.since);
}

TEST_F(StepTest, ARetryAfterSomebodyUncordonedReturnsTheNodeAtTheEnd) {
  record_.state = UpgradeState::kFailed;
  record_.failed_in = UpgradeState::kInstall;
  record_.is_cordoned = false;  // somebody else had, and then has not
  node_.is_unschedulable = false;
  node_.is_retry_asked = true;
  Go(UpgradeState::kInstall);
  EXPECT_TRUE(record_.is_cordoned);
}

TEST_F(StepTest, NothingIsInstalledUnderPodsThatHoldGpus) {
  record_.state = UpgradeState::kInstall;
  for (const auto from : {policy::DriverSource::kPackage, policy::DriverSource::kContainer}) {
    goal_->from = from;
    record_.source = from;
    pods_ = {GpuPod("late"), OwnPod("kgpu-driver-a", "driver", "Running")};
    EXPECT_EQ(Next().kind, StepKind::kEvict);
    pods_.erase(pods_.begin());
    EXPECT_NE(Next().kind, StepKind::kEvict);
  }
  // What has begun goes on.
  record_.source = policy::DriverSource::kPackage;
  pods_ = {GpuPod("late"), OwnPod(Name(kInstallRole), kInstallRole, "Running")};
  EXPECT_EQ(Next().kind, StepKind::kWait);
}

TEST_F(StepTest, AContainersDriverIsReplacedByItsDaemonSet) {
  goal_->from = policy::DriverSource::kContainer;
  record_.source = goal_->from;
  record_.state = UpgradeState::kInstall;
  pods_ = {OwnPod("kgpu-driver-a", "driver", "Running")};
  pods_[0].is_ready = true;
  Go(UpgradeState::kInstall);
  EXPECT_EQ(record_.pod, "uid-kgpu-driver-a");
  EXPECT_EQ(Next().kind, StepKind::kDeletePod);
  pods_[0].is_terminating = true;
  EXPECT_EQ(Next().kind, StepKind::kWait);
  pods_ = {OwnPod("kgpu-driver-b", "driver", "Running")};
  EXPECT_EQ(Next().kind, StepKind::kWait);
  pods_[0].is_ready = true;
  Go(UpgradeState::kValidate);
}

class StartTest : public ::testing::Test {
 protected:
  StartTest() {
    for (int i = 0; i < 6; ++i) {
      facts_.push_back(HealthyNode(fmt::format("n{}", i)));
    }
  }
  StartPlan Plan() {
    std::vector<GroupNode> nodes;
    for (const NodeFacts& node : facts_) {
      const auto record = ParseUpgradeRecord(node.upgrade);
      nodes.push_back({&node, record.ok() ? std::optional(*record) : std::nullopt});
    }
    return PlanStarts(
        {.nodes = nodes, .starting = starting_, .goal = {.driver = "550"}, .settings = settings_});
  }
  void Begin(NodeFacts& node) {
    node.upgrade = PrintRecord(FirstRecord(node, {.driver = "550"}, "p", "g", kStart));
    node.is_unschedulable = true;
  }
  void Fail(NodeFacts& node) {
    UpgradeRecord record = FirstRecord(node, {.driver = "550"}, "p", "g", kStart);
    record.state = UpgradeState::kFailed;
    node.upgrade = PrintRecord(record);
    node.is_unschedulable = true;
  }

  std::vector<NodeFacts> facts_;
  std::set<std::string> starting_;
  policy::Upgrade settings_;
};

TEST_F(StartTest, OneNodeAtATimeByDefault) {
  EXPECT_THAT(Plan().starts, ElementsAre("n0"));
  EXPECT_EQ(Plan().hold, "UpgradeBudget");
  Begin(facts_[0]);
  EXPECT_THAT(Plan().starts, IsEmpty());
  facts_[0] = HealthyNode("n0", "550.54.15");
  EXPECT_THAT(Plan().starts, ElementsAre("n1"));
  EXPECT_EQ(Plan().outdated, 5U);
}

TEST_F(StartTest, NodesThatOthersTookCountToo) {
  settings_.max_unavailable = Amount{.number = 50, .is_percent = true};
  EXPECT_THAT(Plan().starts, ElementsAre("n0", "n1", "n2"));
  facts_[5].is_ready = false;
  facts_[4].gpu_ready.status = "False";
  starting_ = {"n3"};
  // n4 makes no difference; no healthy node may be taken.
  EXPECT_EQ(Plan().unavailable, 3U);
  EXPECT_THAT(Plan().starts, ElementsAre("n4"));
}

TEST_F(StartTest, PauseAbortAndFailuresHoldBack) {
  settings_.is_paused = true;
  EXPECT_THAT(Plan().starts, IsEmpty());
  EXPECT_EQ(Plan().hold, "UpgradePaused");
  settings_ = {.max_unavailable = {.number = 3}};
  Fail(facts_[0]);
  EXPECT_EQ(Plan().hold, "UpgradeStopped");
  settings_.failure_budget = {.number = 1};
  EXPECT_THAT(Plan().starts, ElementsAre("n1", "n2"));
  facts_[1].upgrade = "of a newer version";
  EXPECT_EQ(Plan().failed, 2U);
  EXPECT_EQ(Plan().hold, "UpgradeStopped");
}

TEST_F(StartTest, ANodeWithoutADriverStartsOnlyWithPackages) {
  const NodeFacts node = HealthyNode("n", "");
  EXPECT_TRUE(IsOutdated(node, {.from = policy::DriverSource::kPackage, .driver = "550"}));
  EXPECT_FALSE(IsOutdated(node, {.from = policy::DriverSource::kContainer, .driver = "550"}));
}

// Whatever happens to nodes, a start never takes a healthy node over the limit.
TEST_F(StartTest, TheBudgetHoldsForAnyState) {
  Random random(7);
  for (int round = 0; round < 3'000; ++round) {
    facts_.clear();
    starting_.clear();
    for (int i = 0; i < 12; ++i) {
      NodeFacts node =
          HealthyNode(fmt::format("n{}", i), random.Next() % 4 == 0 ? "550.1" : "535.1");
      node.is_ready = random.Next() % 6 != 0;
      node.is_unschedulable = random.Next() % 6 == 0;
      node.is_tainted = random.Next() % 9 == 0;
      node.gpu_ready.status = random.Next() % 6 == 0 ? "False" : "True";
      if (random.Next() % 5 == 0) {
        random.Next() % 4 == 0 ? Fail(node) : Begin(node);
      } else if (random.Next() % 8 == 0) {
        starting_.insert(node.name);
      }
      facts_.push_back(node);
    }
    const uint32_t most = 1 + static_cast<uint32_t>(random.Next() % 6);
    settings_.max_unavailable.number = most;
    settings_.failure_budget.number = static_cast<uint32_t>(random.Next() % 4);
    const StartPlan plan = Plan();
    size_t before = 0;
    size_t healthy_starts = 0;
    for (const NodeFacts& node : facts_) {
      const bool starts = std::ranges::count(plan.starts, node.name) > 0;
      const bool is_out = IsUnavailable(node) || starting_.contains(node.name);
      before += is_out ? 1 : 0;
      healthy_starts += starts && !is_out ? 1 : 0;
      EXPECT_FALSE(starts && (!node.is_ready || starting_.contains(node.name)));
    }
    ASSERT_TRUE(healthy_starts == 0 || before + healthy_starts <= most) << round;
    ASSERT_LE(plan.starts.size(), most);
  }
}

}  // namespace
}  // namespace kgpu::fleet
