// A driver gives way to another version, on a host whose daemon and modules are those of the
// packages that are there: done whole, or the old driver runs again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/test_plans.h"
#include "src/setup/driver_install/test_run.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using UpgradeTree = std::map<std::string, std::string>;

constexpr int kMostUpgradeActions = 500;
constexpr const char* kConfig = "/etc/old-driver.conf";

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() : before_(BeginningOf(world_)) {}

  static UpgradeTree BeginningOf(const World& world) {
    world.RunOldDriver();
    world.OwnConfig(kConfig);
    world.dir().WriteFile(fmt::format("host{}", kConfig), "an admin's\n");
    return world.Tree();
  }
  // Of a run that ended whole; the journal tells of what went on in between.
  static UpgradeTree Upgraded(const World& world) {
    UpgradeTree tree = world.Tree();
    tree.erase("host/var/lib/kgpu/driver.json");
    return tree;
  }
  static bool IsKilled(const World& world, int lives, bool is_back) {
    OneRun run(world, change::Fate(change::Fate::End::kDead, lives));
    const auto outcome = is_back ? run.Undo() : run.Begin(UpgradePlan());
    EXPECT_TRUE(run.fate().is_dead() || outcome.ok()) << outcome.status();
    return run.fate().is_dead();
  }
  void ExpectOldDriverRuns() const {
    EXPECT_EQ(world_.Tree(), before_);
    EXPECT_EQ(world_.LoadedVersion(), "470");
  }

  World world_;
  UpgradeTree before_;
};

TEST_F(UpgradeTest, PutsTheNewDriverInThePlaceOfTheOldOne) {
  OneRun run(world_);

  const auto outcome = run.Begin(UpgradePlan());

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone);
  EXPECT_THAT(world_.Get("packages"),
              ElementsAre("kept=1", "libc6=2.36", "libnvidia=535", "nvidia-driver=535"));
  EXPECT_EQ(world_.LoadedVersion(), "535");
  EXPECT_THAT(world_.Get("active"), Contains(World::kDaemon));
  EXPECT_THAT(world_.Get("enabled"), Contains(World::kDaemon));
}

// Its scripts stopped it when its package went; nothing stopped it besides.
TEST_F(UpgradeTest, ADaemonThatEndedWithItsPackageRunsAgainAndStartsWithTheHost) {
  OneRun run(world_);
  run.packages().FailInstall(FailedPrecondition("no such package"), "nvidia-driver");

  EXPECT_THAT(run.Begin(UpgradePlan()),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step 2 of 8, packages"), Not(HasSubstr("note")))));

  EXPECT_THAT(world_.Get("active"), Contains(World::kDaemon));
  EXPECT_THAT(world_.Get("enabled"), Contains(World::kDaemon));
  ExpectOldDriverRuns();
}

TEST_F(UpgradeTest, ADaemonThatDidNotStartWithTheHostDoesNotAfterwards) {
  world_.Drop("enabled", std::string(World::kDaemon));
  world_.Drop("active", std::string(World::kDaemon));
  const UpgradeTree before = world_.Tree();
  OneRun run(world_);
  ASSERT_OK(run.Begin(UpgradePlan()));
  OneRun back(world_);

  ASSERT_OK(back.Undo());

  EXPECT_EQ(world_.Tree(), before);
}

TEST_F(UpgradeTest, ADaemonThatIsNotToStartWithTheHostAgainIsReported) {
  OneRun run(world_);
  ASSERT_OK(run.Begin(UpgradePlan()));
  OneRun back(world_);
  back.runner().Fail("/usr/bin/systemctl enable", "no such unit");

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_TRUE(outcome->lacks);
  EXPECT_THAT(outcome->notes,
              Contains(AllOf(HasSubstr("nvidia-persistenced.service was enabled before"),
                             HasSubstr("no such unit"))));
}

// As a module does that is built for another kernel, or whose key the firmware does not know.
TEST_F(UpgradeTest, AModuleThatIsNotLoadedBringsTheOldDriverBack) {
  OneRun run(world_);
  run.runner().RefuseModule("535");

  EXPECT_THAT(run.Begin(UpgradePlan()),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step 5 of 8, load"), HasSubstr("all steps were undone"),
                             Not(HasSubstr("note")))));

  ExpectOldDriverRuns();
}

TEST_F(UpgradeTest, AFailedVerificationBringsTheOldDriverBack) {
  OneRun run(world_);
  run.See({.passed = {}, .failed = {"no library"}, .skipped = {}});

  EXPECT_THAT(run.Begin(UpgradePlan()),
              StatusIs(StatusCode::kFailedPrecondition, Not(HasSubstr("note"))));

  ExpectOldDriverRuns();
}

TEST_F(UpgradeTest, TheWayBackEndsWhereTheOldDriverDoesNotComeBackAndIsTriedAgain) {
  OneRun run(world_);
  ASSERT_OK(run.Begin(UpgradePlan()));
  OneRun first(world_);
  first.packages().FailInstall(FailedPrecondition("no such version"));

  EXPECT_THAT(first.Undo(),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step 1 of 8"), HasSubstr("the previous packages: "),
                             HasSubstr("no such version"))));

  OneRun second(world_);
  ASSERT_OK(second.Undo());
  ExpectOldDriverRuns();
}

// The packages are listed in their versions then, as whole ones are.
TEST_F(UpgradeTest, ADriverThatComesBackWithoutItsModuleIsNotTakenForWhole) {
  OneRun run(world_);
  ASSERT_OK(run.Begin(UpgradePlan()));
  for (int i = 0; i < 2; ++i) {
    OneRun failing(world_);
    failing.packages().FailConfigure(FailedPrecondition("no compiler"));
    EXPECT_THAT(failing.Undo(),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("step 1 of 8, other-version"), HasSubstr("no compiler"))));
  }

  OneRun back(world_);
  ASSERT_OK(back.Undo());

  ExpectOldDriverRuns();
}

// dpkg tells what is not configured: a driver whose module did not build before need not build now.
TEST_F(UpgradeTest, ADriverThatWasNotWholeBeforeComesBackAsItWas) {
  world_.Add("unfinished", "old-driver");
  OneRun run(world_);
  run.packages().ReportUnfinished();
  ASSERT_OK(run.Begin(UpgradePlan()));
  OneRun back(world_);
  back.packages().ReportUnfinished();
  back.packages().FailConfigure(FailedPrecondition("no compiler"));

  ASSERT_OK(back.Undo());

  EXPECT_EQ(world_.Get("packages"),
            (std::set<std::string>{"kept=1", "libc6=2.36", "old-driver=470"}));
  EXPECT_EQ(world_.Get("unfinished"), std::set<std::string>{"old-driver"});
}

TEST_F(UpgradeTest, ADriverThatWasWholeBeforeIsToBeSoAgain) {
  OneRun run(world_);
  run.packages().ReportUnfinished();
  ASSERT_OK(run.Begin(UpgradePlan()));
  OneRun back(world_);
  back.packages().ReportUnfinished();
  back.packages().FailConfigure(FailedPrecondition("no compiler"));

  EXPECT_THAT(back.Undo(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no compiler")));
}

TEST_F(UpgradeTest, WhatWentAsideOfTheConfigurationIsReportedAndPutBack) {
  OneRun run(world_);
  const auto outcome = run.Begin(UpgradePlan());
  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes,
              ElementsAre(AllOf(HasSubstr("/etc/old-driver.conf was set aside"),
                                HasSubstr("it is now /etc/old-driver.conf.rpmsave"))));
  EXPECT_FALSE(world_.host().Exists(kConfig));

  OneRun back(world_);
  ASSERT_OK(back.Undo());

  EXPECT_EQ(world_.dir().ReadFile(fmt::format("host{}", kConfig)), "an admin's\n");
  ExpectOldDriverRuns();
}

// Of a removal long ago.
TEST_F(UpgradeTest, WhatLiesAsideAlreadyDoesNotReplaceWhatNeverWent) {
  world_.dir().WriteFile(fmt::format("host{}.rpmsave", kConfig), "old\n");
  const UpgradeTree before = world_.Tree();
  OneRun run(world_);
  run.packages().FailRemove(FailedPrecondition("kept needs old-driver"));

  EXPECT_THAT(run.Begin(UpgradePlan()), StatusIs(StatusCode::kFailedPrecondition));

  EXPECT_EQ(world_.Tree(), before);
}

TEST_F(UpgradeTest, ARemovalThatIsRefusedLeavesTheOldDriverUntouched) {
  OneRun run(world_);
  run.packages().FailRemove(FailedPrecondition("kept needs old-driver"));
  run.packages().FailInstall(FailedPrecondition("nothing is to be installed"));

  EXPECT_THAT(run.Begin(UpgradePlan()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("all steps were undone")));

  ExpectOldDriverRuns();
}

TEST_F(UpgradeTest, WhatWentWithTheOldDriverThoughNoTrialReportedOfItComesBack) {
  OneRun run(world_);
  run.packages().TakeToo("libc6");

  EXPECT_THAT(run.Begin(UpgradePlan()),
              StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("with them went others"),
                                                              HasSubstr("all steps were undone"))));

  ExpectOldDriverRuns();
}

TEST_F(UpgradeTest, WhatWentWithTheOldDriverAndDoesNotComeBackIsReported) {
  OneRun run(world_);
  run.packages().TakeToo("libc6");
  run.packages().FailInstall(FailedPrecondition("no such version"), "libc6");

  EXPECT_THAT(run.Begin(UpgradePlan()),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("other-version: the previous packages: no such version")));
}

TEST_F(UpgradeTest, WhatIsGivenUpByForceIsReported) {
  OneRun run(world_);
  ASSERT_OK(run.Begin(UpgradePlan()));
  OneRun back(world_);
  back.packages().FailInstall(FailedPrecondition("no such version"));
  back.options().forces = true;

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_TRUE(outcome->lacks);
  EXPECT_THAT(outcome->notes,
              Contains(AllOf(HasSubstr("not undone: step 1"), HasSubstr("no such version"))));
}

TEST_F(UpgradeTest, WithoutAWayBackItNeverSaysThatAllIsBack) {
  driver::Plan plan = UpgradePlan();
  plan.steps[0].action = driver::RemovePackages{.names = {"old-driver"}, .must_return = false};
  OneRun run(world_);
  ASSERT_OK(run.Begin(plan));
  OneRun back(world_);
  back.packages().FailInstall(FailedPrecondition("no such version"));

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_TRUE(outcome->lacks);
  EXPECT_THAT(outcome->notes, Contains(HasSubstr("old-driver 470 was installed before")));
}

TEST_F(UpgradeTest, WhatAnInstallerReplacedIsReportedNotToBeBack) {
  driver::Plan plan = UpgradePlan();
  plan.steps = {StepOf("installer", CommandOf({"/usr/bin/fails"}, {"/usr/bin/switch", "off"}))};
  plan.steps[0].loses = "driver 470 of NVIDIA's installer";
  OneRun run(world_);
  run.runner().Fail("/usr/bin/fails", "no compiler");

  EXPECT_THAT(run.Begin(plan),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("not everything could be restored"),
                             HasSubstr("driver 470 of NVIDIA's installer is not restored"))));
}

TEST_F(UpgradeTest, AModuleThatStaysInTheKernelIsReportedToNeedARestart) {
  OneRun run(world_);
  ASSERT_OK(run.Begin(UpgradePlan()));
  OneRun back(world_);
  back.runner().Fail("/usr/sbin/rmmod", "rmmod: ERROR: Module nvidia is in use");

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes,
              Contains("module nvidia 535 is loaded, but 470 is installed: restart the host"));
}

TEST_F(UpgradeTest, GoesOnAfterAKillAtEachAction) {
  OneRun whole(world_);
  ASSERT_OK(whole.Begin(UpgradePlan()));
  const UpgradeTree wanted = Upgraded(world_);
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostUpgradeActions; ++lives) {
    const World world;
    BeginningOf(world);
    is_killed = IsKilled(world, lives, false);
    OneRun again(world);
    const bool has_begun = world.host().Exists(kJournalFile);
    ASSERT_OK(has_begun ? again.GoOn() : again.Begin(UpgradePlan())) << lives;
    ASSERT_EQ(Upgraded(world), wanted) << lives;
    ASSERT_EQ(world.LoadedVersion(), "535") << lives;
  }
  EXPECT_FALSE(is_killed);
}

TEST_F(UpgradeTest, IsTakenBackAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostUpgradeActions; ++lives) {
    const World world;
    BeginningOf(world);
    is_killed = IsKilled(world, lives, false);
    OneRun again(world);
    const auto outcome = again.Undo();
    ASSERT_TRUE(outcome.ok() || outcome.status().code() == StatusCode::kNotFound) << lives;
    ASSERT_EQ(world.Tree(), before_) << lives;
    ASSERT_EQ(world.LoadedVersion(), "470") << lives;
  }
  EXPECT_FALSE(is_killed);
}

TEST_F(UpgradeTest, TakingBackGoesOnAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostUpgradeActions; ++lives) {
    const World world;
    BeginningOf(world);
    OneRun run(world);
    ASSERT_OK(run.Begin(UpgradePlan()));
    is_killed = IsKilled(world, lives, true);
    OneRun again(world);
    const auto outcome = again.Undo();
    ASSERT_TRUE(outcome.ok() || outcome.status().code() == StatusCode::kNotFound) << lives;
    ASSERT_EQ(world.Tree(), before_) << lives;
    ASSERT_EQ(world.LoadedVersion(), "470") << lives;
  }
  EXPECT_FALSE(is_killed);
}

}  // namespace
}  // namespace kgpu::driver_install
