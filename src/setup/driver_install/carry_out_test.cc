#include "src/setup/driver_install/carry_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(CarryOutTest, GoesOverAPersonAndARestartToTheEnd) {
  const World world;
  OneRun first(world);
  OneRun second(world);
  OneRun third(world);

  const auto asked = first.Begin(PlanOfAllActions());
  ASSERT_OK(asked);
  EXPECT_EQ(asked->result, Result::kNeedsPerson);
  EXPECT_EQ(asked->text, "enrol the key");
  const auto restart = second.GoOn();
  ASSERT_OK(restart);
  EXPECT_EQ(restart->result, Result::kNeedsReboot);
  world.Reboot("boot-2");
  third.See({.passed = {"the module is there"}, .failed = {}, .skipped = {"nodes"}});
  const auto done = third.GoOn();

  ASSERT_OK(done);
  EXPECT_EQ(done->result, Result::kDone);
  EXPECT_THAT(done->passed, ElementsAre("the module is there"));
  EXPECT_THAT(done->notes, ElementsAre("not checked: nodes"));
  EXPECT_EQ(world.dir().ReadFile("host/etc/modprobe.d/old.conf"), "ours\n");
  EXPECT_EQ(world.dir().ReadFile("host/etc/new/deep/file.conf"), "new\n");
  EXPECT_FALSE(world.host().Exists("/etc/removed.conf"));
  EXPECT_THAT(world.Get("active"),
              ElementsAre("display-manager.service", "nvidia-persistenced.service"));
  EXPECT_THAT(world.Get("enabled"), ElementsAre("nvidia-persistenced.service"));
  EXPECT_THAT(world.Get("modules"), ElementsAre("nvidia", "nvidia-uvm"));
  EXPECT_THAT(world.Get("packages"),
              ElementsAre("kept=2", "libc6=2.36", "libnvidia=535", "nvidia-driver=535"));
  EXPECT_THAT(third.progress().reported(), Contains("17/17 verify"));
}

TEST(CarryOutTest, TakesAllBackToTheSameBytesModesAndPackages) {
  const World world;
  const auto before = world.Tree();
  driver::Plan plan = PlanOfAllActions();
  std::erase_if(plan.steps,
                [](const driver::Step& step) { return step.id == "key" || step.id == "reboot"; });
  Install(world, plan);
  OneRun back(world);

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kTakenBack);
  EXPECT_THAT(outcome->notes, IsEmpty());
  EXPECT_EQ(world.Tree(), before);
  EXPECT_THAT(back.runner().commands(), Contains("/usr/sbin/update-initramfs -u"));
}

TEST(CarryOutTest, AStepThatFailsTakesAllBackAndSaysWhy) {
  const World world;
  const auto before = world.Tree();
  OneRun run(world);
  run.runner().Fail("/usr/bin/fails", "building\nerror: no rule\n");

  const auto outcome =
      run.Begin(PlanOf({driver::WriteFile{"/etc/a", "a", 0644},
                        driver::InstallPackages{{"nvidia-driver"}}, FailingCommand()}));

  EXPECT_THAT(outcome,
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step 3 of 3, s2: /usr/bin/fails: exit code 1"),
                             HasSubstr("\n  error: no rule"), HasSubstr("all steps were undone"))));
  EXPECT_EQ(world.Tree(), before);
  EXPECT_THAT(run.progress().lines(), Contains("building"));
}

TEST(CarryOutTest, ShowsTheLogThatDkmsNames) {
  const World world;
  world.dir().WriteFile("host/var/lib/dkms/nvidia/535/build/make.log",
                        "cc a.c\na.c:1: error: bad\n");
  OneRun run(world);
  run.runner().Fail("/usr/bin/fails",
                    "Consult /var/lib/dkms/nvidia/535/build/make.log for more information.");

  const auto outcome = run.Begin(PlanOf({FailingCommand()}));

  EXPECT_THAT(outcome,
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("make.log ends with:"), HasSubstr("a.c:1: error: bad"))));
}

TEST(CarryOutTest, SaysThatNothingStaysWhereNothingWasDone) {
  const World world;
  OneRun run(world);
  run.options().keeps = true;
  run.runner().Fail("/usr/bin/fails", "no");

  EXPECT_THAT(run.Begin(PlanOf({FailingCommand()})),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("no earlier step has changed anything"),
                             HasSubstr("kgpu driver rollback"), Not(HasSubstr("stays")))));
}

TEST(CarryOutTest, KeepsWhatWasDoneWhenAskedTo) {
  const World world;
  OneRun run(world);
  run.options().keeps = true;
  run.runner().Fail("/usr/bin/fails", "no");
  const driver::Plan plan = PlanOf({driver::WriteFile{"/etc/a", "a", 0644}, FailingCommand()});

  EXPECT_THAT(run.Begin(plan), StatusIs(StatusCode::kFailedPrecondition,
                                        AllOf(HasSubstr("the completed steps are kept"),
                                              HasSubstr("kgpu driver rollback"))));

  EXPECT_EQ(world.dir().ReadFile("host/etc/a"), "a");
  const auto read = ReadJournal(world.host());
  ASSERT_OK(read);
  ASSERT_TRUE(read->has_value());
  EXPECT_THAT(read->value_or(Journal()).failure, HasSubstr("step 2 of 2"));
  OneRun again(world);
  const auto outcome = again.GoOn();
  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone);
}

TEST(CarryOutTest, AFailedVerificationTakesAllBack) {
  const World world;
  const auto before = world.Tree();
  OneRun run(world);
  run.See({.passed = {}, .failed = {"no module", "no library"}, .skipped = {}});

  EXPECT_THAT(run.Begin(PlanOf({driver::WriteFile{"/etc/a", "a", 0644}, driver::Verify{}})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no module; no library")));

  EXPECT_EQ(world.Tree(), before);
}

TEST(CarryOutTest, VerifiesAgainWhatIsInstalled) {
  const World world;
  Install(world, PlanOf({driver::WriteFile{"/etc/a", "a", 0644}, driver::Verify{}}));
  const auto before = world.Tree();
  OneRun well(world);
  OneRun ill(world);
  ill.See({.passed = {}, .failed = {"no module"}, .skipped = {}});

  EXPECT_OK(well.GoOn());
  EXPECT_THAT(ill.GoOn(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no module")));

  EXPECT_EQ(world.Tree(), before) << "a driver that is used is not taken away";
}

TEST(CarryOutTest, InstallsNothingOverAnInstalledPlan) {
  const World world;
  Install(world, PlanOf({driver::WriteFile{"/etc/a", "a", 0644}}));
  OneRun run(world);

  EXPECT_THAT(run.Begin(PlanOf({})),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("kgpu driver remove")));
}

TEST(CarryOutTest, NobodyIsTakenToHaveDoneWhatAPersonWasAskedFor) {
  const World world;
  OneRun first(world);
  OneRun second(world);
  const driver::Plan plan =
      PlanOf({driver::AskPerson{"enrol the key"}, driver::WriteFile{"/etc/a", "a", 0644}});
  ASSERT_OK(first.Begin(plan));
  second.options().is_unattended = true;

  const auto outcome = second.GoOn();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kNeedsPerson);
  EXPECT_EQ(outcome->text, "enrol the key");
  EXPECT_FALSE(world.host().Exists("/etc/a"));
}

// A host that was restarted, perhaps for something else, perhaps with the key refused.
TEST(CarryOutTest, LooksWhetherAKeyIsEnrolledBeforeItGoesOn) {
  const World world;
  const auto before = world.Tree();
  world.dir().WriteFile("host/sys/firmware/efi/mok-variables/MokListRT", "others");
  const driver::Plan plan =
      PlanOf({driver::WriteFile{"/var/lib/dkms-mok.pub", "our key", 0644},
              driver::AskPerson{.text = "enrol the key", .key = "/var/lib/dkms-mok.pub"},
              driver::WriteFile{"/etc/a", "a", 0644}});
  for (const bool is_unattended : {false, true, false}) {
    OneRun run(world);
    run.options().is_unattended = is_unattended;
    const auto journal = ReadJournal(world.host());
    ASSERT_OK(journal);

    const auto outcome = journal->has_value() ? run.GoOn() : run.Begin(plan);

    ASSERT_OK(outcome);
    EXPECT_EQ(outcome->result, Result::kNeedsPerson);
    EXPECT_TRUE(outcome->resumes_itself);
  }
  EXPECT_TRUE(world.host().Exists("/etc/systemd/system/kgpu-driver-resume.service"));
  world.dir().WriteFile("host/sys/firmware/efi/mok-variables/MokListRT", "others, our key, more");
  OneRun unit(world);
  unit.options().is_unattended = true;

  const auto outcome = unit.GoOn();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone);
  EXPECT_TRUE(world.host().Exists("/etc/a"));
  EXPECT_FALSE(world.host().Exists("/etc/systemd/system/kgpu-driver-resume.service"));
  OneRun back(world);
  ASSERT_OK(back.Undo());
  std::filesystem::remove_all(world.dir().At("host/sys"));
  EXPECT_EQ(world.Tree(), before);
}

// The kernel trusts keys that no list of the firmware shows, those built into it, say.
TEST(CarryOutTest, GoesOnWithoutTheKeyInAnyListWhereAPersonSaysSo) {
  const World world;
  world.dir().WriteFile("host/sys/firmware/efi/mok-variables/MokListRT", "others");
  const driver::Plan plan =
      PlanOf({driver::WriteFile{"/var/lib/dkms-mok.pub", "our key", 0644},
              driver::AskPerson{.text = "enrol the key", .key = "/var/lib/dkms-mok.pub"},
              driver::WriteFile{"/etc/a", "a", 0644}});
  OneRun first(world);
  const auto asked = first.Begin(plan);
  ASSERT_OK(asked);
  EXPECT_THAT(asked->text, HasSubstr("--trust-key"));
  OneRun unit(world);
  unit.options().trusts_key = true;
  unit.options().is_unattended = true;
  const auto again = unit.GoOn();
  ASSERT_OK(again);
  EXPECT_EQ(again->result, Result::kNeedsPerson) << "nobody is there to say so";
  OneRun person(world);
  person.options().trusts_key = true;

  const auto outcome = person.GoOn();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone);
  EXPECT_THAT(outcome->notes, Contains(HasSubstr("/var/lib/dkms-mok.pub")));
  EXPECT_TRUE(world.host().Exists("/etc/a"));
}

void AddHolder(const World& world, const std::string& pid, std::string_view cgroup) {
  const std::string process = "host/proc/" + pid;
  world.dir().WriteFile(process + "/comm", "python3\n");
  world.dir().WriteFile(process + "/cgroup", cgroup);
  world.dir().MakeDir(process + "/fd");
  world.dir().Symlink("/dev/nvidia0", process + "/fd/3");
}

// A pod that came while the headers were installed, say.
TEST(CarryOutTest, LooksWhoHoldsTheGpusBeforeTheOldDriverGoes) {
  const World world;
  world.Add("modules", "nvidia");
  AddHolder(world, "20", "0::/system.slice/nvidia-persistenced.service\n");
  AddHolder(world, "4711", "0::/kubepods.slice/pod1\n");
  const auto before = world.Tree();
  const auto packages = world.Get("packages");
  OneRun run(world);

  const auto outcome = run.Begin(UpgradePlan());

  EXPECT_THAT(outcome, StatusIs(StatusCode::kFailedPrecondition,
                                HasSubstr("1 processes use the GPUs now, so the modules could not "
                                          "be unloaded: python3 (4711)")));
  EXPECT_EQ(world.Get("packages"), packages);
  EXPECT_EQ(world.Tree(), before);
}

TEST(CarryOutTest, AUnitThatDoesNotStartAgainHoldsUpNothing) {
  const World world;
  world.dir().MakeDir("host/etc");
  world.Add("active", "nvidia-persistenced.service");
  Install(world, PlanOf({driver::WriteFile{"/etc/a", "a", 0644},
                         driver::StopUnits{{"nvidia-persistenced.service"}}}));
  OneRun back(world);
  back.runner().Fail("/usr/bin/systemctl start", "no such device");

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, Contains(HasSubstr("does not start again")));
  EXPECT_FALSE(world.host().Exists("/etc/a"));
}

TEST(CarryOutTest, AStepWhoseProgramIsNotThereIsAFailure) {
  const World world;
  OneRun run(world);
  run.packages().FailInstall(NotFound("no such program"));

  const auto outcome = run.Begin(PlanOf({driver::InstallPackages{{"nvidia-driver"}}}));

  EXPECT_THAT(outcome, StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no such program")));
}

TEST(CarryOutTest, ARestartThatWasNotDoneIsAskedForAgain) {
  const World world;
  const driver::Plan plan =
      PlanOf({driver::Reboot{"nouveau"}, driver::WriteFile{"/etc/a", "a", 0644}});
  OneRun first(world);
  OneRun second(world);
  ASSERT_OK(first.Begin(plan));

  const auto outcome = second.GoOn();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kNeedsReboot);
  EXPECT_THAT(outcome->text, HasSubstr("restart the host: nouveau"));
  EXPECT_FALSE(world.host().Exists("/etc/a"));
  EXPECT_THAT(second.runner().commands(), IsEmpty()) << "nothing restarts the host by itself";
}

TEST(CarryOutTest, AUnitGoesOnAfterARestartAndGoesAway) {
  const World world;
  OneRun first(world);
  OneRun second(world);
  first.options().resume_command = {"/opt/a b/100%/kgpu", "driver", "install", "--resume"};
  const auto asked = first.Begin(PlanOf({driver::Reboot{"nouveau"}}));
  ASSERT_OK(asked);
  EXPECT_TRUE(asked->resumes_itself);
  const std::string unit =
      world.dir().ReadFile("host/etc/systemd/system/kgpu-driver-resume.service");
  EXPECT_THAT(
      unit,
      AllOf(HasSubstr("\nExecStart=\"/opt/a b/100%%/kgpu\" \"driver\" \"install\" \"--resume\"\n"),
            HasSubstr("\nConditionPathExists=/var/lib/kgpu/driver.json\n"
                      "ConditionPathExists=!/etc/systemd/system/kgpu-node-up.service\n")));
  EXPECT_TRUE(world.host().Exists(
      "/etc/systemd/system/multi-user.target.wants/kgpu-driver-resume.service"));
  world.Reboot("boot-2");

  const auto outcome = second.GoOn();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone);
  EXPECT_FALSE(world.host().Exists("/etc/systemd/system/kgpu-driver-resume.service"));
  EXPECT_FALSE(
      world.host()
          .LinkStat("/etc/systemd/system/multi-user.target.wants/kgpu-driver-resume.service")
          .ok());
}

TEST(CarryOutTest, LeavesWhatSomebodyElseChangedSince) {
  const World world;
  Install(world, PlanOf({driver::WriteFile{"/etc/modprobe.d/old.conf", "ours\n", 0644}}));
  world.dir().WriteFile("host/etc/modprobe.d/old.conf", "edited\n");
  OneRun back(world);

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_EQ(world.dir().ReadFile("host/etc/modprobe.d/old.conf"), "edited\n");
  EXPECT_THAT(outcome->notes, ElementsAre(HasSubstr("changed since")));
}

TEST(CarryOutTest, KeepsTheFirstTextOfAFileThatStays) {
  const World world;
  for (int turn = 0; turn < 2; ++turn) {
    world.dir().WriteFile("host/etc/modprobe.d/old.conf", fmt::format("first {}\n", turn));
    Install(world, PlanOf({driver::WriteFile{"/etc/modprobe.d/old.conf", "ours\n", 0644}}));
    world.dir().WriteFile("host/etc/modprobe.d/old.conf", "edited\n");
    OneRun back(world);

    const auto outcome = back.Undo();

    ASSERT_OK(outcome);
    EXPECT_THAT(outcome->notes,
                ElementsAre(HasSubstr("the original is in " +
                                      world.host().At("/var/lib/kgpu/driver-kept/old.conf"))));
  }
  EXPECT_EQ(world.dir().ReadFile("host/var/lib/kgpu/driver-kept/old.conf"), "first 0\n");
  EXPECT_EQ(world.dir().ReadFile("host/var/lib/kgpu/driver-kept/old.conf.2"), "first 1\n");
  EXPECT_FALSE(world.host().Exists(kBackupFolder));
}

TEST(CarryOutTest, KeepsTheFirstTextOfAFileThatIsGivenUp) {
  const World world;
  Install(world, PlanOf({driver::WriteFile{"/etc/modprobe.d/old.conf", "ours\n", 0644}}));
  std::filesystem::remove(world.dir().At("host/etc/modprobe.d/old.conf"));
  world.dir().MakeDir("host/etc/modprobe.d/old.conf");
  OneRun run(world);
  run.options().forces = true;

  const auto outcome = run.Undo();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, ElementsAre(AllOf(HasSubstr("not undone: step 1 of 1"),
                                                HasSubstr("driver-kept/old.conf"))));
  EXPECT_EQ(world.dir().ReadFile("host/var/lib/kgpu/driver-kept/old.conf"), "theirs\n");
}

// The last action of the undo's program is done, and nobody is left to note it.
TEST(CarryOutTest, AnUndoThatWasCutOffIsFinishedByTheNextRun) {
  const World world;
  const auto before = world.Tree();
  Install(world, PlanOf({CommandOf({"/usr/bin/switch", "on"}, {"/usr/bin/switch", "off"})}));
  int lives = 0;
  while (world.Get("switch").contains("on")) {
    OneRun cut(world, change::Fate(change::Fate::End::kDead, lives++));
    EXPECT_FALSE(cut.Undo().ok());
  }
  OneRun back(world);

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, ElementsAre(HasSubstr("s0 was not finished")));
  EXPECT_EQ(world.Tree(), before);
}

TEST(CarryOutTest, AnUndoThatFailedMayFailAgain) {
  const World world;
  Install(world, PlanOf({CommandOf({"/usr/bin/switch", "on"}, {"/usr/bin/switch", "off"})}));
  for (int turn = 0; turn < 2; ++turn) {
    OneRun back(world);
    back.runner().Fail("/usr/bin/switch off", "is stuck");

    EXPECT_THAT(back.Undo(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is stuck")));
  }
}

TEST(CarryOutTest, TheUnitGoesOnAsThePersonAskedFor) {
  const World world;
  OneRun first(world);
  OneRun unit(world);
  first.options().keeps = true;
  first.options().restarts = true;
  const auto asked = first.Begin(PlanOf({driver::Reboot{"nouveau"}, driver::Reboot{"again"},
                                         driver::WriteFile{"/etc/a", "a", 0644}}));
  ASSERT_OK(asked);
  EXPECT_TRUE(asked->is_to_restart);
  world.Reboot("boot-2");
  unit.options().is_unattended = true;
  const auto again = unit.GoOn();
  ASSERT_OK(again);
  EXPECT_TRUE(again->is_to_restart);

  OneRun same_boot(world);
  same_boot.options().is_unattended = true;
  const auto still = same_boot.GoOn();
  ASSERT_OK(still);
  EXPECT_FALSE(still->is_to_restart) << "in a loop";
  world.dir().MakeDir("host/etc/a");
  world.Reboot("boot-3");
  OneRun last(world);
  last.options().is_unattended = true;

  EXPECT_THAT(last.GoOn(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the completed steps are kept")));
}

TEST(CarryOutTest, NoBootRepeatsWhatFailed) {
  const std::string unit = "/etc/systemd/system/kgpu-driver-resume.service";
  for (const bool keeps : {true, false}) {
    const World world;
    OneRun first(world);
    OneRun second(world);
    first.options().keeps = keeps;
    second.options().is_unattended = true;
    ASSERT_OK(first.Begin(PlanOf({driver::Reboot{"nouveau"},
                                  driver::InstallPackages{{"nvidia-driver"}}, FailingCommand()})));
    EXPECT_TRUE(world.host().Exists(unit));
    world.Reboot("boot-2");
    second.runner().Fail("/usr/bin/fails", "no");
    second.packages().FailRemove(FailedPrecondition("cuda would go with it"));

    EXPECT_FALSE(second.GoOn().ok());

    EXPECT_FALSE(world.host().Exists(unit)) << keeps;
    EXPECT_TRUE(world.host().Exists(kJournalFile));
  }
}

TEST(CarryOutTest, EndsWhereAStepCannotBeUndoneAndTriesAgain) {
  const World world;
  const auto before = world.Tree();
  Install(world, PlanOf({driver::WriteFile{"/etc/a", "a", 0644},
                         driver::InstallPackages{{"nvidia-driver"}}}));
  OneRun first(world);
  first.packages().FailRemove(FailedPrecondition("cuda would go with it"));

  EXPECT_THAT(first.Undo(), StatusIs(StatusCode::kFailedPrecondition,
                                     HasSubstr("step 2 of 2, s1: cuda would go with it")));

  EXPECT_TRUE(world.host().Exists("/etc/a")) << "what the packages may need";
  const auto read = ReadJournal(world.host());
  ASSERT_OK(read);
  const Journal journal = read->value_or(Journal());
  ASSERT_EQ(journal.steps.size(), 2U);
  EXPECT_EQ(journal.phase, Phase::kGoingBack);
  EXPECT_EQ(journal.steps[1].state, StepState::kUndoing);
  EXPECT_THAT(journal.failure, HasSubstr("cuda"));
  OneRun second(world);
  ASSERT_OK(second.GoOn());
  EXPECT_EQ(world.Tree(), before);
}

TEST(CarryOutTest, GoesPastWhatCannotBeUndoneWhenForcedTo) {
  const World world;
  Install(world, PlanOf({driver::WriteFile{"/etc/a", "a", 0644},
                         driver::InstallPackages{{"nvidia-driver"}}}));
  OneRun run(world);
  run.options().forces = true;
  run.packages().FailRemove(FailedPrecondition("cuda would go with it"));

  const auto outcome = run.Undo();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, ElementsAre(HasSubstr("not undone: step 2 of 2, s1: cuda would go")));
  EXPECT_FALSE(world.host().Exists("/etc/a"));
  EXPECT_FALSE(world.host().Exists(kJournalFile));
}

TEST(CarryOutTest, WithoutSystemdNothingGoesOnByItself) {
  const World world;
  std::filesystem::remove(world.dir().At("host/run/systemd/system"));
  OneRun run(world);

  const auto outcome = run.Begin(PlanOf({driver::Reboot{"nouveau"}}));

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kNeedsReboot);
  EXPECT_FALSE(outcome->resumes_itself);
  EXPECT_FALSE(world.host().Exists("/etc/systemd"));
}

TEST(CarryOutTest, SaysThatTakingBackWentWrongToo) {
  const World world;
  OneRun run(world);
  run.runner().Fail("/usr/bin/fails", "no");
  run.packages().FailRemove(FailedPrecondition("cuda would go with it"));

  EXPECT_THAT(run.Begin(PlanOf({driver::InstallPackages{{"nvidia-driver"}}, FailingCommand()})),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("undoing it also failed: step 1 of 2"),
                             HasSubstr("kgpu driver rollback"))));
}

TEST(CarryOutTest, UndoesACommandOnlyWhenItWasBegun) {
  const World world;
  OneRun run(world);
  run.runner().Fail("/usr/bin/fails", "no");

  EXPECT_FALSE(run.Begin(PlanOf({FailingCommand(),
                                 CommandOf({"/usr/bin/switch", "on"}, {"/usr/bin/switch", "off"})}))
                   .ok());

  EXPECT_THAT(run.runner().commands(), ElementsAre("/usr/bin/fails"));
}

TEST(CarryOutTest, AnUnfinishedCommandNeedsNoUndoing) {
  const World world;
  const auto before = world.Tree();
  OneRun run(world);
  run.runner().Fail("/usr/bin/fails", "no");
  run.runner().Fail("/usr/bin/uninstall", "nothing is installed");

  EXPECT_THAT(run.Begin(PlanOf({CommandOf({"/usr/bin/fails"}, {"/usr/bin/uninstall"})})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("all steps were undone")));

  EXPECT_EQ(world.Tree(), before);
}

TEST(CarryOutTest, TouchesNoUnitsModulesAndNodesOfAnotherSystem) {
  const World world;
  OneRun run(world);
  run.options().is_running_system = false;
  driver::Plan plan = PlanOfAllActions();
  plan.steps.push_back(StepOf("nodes", CommandOf({"/usr/bin/nvidia-modprobe", "-c", "0"}, {})));
  std::erase_if(plan.steps, [](const driver::Step& step) { return step.id == "key"; });

  const auto outcome = run.Begin(plan);

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, Result::kDone) << "another system is not restarted";
  EXPECT_THAT(run.runner().commands(),
              ElementsAre("/usr/bin/apt-get update", "/usr/bin/switch on"));
  EXPECT_THAT(outcome->notes, Contains(HasSubstr("is not the running system")));
  EXPECT_THAT(world.Get("modules"), ElementsAre("nouveau"));
}

TEST(CarryOutTest, PassesUnitsOverWhereSystemdDoesNotRunTheHost) {
  const World world;
  std::filesystem::remove(world.dir().At("host/run/systemd/system"));
  OneRun run(world);

  const auto outcome = run.Begin(PlanOf({driver::StartUnits{.units = {"a.service"}}}));

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, ElementsAre(HasSubstr("systemd does not run this host")));
  EXPECT_THAT(run.runner().commands(), IsEmpty());
}

TEST(CarryOutTest, OnlyOneAtATimeWorksOnAHost) {
  const World world;
  OneRun one(world);
  OneRun other(world);
  const Dependencies with = one.deps();
  const auto lock = LockHost(with);
  ASSERT_OK(lock);

  EXPECT_THAT(other.Begin(PlanOf({})), StatusIs(StatusCode::kUnavailable,
                                                HasSubstr("another kgpu is running on this host")));
}

TEST(CarryOutTest, RefusesToReplaceWhatIsNoFile) {
  const World world;
  world.dir().MakeDir("host/etc/a");
  OneRun run(world);

  EXPECT_THAT(run.Begin(PlanOf({driver::WriteFile{"/etc/a", "a", 0644}})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
}

TEST(CarryOutTest, AModuleThatIsUsedStaysUntilTheHostIsRestarted) {
  const World world;
  world.Add("packages", "nvidia-driver=535");
  Install(world, PlanOf({driver::LoadModules{{"nvidia"}}}));
  OneRun back(world);
  back.runner().Fail("/usr/sbin/rmmod", "rmmod: ERROR: Module nvidia is in use");

  const auto outcome = back.Undo();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes,
              ElementsAre(AllOf(HasSubstr("stays loaded until"), HasSubstr("in use"))));
}

TEST(CarryOutTest, HasNothingToTakeBackOnAFreshHost) {
  const World world;
  OneRun run(world);

  EXPECT_THAT(run.Undo(), StatusIs(StatusCode::kNotFound, HasSubstr("has not installed")));
}

}  // namespace
}  // namespace kgpu::driver_install
