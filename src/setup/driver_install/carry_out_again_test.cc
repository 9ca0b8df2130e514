// A driver that kgpu installed gives way to another by kgpu: what tells of the first is kept below,
// and each way back ends where it is to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/test_plans.h"
#include "src/setup/driver_install/test_run.h"
#include "src/setup/driver_install/test_world.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Tree = std::map<std::string, std::string>;

constexpr int kMostActions = 800;
constexpr const char* kFile = "/etc/modprobe.d/old.conf";

driver::Plan WithFile(driver::Plan plan, const std::string& text) {
  plan.steps.insert(plan.steps.begin(), StepOf("file", driver::WriteFile{kFile, text, 0644}));
  return plan;
}

// 535 in the place of an admin's own 470.
driver::Plan FirstPlan() {
  return WithFile(UpgradePlan(), "535\n");
}

// 580 in the place of that.
driver::Plan SecondPlan() {
  driver::Plan plan = UpgradePlan();
  plan.version = "580";
  for (driver::Step& step : plan.steps) {
    if (step.id == "other-version") {
      step.action = driver::RemovePackages{.names = {"nvidia-driver"}};
    } else if (step.id == "packages") {
      step.action = driver::InstallPackages{{"nvidia-driver=580"}};
    }
  }
  return WithFile(std::move(plan), "580\n");
}

class AgainTest : public ::testing::Test {
 protected:
  AgainTest() : before_(Beginning(world_)), first_(First(world_)) {}

  static Tree Beginning(const World& world) {
    world.RunOldDriver();
    return world.Tree();
  }
  static Tree First(const World& world) {
    OneRun run(world);
    EXPECT_OK(run.Begin(FirstPlan()));
    EXPECT_EQ(world.LoadedVersion(), "535");
    return world.Tree();
  }
  static StatusOr<Outcome> BeginSecond(OneRun& run) {
    run.options().replaces = true;
    return run.Begin(SecondPlan());
  }
  // The second, in a world of its own that has the first, ended at its action `lives`. True: it
  // was.
  static bool IsKilled(const World& world, int lives) {
    Beginning(world);
    First(world);
    OneRun run(world, change::Fate(change::Fate::End::kDead, lives));
    const auto outcome = BeginSecond(run);
    EXPECT_TRUE(run.fate().is_dead() || outcome.ok()) << outcome.status();
    return run.fate().is_dead();
  }
  static void ExpectRuns(const World& world, const Tree& tree, const std::string& version) {
    ASSERT_EQ(world.Tree(), tree);
    ASSERT_EQ(world.LoadedVersion(), version);
  }

  World world_;
  Tree before_;
  Tree first_;
};

TEST_F(AgainTest, TheNewDriverKeepsWhatTellsOfTheOneBefore) {
  OneRun run(world_);

  const auto outcome = BeginSecond(run);

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone);
  EXPECT_EQ(world_.LoadedVersion(), "580");
  const Journal journal = WholeJournal(world_);
  EXPECT_EQ(journal.plan.version, "580");
  ASSERT_THAT(journal.below, SizeIs(1));
  EXPECT_EQ(journal.below[0].plan, FirstPlan());
  EXPECT_EQ(journal.below[0].phase, Phase::kInstalled);
}

TEST_F(AgainTest, WithoutBeingAskedToTheFirstIsNotReplaced) {
  OneRun run(world_);

  EXPECT_THAT(run.Begin(SecondPlan()),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("driver 535 is installed")));

  ExpectRuns(world_, first_, "535");
}

TEST_F(AgainTest, OneThatIsNotFinishedIsNotReplaced) {
  OneRun back(world_);
  back.packages().FailPutBack(FailedPrecondition("a file is damaged"));
  back.packages().FailInstall(FailedPrecondition("no such version"));
  ASSERT_THAT(back.Undo(), StatusIs(StatusCode::kFailedPrecondition));
  OneRun run(world_);

  EXPECT_THAT(BeginSecond(run),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("driver 535 is going-back")));
}

TEST_F(AgainTest, AFailureLeavesTheFirstAsItWas) {
  OneRun run(world_);
  run.runner().RefuseModule("580");

  EXPECT_THAT(BeginSecond(run),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("all steps were undone")));

  ExpectRuns(world_, first_, "535");
}

TEST_F(AgainTest, RollbackEndsAtTheFirst) {
  OneRun run(world_);
  ASSERT_OK(BeginSecond(run));
  OneRun back(world_);

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->back_to, "535");
  EXPECT_THAT(outcome->notes, IsEmpty());
  ExpectRuns(world_, first_, "535");
}

TEST_F(AgainTest, AFirstThatDoesNotComeBackIsNotReportedToBeHere) {
  OneRun run(world_);
  ASSERT_OK(BeginSecond(run));
  OneRun back(world_);
  back.packages().FailPutBack(FailedPrecondition("a file is damaged"));
  back.packages().FailInstall(FailedPrecondition("no such version"));
  back.options().forces = true;

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_TRUE(outcome->lacks);
  EXPECT_EQ(outcome->back_to, "");
  EXPECT_THAT(WholeJournal(world_).failure, HasSubstr("not everything could be restored"));
}

TEST_F(AgainTest, RemoveEndsAtTheHostThatWasHereBeforeKgpu) {
  OneRun run(world_);
  ASSERT_OK(BeginSecond(run));
  OneRun back(world_);
  back.options().takes_all = true;

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->back_to, "");
  EXPECT_THAT(outcome->notes, IsEmpty());
  ExpectRuns(world_, before_, "470");
}

TEST_F(AgainTest, TooManyAreRefusedBeforeAnythingIsTouched) {
  Journal journal = WholeJournal(world_);
  journal.below.resize(kMostBelow, journal);
  OneRun run(world_);
  ASSERT_OK(WriteJournal(journal, run.deps().disk));
  const Tree tree = world_.Tree();

  EXPECT_THAT(BeginSecond(run), StatusIs(StatusCode::kOutOfRange, HasSubstr("kgpu driver remove")));

  EXPECT_EQ(world_.Tree(), tree);
}

TEST_F(AgainTest, GoesOnAfterAKillAtEachAction) {
  OneRun whole(world_);
  ASSERT_OK(BeginSecond(whole));
  const Tree wanted = world_.Tree();
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostActions; lives += kMomentStep) {
    const World world;
    is_killed = IsKilled(world, lives);
    OneRun again(world);
    const bool has_begun = !WholeJournal(world).below.empty();
    ASSERT_OK(has_begun ? again.GoOn() : BeginSecond(again)) << lives;
    ASSERT_NO_FATAL_FAILURE(ExpectRuns(world, wanted, "580")) << lives;
  }
  EXPECT_FALSE(is_killed);
}

TEST_F(AgainTest, IsTakenBackToTheFirstAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostActions; lives += kMomentStep) {
    const World world;
    is_killed = IsKilled(world, lives);
    if (!WholeJournal(world).below.empty()) {
      OneRun back(world);
      ASSERT_OK(back.Undo()) << lives;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRuns(world, first_, "535")) << lives;
  }
  EXPECT_FALSE(is_killed);
}

// The journal remembers that all is to go: the second call does not say so.
TEST_F(AgainTest, RemoveGoesOnAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostActions; lives += kMomentStep) {
    const World world;
    Beginning(world);
    First(world);
    OneRun run(world);
    ASSERT_OK(BeginSecond(run));
    OneRun back(world, change::Fate(change::Fate::End::kDead, lives));
    back.options().takes_all = true;
    const auto outcome = back.Undo();
    is_killed = back.fate().is_dead();
    ASSERT_TRUE(is_killed || outcome.ok()) << outcome.status();
    const auto left = ReadJournal(world.host());
    ASSERT_OK(left);
    if (const std::optional<Journal>& there = *left; there) {
      OneRun again(world);
      again.options().takes_all = there->phase == Phase::kInstalled;
      ASSERT_OK(again.Undo()) << lives;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRuns(world, before_, "470")) << lives;
  }
  EXPECT_FALSE(is_killed);
}

}  // namespace
}  // namespace kgpu::driver_install
