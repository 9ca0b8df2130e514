// A driver that kgpu installed gives way to another by kgpu: it is removed first, and installed
// again where the other one fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/platform/base/status_macros.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/test_plans.h"
#include "src/setup/driver_install/test_run.h"
#include "src/setup/driver_install/test_world.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Tree = std::map<std::string, std::string>;

constexpr int kMostActions = 1600;
constexpr const char* kFile = "/etc/modprobe.d/old.conf";

driver::Plan WithFile(driver::Plan plan, const std::string& text) {
  plan.steps.insert(plan.steps.begin(), StepOf("file", driver::WriteFile{kFile, text, 0644}));
  return plan;
}

// 535 in the place of an admin's own 470.
driver::Plan FirstPlan() {
  return WithFile(UpgradePlan(), "535\n");
}

// 580 in the place of the admin's.
driver::Plan SecondPlan() {
  driver::Plan plan = UpgradePlan();
  plan.version = "580";
  for (driver::Step& step : plan.steps) {
    if (step.id == "packages") {
      step.action = driver::InstallPackages{{"nvidia-driver=580"}};
    }
  }
  return WithFile(std::move(plan), "580\n");
}

class AgainTest : public ::testing::Test {
 protected:
  AgainTest() : before_(Beginning(world_)), first_(First(world_)) {}

  // The journal names the versions of packages once they are installed again.
  static Tree TreeOf(const World& world) {
    Tree tree = world.Tree();
    tree.erase("host/var/lib/kgpu/driver.json");
    tree.erase("host/var/lib/kgpu");
    return tree;
  }
  static Tree Beginning(const World& world) {
    world.RunOldDriver();
    return TreeOf(world);
  }
  static Tree First(const World& world) {
    OneRun run(world);
    EXPECT_OK(run.Begin(FirstPlan()));
    EXPECT_EQ(world.LoadedVersion(), "535");
    return TreeOf(world);
  }
  // As `kgpu driver install --branch 580` does, wherever an earlier one was ended.
  static StatusOr<Outcome> Replace(const World& world, OneRun& run) {
    const Journal journal = WholeJournal(world);
    if (journal.plan.version == "580") {
      return run.GoOn();
    }
    if (journal.phase == Phase::kInstalled) {
      RETURN_IF_ERROR(run.GiveWay().status());
    } else if (journal.phase == Phase::kGoingBack) {
      RETURN_IF_ERROR(run.GoOn().status());
    }
    return run.Begin(SecondPlan());
  }
  // The second, in a world of its own that has the first, ended at its action `lives`. True: it
  // was.
  static bool IsKilled(const World& world, int lives) {
    Beginning(world);
    First(world);
    OneRun run(world, change::Fate(change::Fate::End::kDead, lives));
    const auto outcome = Replace(world, run);
    EXPECT_TRUE(run.fate().is_dead() || outcome.ok()) << outcome.status();
    return run.fate().is_dead();
  }
  static void ExpectRuns(const World& world, const Tree& tree, const std::string& version) {
    ASSERT_EQ(TreeOf(world), tree);
    ASSERT_EQ(world.LoadedVersion(), version);
  }
  static bool HasFirst(const World& world) {
    const Journal journal = WholeJournal(world);
    return journal.plan.version == "535" && journal.phase == Phase::kInstalled;
  }

  World world_;
  Tree before_;
  Tree first_;
};

TEST_F(AgainTest, TheNewDriverHasThePlanOfTheOneBefore) {
  OneRun run(world_);

  const auto outcome = Replace(world_, run);

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone);
  EXPECT_EQ(world_.LoadedVersion(), "580");
  const Journal journal = WholeJournal(world_);
  EXPECT_EQ(journal.plan.version, "580");
  ASSERT_TRUE(journal.former);
  EXPECT_EQ(journal.former->plan.version, "535");
  EXPECT_EQ(world_.dir().ReadFile(std::string("host") + kFile), "580\n");
}

TEST_F(AgainTest, OneThatDoesNotGiveWayIsNotReplaced) {
  OneRun run(world_);

  EXPECT_THAT(run.Begin(SecondPlan()),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("driver 535 is installed")));

  ExpectRuns(world_, first_, "535");
}

TEST_F(AgainTest, OneThatIsNotFinishedDoesNotGiveWay) {
  OneRun back(world_);
  back.packages().FailRemove(FailedPrecondition("others need it"));
  ASSERT_THAT(back.Undo(), StatusIs(StatusCode::kFailedPrecondition));
  OneRun run(world_);

  EXPECT_THAT(run.GiveWay(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("driver 535 is going-back")));
}

TEST_F(AgainTest, AFailureInstallsTheFirstAgainInItsVersion) {
  OneRun run(world_);
  run.runner().RefuseModule("580");

  EXPECT_THAT(Replace(world_, run), StatusIs(StatusCode::kFailedPrecondition,
                                             AllOf(HasSubstr("all steps were undone"),
                                                   HasSubstr("driver 535 is installed again"))));

  ExpectRuns(world_, first_, "535");
  const Journal journal = WholeJournal(world_);
  EXPECT_EQ(journal.phase, Phase::kInstalled);
  EXPECT_FALSE(journal.former);
  EXPECT_THAT(std::get<driver::InstallPackages>(journal.plan.steps[2].action).names,
              Contains("nvidia-driver=535"));
}

TEST_F(AgainTest, AFirstThatIsNotInstalledAgainIsReported) {
  OneRun run(world_);
  run.runner().RefuseModule("580");
  run.See({.passed = {}, .failed = {"no library"}, .skipped = {}});

  EXPECT_THAT(Replace(world_, run),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("driver 535 could not be installed again: step 9 of 9"),
                             HasSubstr("no library"))));

  EXPECT_EQ(TreeOf(world_), before_);
}

TEST_F(AgainTest, RollbackInstallsTheFirstAgain) {
  OneRun run(world_);
  ASSERT_OK(Replace(world_, run));
  OneRun back(world_);

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kTakenBack);
  EXPECT_EQ(outcome->back_to, "535");
  EXPECT_THAT(outcome->notes, IsEmpty());
  ExpectRuns(world_, first_, "535");
}

TEST_F(AgainTest, RemoveEndsAtTheHostThatWasHereBeforeKgpu) {
  OneRun run(world_);
  ASSERT_OK(Replace(world_, run));
  OneRun back(world_);
  back.options().restores = false;

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->back_to, "");
  EXPECT_THAT(outcome->notes, IsEmpty());
  ExpectRuns(world_, before_, "470");
  EXPECT_FALSE(world_.host().Exists(kJournalFile));
}

TEST_F(AgainTest, OneThatGaveWayIsInstalledAgainOrForgotten) {
  for (const bool restores : {true, false}) {
    OneRun run(world_);
    ASSERT_OK(run.GiveWay());
    EXPECT_EQ(WholeJournal(world_).phase, Phase::kRemoved);
    ExpectRuns(world_, before_, "470");
    run.options().restores = restores;
    ASSERT_OK(run.Undo());
    ExpectRuns(world_, restores ? first_ : before_, restores ? "535" : "470");
  }
  EXPECT_FALSE(world_.host().Exists(kJournalFile));
}

TEST_F(AgainTest, GoesOnAfterAKillAtEachAction) {
  OneRun whole(world_);
  ASSERT_OK(Replace(world_, whole));
  const Tree wanted = TreeOf(world_);
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostActions; lives += kMomentStep) {
    const World world;
    is_killed = IsKilled(world, lives);
    OneRun again(world);
    ASSERT_OK(Replace(world, again)) << lives;
    ASSERT_NO_FATAL_FAILURE(ExpectRuns(world, wanted, "580")) << lives;
  }
  EXPECT_FALSE(is_killed);
}

TEST_F(AgainTest, RollbackInstallsTheFirstAgainAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostActions; lives += kMomentStep) {
    const World world;
    is_killed = IsKilled(world, lives);
    if (!HasFirst(world)) {
      OneRun back(world);
      ASSERT_OK(back.Undo()) << lives;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRuns(world, first_, "535")) << lives;
  }
  EXPECT_FALSE(is_killed);
}

// Ended itself: on the way back, or while it installs the first again.
TEST_F(AgainTest, RollbackGoesOnAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostActions; lives += kMomentStep) {
    const World world;
    IsKilled(world, kMostActions);
    OneRun back(world, change::Fate(change::Fate::End::kDead, lives));
    const auto outcome = back.Undo();
    is_killed = back.fate().is_dead();
    ASSERT_TRUE(is_killed || outcome.ok()) << outcome.status();
    if (!HasFirst(world)) {
      OneRun again(world);
      const bool is_of_first = WholeJournal(world).plan.version == "535";
      ASSERT_OK(is_of_first ? again.GoOn() : again.Undo()) << lives;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRuns(world, first_, "535")) << lives;
  }
  EXPECT_FALSE(is_killed);
}

TEST_F(AgainTest, RemoveGoesOnAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostActions; lives += kMomentStep) {
    const World world;
    IsKilled(world, kMostActions);
    OneRun back(world, change::Fate(change::Fate::End::kDead, lives));
    back.options().restores = false;
    const auto outcome = back.Undo();
    is_killed = back.fate().is_dead();
    ASSERT_TRUE(is_killed || outcome.ok()) << outcome.status();
    if (world.host().Exists(kJournalFile)) {
      OneRun again(world);
      again.options().restores = false;
      ASSERT_OK(again.Undo()) << lives;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRuns(world, before_, "470")) << lives;
  }
  EXPECT_FALSE(is_killed);
}

}  // namespace
}  // namespace kgpu::driver_install
