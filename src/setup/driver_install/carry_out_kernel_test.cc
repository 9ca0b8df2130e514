// One more kernel for a driver that kgpu installed: what comes for it is the driver's own from then
// on, and where it fails the driver is as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/test_plans.h"
#include "src/setup/driver_install/test_run.h"
#include "src/setup/driver_install/test_world.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using KernelTree = std::map<std::string, std::string>;

constexpr int kMostKernelActions = 500;

driver::Plan DriverPlan() {
  driver::Plan plan;
  plan.version = "535";
  plan.kernel = "6.1.0-56-amd64";
  plan.steps = {
      StepOf("headers", driver::InstallPackages{{"headers-56", "headers=1"}}),
      StepOf("packages", driver::InstallPackages{{"nvidia-driver"}}),
      StepOf("verify", driver::Verify{.version = "535", .kernel = plan.kernel}),
  };
  return plan;
}

// The package that both kernels share becomes newer.
driver::Plan KernelPlan() {
  driver::Plan plan;
  plan.version = "535";
  plan.kernel = "6.1.0-57-amd64";
  plan.steps = {
      StepOf("headers", driver::InstallPackages{{"headers-57", "headers=2", "kept=2"}}),
      StepOf("switch", CommandOf({"/usr/bin/switch", "on"}, {"/usr/bin/switch", "off"})),
      StepOf("verify", driver::Verify{.version = "535", .kernel = plan.kernel}),
  };
  return plan;
}

class AddKernelTest : public ::testing::Test {
 protected:
  AddKernelTest() : before_(world_.Tree()), driver_(WithDriver(world_, DriverPlan())) {}

  static KernelTree WithDriver(const World& world, const driver::Plan& plan) {
    Install(world, plan);
    return world.Tree();
  }
  static StatusOr<Outcome> Add(OneRun& run) {
    run.options().adds_kernel = true;
    return run.Begin(KernelPlan());
  }
  // In a world of its own that has the driver, ended at its action `lives`. True: it was.
  static bool IsKilled(const World& world, int lives) {
    WithDriver(world, DriverPlan());
    OneRun run(world, change::Fate(change::Fate::End::kDead, lives));
    const auto outcome = Add(run);
    EXPECT_TRUE(run.fate().is_dead() || outcome.ok()) << outcome.status();
    return run.fate().is_dead();
  }

  World world_;
  KernelTree before_;
  KernelTree driver_;
};

TEST_F(AddKernelTest, WhatComesForItIsTheDriversOwn) {
  OneRun run(world_);

  const auto outcome = Add(run);

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone);
  const Journal journal = WholeJournal(world_);
  EXPECT_EQ(journal.phase, Phase::kInstalled);
  EXPECT_FALSE(journal.adds_kernel);
  EXPECT_THAT(journal.below, IsEmpty());
  EXPECT_EQ(journal.plan.kernel, "6.1.0-56-amd64");
  ASSERT_THAT(journal.steps, SizeIs(journal.plan.steps.size()));
  EXPECT_THAT(journal.steps[0].came,
              UnorderedElementsAre(Key("headers-56"), Key("headers-57"), Key("headers")));
  EXPECT_THAT(journal.steps[0].replaced, ElementsAre(Pair("kept", "1")))
      << "what the driver brought does not come back without it";
  EXPECT_EQ(journal.plan.steps.back().id, "switch") << "which the driver's plan has not";
}

TEST_F(AddKernelTest, RemoveTakesItBackWithTheDriver) {
  for (int i = 0; i < 2; ++i) {  // the second finds all there
    OneRun run(world_);
    ASSERT_OK(Add(run));
  }
  OneRun back(world_);

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, IsEmpty());
  EXPECT_EQ(world_.Tree(), before_);
}

TEST_F(AddKernelTest, AFailureLeavesTheDriverAsItWas) {
  OneRun run(world_);
  run.See({.passed = {}, .failed = {"no module"}, .skipped = {}});

  EXPECT_THAT(Add(run),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("all steps were undone")));

  EXPECT_EQ(world_.Tree(), driver_);
}

TEST_F(AddKernelTest, WhatIsNotTakenBackIsReported) {
  OneRun run(world_);
  run.See({.passed = {}, .failed = {"no module"}, .skipped = {}});
  run.packages().FailRemove(FailedPrecondition("others need it"));
  run.options().forces = true;

  EXPECT_THAT(Add(run), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("others need it")));

  EXPECT_THAT(
      WholeJournal(world_).failure,
      HasSubstr("driver 535 for kernel 6.1.0-57-amd64 came and is undone, but not everything"));
}

TEST_F(AddKernelTest, ADriverWithoutPackagesGetsAStepForThem) {
  const World world;
  const KernelTree before = world.Tree();
  WithDriver(world, PlanOf({driver::WriteFile{"/etc/new.conf", "new\n", 0644}}));
  OneRun run(world);

  ASSERT_OK(Add(run));

  EXPECT_THAT(WholeJournal(world).steps[0].came,
              UnorderedElementsAre(Key("headers-57"), Key("headers")));
  OneRun back(world);
  ASSERT_OK(back.Undo());
  EXPECT_EQ(world.Tree(), before);
}

TEST_F(AddKernelTest, NeedsADriverThatIsInstalledToTheEnd) {
  const World empty;
  OneRun none(empty);
  EXPECT_THAT(Add(none), StatusIs(StatusCode::kNotFound, HasSubstr("installed no driver")));
  OneRun failing(world_);
  failing.See({.passed = {}, .failed = {"no module"}, .skipped = {}});
  failing.options().keeps = true;
  ASSERT_THAT(Add(failing),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the completed steps are kept")));
  OneRun again(world_);
  EXPECT_THAT(Add(again), StatusIs(StatusCode::kAlreadyExists));
}

// It is none of those that are kept.
TEST_F(AddKernelTest, IsAddedHoweverManyDriversAreKept) {
  Journal journal = WholeJournal(world_);
  journal.below.resize(kMostBelow, journal);
  OneRun run(world_);
  ASSERT_OK(WriteJournal(journal, run.deps().disk));

  ASSERT_OK(Add(run));

  EXPECT_THAT(WholeJournal(world_).below, SizeIs(kMostBelow));
}

TEST_F(AddKernelTest, GoesOnAfterAKillAtEachAction) {
  OneRun whole(world_);
  ASSERT_OK(Add(whole));
  const KernelTree wanted = world_.Tree();
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostKernelActions; ++lives) {
    const World world;
    is_killed = IsKilled(world, lives);
    const Journal journal = WholeJournal(world);
    OneRun again(world);
    const bool is_begun = journal.adds_kernel || journal.steps.size() > DriverPlan().steps.size();
    ASSERT_OK(is_begun ? again.GoOn() : Add(again)) << lives;
    ASSERT_EQ(world.Tree(), wanted) << lives;
  }
  EXPECT_FALSE(is_killed);
}

TEST_F(AddKernelTest, RollbackEndsAtTheDriverAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostKernelActions; ++lives) {
    const World world;
    is_killed = IsKilled(world, lives);
    if (!is_killed || !WholeJournal(world).adds_kernel) {
      continue;
    }
    OneRun back(world);
    const auto outcome = back.Undo();
    ASSERT_OK(outcome) << lives;
    EXPECT_EQ(outcome->back_to, "535");
    ASSERT_EQ(world.Tree(), driver_) << lives;
  }
  EXPECT_FALSE(is_killed);
}

}  // namespace
}  // namespace kgpu::driver_install
