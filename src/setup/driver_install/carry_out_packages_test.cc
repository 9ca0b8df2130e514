// Packages that come and go with a plan, beside those of others who are at work meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/host/packages/service_policy.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/test_plans.h"
#include "src/setup/driver_install/test_run.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

TEST(CarryOutPackagesTest, LeavesPackagesThatCameLater) {
  const World world;
  Install(world, PlanOf({driver::InstallPackages{{"nvidia-driver"}}}));
  world.Add("packages", "later=1");
  OneRun back(world);

  ASSERT_OK(back.Undo());

  EXPECT_THAT(world.Get("packages"),
              ElementsAre("kept=1", "later=1", "libc6=2.36", "old-driver=470"));
}

TEST(CarryOutPackagesTest, LeavesPackagesThatOthersInstallMeanwhile) {
  const World world;
  OneRun run(world);
  run.packages().Meanwhile("nginx=1");

  const auto outcome = run.Begin(PlanOf({driver::InstallPackages{{"nvidia-driver"}}}));
  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, ElementsAre(HasSubstr("nginx: installed unexpectedly")));
  OneRun back(world);
  ASSERT_OK(back.Undo());

  EXPECT_THAT(world.Get("packages"),
              ElementsAre("kept=1", "libc6=2.36", "nginx=1", "old-driver=470"));
}

TEST(CarryOutPackagesTest, LeavesPackagesThatOthersUpgradeMeanwhile) {
  const World world;
  OneRun run(world);
  run.packages().Meanwhile("libc6=2.37");

  ASSERT_OK(run.Begin(PlanOf({driver::InstallPackages{{"nvidia-driver"}}})));
  OneRun back(world);
  ASSERT_OK(back.Undo());

  EXPECT_THAT(world.Get("packages"), ElementsAre("kept=1", "libc6=2.37", "old-driver=470"));
}

TEST(CarryOutPackagesTest, TheWayBackWaitsForAnotherManagerAndGivesNothingUp) {
  const World world;
  OneRun run(world);
  ASSERT_OK(run.Begin(PlanOf({driver::InstallPackages{{"kept=2"}}})));
  OneRun busy(world);
  busy.packages().FailInstall(Unavailable("another package manager is running"));
  EXPECT_THAT(busy.Undo(), StatusIs(StatusCode::kFailedPrecondition,
                                    HasSubstr("another package manager is running")));
  OneRun back(world);

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_FALSE(outcome->lacks);
  EXPECT_THAT(world.Get("packages"), ElementsAre("kept=1", "libc6=2.36", "old-driver=470"));
}

// A kgpu of before trials were noted was killed, and this one takes back.
TEST(CarryOutPackagesTest, TakesBackAllThatCameWhereNoTrialWasNoted) {
  const World world;
  for (int lives = 0; !world.Get("packages").contains("libnvidia=535"); ++lives) {
    OneRun killed(world, change::Fate(change::Fate::End::kDead, lives));
    const bool has_begun = world.host().Exists(kJournalFile);
    ASSERT_FALSE((has_begun ? killed.GoOn()
                            : killed.Begin(PlanOf({driver::InstallPackages{{"nvidia-driver"}}})))
                     .ok());
  }
  const auto read = ReadJournal(world.host());
  ASSERT_OK(read);
  Journal journal = read->value_or(Journal());
  ASSERT_EQ(journal.steps.size(), 1U);
  journal.steps[0].foreseen.reset();
  change::HostDisk disk(world.host(), sys::Durability::kMemory);
  ASSERT_OK(WriteJournal(journal, disk));
  OneRun back(world);

  ASSERT_OK(back.Undo());

  EXPECT_THAT(world.Get("packages"), ElementsAre("kept=1", "libc6=2.36", "old-driver=470"));
}

TEST(CarryOutPackagesTest, LeavesPackagesThatCameBetweenAKillAndTheNextRun) {
  const World world;
  for (int lives = 0; !world.Get("packages").contains("libnvidia=535"); ++lives) {
    OneRun killed(world, change::Fate(change::Fate::End::kDead, lives));
    const auto journal = ReadJournal(world.host());
    ASSERT_OK(journal);
    const auto outcome = journal->has_value()
                             ? killed.GoOn()
                             : killed.Begin(PlanOf({driver::InstallPackages{{"nvidia-driver"}}}));
    ASSERT_FALSE(outcome.ok());
  }
  world.Add("packages", "nginx=1");
  OneRun next(world);

  ASSERT_OK(next.GoOn());
  OneRun back(world);
  ASSERT_OK(back.Undo());

  EXPECT_THAT(world.Get("packages"),
              ElementsAre("kept=1", "libc6=2.36", "nginx=1", "old-driver=470"));
}

TEST(CarryOutPackagesTest, LeavesTheConfigurationOfWhatWasRemovedBefore) {
  const World world;
  world.Set("configs", {"nvidia-driver"});
  Install(world, PlanOf({driver::InstallPackages{{"nvidia-driver"}}}));
  OneRun back(world);

  ASSERT_OK(back.Undo());

  EXPECT_THAT(world.Get("packages"), ElementsAre("kept=1", "libc6=2.36", "old-driver=470"));
  EXPECT_THAT(world.Get("configs"), ElementsAre("nvidia-driver"));
}

TEST(CarryOutPackagesTest, InstallsWhatFollowsTheVersionOfAnother) {
  const World world;
  world.Add("packages", "kmp-driver=580.126.09_k6.4.0-1");
  world.Add("packages", "kmp-driver-580.95.05_k6.4.0-1=580.95.05_k6.4.0-1");

  Install(world, PlanOf({driver::InstallPackages{{"utils", "daemon"}, "kmp-driver"}}));

  EXPECT_THAT(world.Get("packages"), IsSupersetOf({"utils=580.126.09", "daemon=580.126.09"}));
}

TEST(CarryOutPackagesTest, NamesThePackageWhoseVersionIsNotKnown) {
  const World world;
  OneRun run(world);

  EXPECT_THAT(run.Begin(PlanOf({driver::InstallPackages{{"utils"}, "kmp-driver"}})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("kmp-driver: not installed")));
}

TEST(CarryOutPackagesTest, TakesAwayThePolicyOfAKilledRun) {
  const World world;
  world.dir().MakeDir("host/usr/sbin");
  std::string text;
  {
    const auto policy = packages::ServicePolicy::Impose(world.host());
    ASSERT_OK(policy);
    text = world.dir().ReadFile("host/usr/sbin/policy-rc.d");
  }
  world.dir().WriteFile("host/usr/sbin/policy-rc.d", text);
  OneRun run(world);

  ASSERT_OK(LockHost(run.deps()));

  EXPECT_FALSE(world.host().Exists("usr/sbin/policy-rc.d"));
}

TEST(CarryOutPackagesTest, SaysWhenNoPackageManagerIsKnown) {
  const World world;
  OneRun run(world);
  Dependencies with = run.deps();
  with.packages = nullptr;
  const auto lock = LockHost(with);
  ASSERT_OK(lock);

  EXPECT_THAT(CarryOut(PlanOf({driver::InstallPackages{{"nvidia-driver"}}}), run.options(), with),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--source FILE.run")));
}

TEST(CarryOutPackagesTest, TellsOfPackagesThatDoNotComeBack) {
  const World world;
  Install(world, PlanOf({driver::InstallPackages{{"kept=2"}}}));
  OneRun back(world);
  back.packages().FailInstall(FailedPrecondition("no such version"));

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, ElementsAre(AllOf(HasSubstr("kept 1 was installed before"),
                                                HasSubstr("no such version"))));
}

}  // namespace
}  // namespace kgpu::driver_install
