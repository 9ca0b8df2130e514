#include "src/setup/driver_install/container_install.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/setup/driver_install/container_modules.h"
#include "src/setup/driver_install/test_container_world.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kMostContainerActions = 200;

TEST(ContainerInstallTest, TheDriverIsInTheFolderAndLoadedFromThere) {
  const ContainerWorld world;
  ContainerRun run(world);

  const auto outcome = run.Go();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, ContainerResult::kInstalled);
  EXPECT_EQ(outcome->version, "535.309.01");
  EXPECT_THAT(world.Loaded(), ElementsAre("video", "i2c-core", "nvidia", "nvidia_uvm"));
  EXPECT_EQ(world.dir().ReadFile("host/sys/module/firmware_class/parameters/path"),
            "/var/lib/kgpu/driver-root/lib/firmware");
  const auto stamp = ParseStamp(world.dir().ReadFile("host/run/nvidia/driver/kgpu-driver.json"),
                                "kgpu-driver.json");
  ASSERT_OK(stamp);
  EXPECT_EQ(*stamp, (Stamp{.kernels = {kOldKernel},
                           .version = "535.309.01",
                           .kind = driver::ModuleKind::kProprietary,
                           .config = "a"}));
  EXPECT_FALSE(world.host().Exists("/var/lib/kgpu/driver-root/usr/src/nvidia"));
  EXPECT_FALSE(world.host().Exists("/var/lib/kgpu/driver-root.new"));
}

TEST(ContainerInstallTest, EveryGpuHasItsNodeAndTheirMemoryTheFirstOne) {
  const ContainerWorld world;
  world.dir().MakeDir("host/proc/driver/nvidia/gpus/0000:05:00.0");
  world.dir().MakeDir("host/proc/driver/nvidia/gpus/0000:06:00.0");

  ASSERT_OK(ContainerRun(world).Go());

  EXPECT_THAT(world.host().ListDir("/dev"),
              IsOkAndHolds(ElementsAre("nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidia1",
                                       "nvidiactl")));
  EXPECT_EQ(world.dir().ReadFile("host/dev/nvidiactl"), "195:255");
  EXPECT_EQ(world.dir().ReadFile("host/dev/nvidia1"), "195:1");
  EXPECT_EQ(world.dir().ReadFile("host/dev/nvidia-uvm"), "uvm:0");
}

TEST(ContainerInstallTest, NodesOfModulesThatWereLoadedBeforeAreFixed) {
  const ContainerWorld world;
  const TempDir& dir = world.dir();
  if (!dir.MakeCharDevice("host/dev/nvidiactl", 195, 255) ||
      !dir.MakeCharDevice("host/dev/nvidia0", 195, 0) ||
      !dir.MakeCharDevice("host/dev/nvidia-uvm", 7, 0)) {
    GTEST_SKIP() << "cannot create device nodes here";
  }
  ASSERT_OK(ContainerRun(world).Go());
  EXPECT_EQ(dir.ReadFile("host/dev/nvidia-uvm"), "uvm:0");
}

TEST(ContainerInstallTest, AFolderThatHasLostItsModulesIsMadeAgain) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  const auto before = world.Tree();
  std::filesystem::remove_all(world.dir().At("host/var/lib/kgpu/driver-root/lib/modules"));
  world.FreshContainer();
  ContainerRun next(world);

  ASSERT_OK(next.Go());

  EXPECT_EQ(next.builds(), 1);
  EXPECT_EQ(world.Tree(), before);
}

TEST(ContainerInstallTest, ASecondRunChangesNothing) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  const auto before = world.Tree();
  world.FreshContainer();
  ContainerRun again(world);

  const auto outcome = again.Go();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, ContainerResult::kWasThere);
  EXPECT_EQ(again.builds(), 0);
  EXPECT_THAT(again.runner().commands(), Not(Contains(HasSubstr("insmod"))));
  EXPECT_EQ(world.Tree(), before);
}

TEST(ContainerInstallTest, ALookTellsWhetherItWouldBuildAndChangesNothing) {
  const ContainerWorld world;
  const auto before = world.Tree();
  ContainerRun first(world);
  const auto again = first.Look();
  ASSERT_OK(again);
  EXPECT_FALSE(again->has_value());
  EXPECT_EQ(world.Tree(), before);
  ASSERT_OK(first.Go());
  const auto after = world.Tree();

  const auto found = ContainerRun(world).Look();

  ASSERT_OK(found);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->result, ContainerResult::kWasThere);
  EXPECT_EQ((*found)->version, "535.309.01");
  EXPECT_EQ(world.Tree(), after);
}

TEST(ContainerInstallTest, AfterARestartOfTheHostModulesAreLoadedAgainAndNothingIsBuilt) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  const auto before = world.Tree();
  world.FreshContainer();
  world.Reboot();
  ContainerRun again(world);

  const auto outcome = again.Go();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, ContainerResult::kWasThere);
  EXPECT_EQ(again.builds(), 0);
  EXPECT_EQ(world.Tree(), before);
}

TEST(ContainerInstallTest, ANewKernelGetsModulesOfItsOwn) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.FreshContainer();
  world.Reboot();

  const auto outcome = ContainerRun(world).Go("a", kNewKernel);

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, ContainerResult::kInstalled);
  EXPECT_THAT(world.Loaded(), Contains("nvidia_uvm"));
}

TEST(ContainerInstallTest, WhoGoesBackToTheKernelBeforeBuildsNothing) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.FreshContainer();
  world.Reboot();
  ASSERT_OK(ContainerRun(world).Go("a", kNewKernel));
  world.FreshContainer();
  world.Reboot();
  ContainerRun back(world);

  ASSERT_OK(back.Go());

  EXPECT_EQ(back.builds(), 0);
  EXPECT_THAT(world.Loaded(), Contains("nvidia_uvm"));
}

TEST(ContainerInstallTest, OnlyTheLastTwoKernelsAreKept) {
  const ContainerWorld world;
  for (const char* kernel : {"6.1.0-55-amd64", kOldKernel, kNewKernel}) {
    ASSERT_OK(ContainerRun(world).Go("a", kernel));
    world.FreshContainer();
    world.Reboot();
  }
  EXPECT_THAT(world.host().ListDir("/var/lib/kgpu/driver-root/lib/modules"),
              IsOkAndHolds(ElementsAre(kOldKernel, kNewKernel)));
}

TEST(ContainerInstallTest, ModulesOfAnotherVersionAreNotKept) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.FreshContainer();
  world.Reboot();
  ASSERT_OK(ContainerRun(world).Go("a", kNewKernel, "580.95.05"));
  EXPECT_THAT(world.host().ListDir("/var/lib/kgpu/driver-root/lib/modules"),
              IsOkAndHolds(ElementsAre(kNewKernel)));
}

TEST(ContainerInstallTest, AnotherVersionTakesThePlaceOfTheLoadedOne) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.FreshContainer();
  ContainerRun run(world);

  ASSERT_OK(run.Go("b", kOldKernel, "580.95.05"));

  EXPECT_THAT(run.runner().commands(),
              AllOf(Contains("rmmod nvidia_uvm"), Contains("rmmod nvidia")));
  EXPECT_EQ(LoadedVersion(world.host()), "580.95.05");
}

TEST(ContainerInstallTest, ADriverInUseStaysWholeAndTheNewOneWaits) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.SetLoaded({"nvidia", "nvidia_uvm"}, 1);
  world.FreshContainer();
  ContainerRun run(world);

  const auto outcome = run.Go("b", kOldKernel, "580.95.05");

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, ContainerResult::kWaits);
  EXPECT_THAT(outcome->text, HasSubstr("drain the node"));
  EXPECT_THAT(world.Loaded(), ElementsAre("nvidia", "nvidia_uvm"));
  EXPECT_TRUE(
      world.host().Exists("/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libcuda.so.535.309.01"));
}

TEST(ContainerInstallTest, ADriverThatIsTakenAtTheLastInstantIsMadeWholeAgain) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.FreshContainer();
  ContainerRun run(world);
  run.runner().Fail("rmmod nvidia");

  const auto outcome = run.Go("b", kOldKernel, "580.95.05");

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, ContainerResult::kWaits);
  EXPECT_THAT(outcome->text, AllOf(HasSubstr("drain the node"), HasSubstr("rmmod nvidia")));
  EXPECT_THAT(run.runner().commands(), Contains("rmmod nvidia_uvm"));
  EXPECT_THAT(world.Loaded(), ElementsAre("video", "i2c-core", "nvidia", "nvidia_uvm"));
  EXPECT_EQ(LoadedVersion(world.host()), "535.309.01");
}

TEST(ContainerInstallTest, WhatWaitedIsPutInPlaceAfterARestartWithoutBuilding) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.SetLoaded({"nvidia"}, 1);
  world.FreshContainer();
  ASSERT_OK(ContainerRun(world).Go("b", kOldKernel, "580.95.05"));
  world.FreshContainer();
  world.Reboot();
  ContainerRun next(world);

  ASSERT_OK(next.Go("b", kOldKernel, "580.95.05"));

  EXPECT_EQ(next.builds(), 0);
  EXPECT_EQ(LoadedVersion(world.host()), "580.95.05");
}

TEST(ContainerInstallTest, TheOtherKindOfModulesWaitsToo) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.dir().WriteFile("host/proc/driver/nvidia/version",
                        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.309.01  Mon Jan  1\n");
  world.SetLoaded({"nvidia"}, 1);
  world.FreshContainer();
  ContainerRun run(world);
  run.runner().SayOpen();

  const auto outcome = run.Go("module=open");

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, ContainerResult::kWaits);
  EXPECT_THAT(outcome->text, AllOf(HasSubstr("535.309.01 (proprietary) is loaded"),
                                   HasSubstr("535.309.01 (open) is waiting")));
}

TEST(ContainerInstallTest, ParametersOfModprobeReachTheModules) {
  const ContainerWorld world;
  world.dir().WriteFile("container/etc/modprobe.d/nvidia.conf",
                        "options nvidia-current NVreg_A=1\n");
  world.dir().WriteFile("host/etc/modprobe.d/site.conf", "options nvidia NVreg_B=\"x y\"\n");
  ContainerRun run(world);

  ASSERT_OK(run.Go());

  EXPECT_THAT(run.runner().commands(),
              AllOf(Contains("insmod nvidia-current.ko NVreg_B=\"x y\" NVreg_A=1"),
                    Contains("insmod nvidia-current-uvm.ko")));
}

TEST(ContainerInstallTest, NothingIsLoadedWhereNoKernelRuns) {
  const ContainerWorld world;
  ContainerRun run(world);
  run.LetNoKernelRun();

  ASSERT_OK(run.Go());

  EXPECT_THAT(world.Loaded(), ElementsAre());
  EXPECT_TRUE(world.host().Exists("/run/nvidia/driver/kgpu-driver.json"));
}

TEST(ContainerInstallTest, AModuleOfAnotherVersionThanItsLibrariesIsNotTaken) {
  const ContainerWorld world;
  ContainerRun run(world);
  run.BuildVersion("535.1.1");
  EXPECT_THAT(std::string(Message(run.Go().status())), HasSubstr("the libraries have 535.309.01"));
  EXPECT_FALSE(world.host().Exists("/var/lib/kgpu/driver-root"));
}

TEST(ContainerInstallTest, AFailedInstallationLeavesTheOldFolder) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  const auto before = world.Tree();
  world.FreshContainer();
  ContainerRun run(world);
  run.FailInstall(FailedPrecondition("no network"));

  EXPECT_FALSE(run.Go("b").ok());

  EXPECT_EQ(world.Tree(), before);
}

TEST(ContainerInstallTest, ModulesOfAnotherKernelAreNotTaken) {
  const ContainerWorld world;
  ContainerRun run(world);
  run.BuildFor(kNewKernel);
  EXPECT_THAT(std::string(Message(run.Go().status())), HasSubstr("no module nvidia"));
  EXPECT_FALSE(world.host().Exists("/var/lib/kgpu/driver-root"));
}

TEST(ContainerInstallTest, LibrariesOfTwoDriversAreNotTaken) {
  const ContainerWorld world;
  world.dir().WriteFile("container/usr/lib/x86_64-linux-gnu/libcuda.so.535.309.02", "");
  EXPECT_THAT(std::string(Message(ContainerRun(world).Go().status())),
              HasSubstr("libraries of one driver"));
  EXPECT_FALSE(world.host().Exists("/var/lib/kgpu/driver-root"));
}

TEST(ContainerInstallTest, AHostWithADriverOfItsOwnIsLeftAlone) {
  const ContainerWorld world;
  world.dir().WriteFile("host/usr/lib/x86_64-linux-gnu/libcuda.so.550.1.2", "");
  const auto before = world.Tree();
  ContainerRun run(world);

  const auto outcome = run.Go();

  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->result, ContainerResult::kHostHasOwn);
  EXPECT_EQ(outcome->version, "550.1.2");
  EXPECT_EQ(world.Tree(), before);
}

TEST(ContainerInstallTest, AnUnfinishedInstallationOfTheHostIsAnError) {
  const ContainerWorld world;
  Journal journal;
  journal.plan.version = "550.1.2";
  ContainerRun run(world);
  ASSERT_OK(run.WriteHostJournal(journal));
  EXPECT_THAT(std::string(Message(run.Go().status())), HasSubstr("on the host itself"));
  EXPECT_EQ(run.builds(), 0);
}

TEST(ContainerInstallTest, ModulesThatSomebodyElseLoadedAreAnError) {
  const ContainerWorld world;
  world.dir().WriteFile("host/sys/module/nvidia/version", "550.1.2\n");
  ContainerRun run(world);

  EXPECT_THAT(std::string(Message(run.Go().status())), HasSubstr("kgpu did not load it"));
  EXPECT_EQ(run.builds(), 0);
}

TEST(ContainerInstallTest, AFolderOfOursMakesNoOtherDriverOurs) {
  const ContainerWorld world;
  ASSERT_OK(ContainerRun(world).Go());
  world.dir().WriteFile("host/sys/module/nvidia/version", "550.1.2\n");
  world.FreshContainer();
  EXPECT_THAT(std::string(Message(ContainerRun(world).Go().status())),
              HasSubstr("kgpu did not load it"));
}

TEST(ContainerInstallTest, AFolderOfAnotherDriverContainerIsNotReplaced) {
  const ContainerWorld world;
  world.dir().WriteFile("host/run/nvidia/driver/usr/bin/nvidia-smi", "theirs");

  const auto outcome = ContainerRun(world).Go();

  EXPECT_THAT(std::string(Message(outcome.status())), HasSubstr("--driver-dir"));
  EXPECT_EQ(world.dir().ReadFile("host/run/nvidia/driver/usr/bin/nvidia-smi"), "theirs");
}

TEST(ContainerInstallTest, WhatTheVerificationFindsIsAnError) {
  const ContainerWorld world;
  ContainerRun run(world);
  driver::Verified seen;
  seen.failed = {"no /dev/nvidia0"};
  run.See(seen);
  EXPECT_THAT(std::string(Message(run.Go().status())), HasSubstr("no /dev/nvidia0"));
}

TEST(ContainerInstallTest, NouveauThatStaysIsAnError) {
  const ContainerWorld world;
  world.SetLoaded({"nouveau"});
  ContainerRun run(world);
  run.runner().Fail("rmmod");
  EXPECT_THAT(std::string(Message(run.Go().status())), HasSubstr("blacklist nouveau"));
}

TEST(ContainerInstallTest, AChosenFirmwareFolderStays) {
  const ContainerWorld world;
  world.dir().WriteFile("host/sys/module/firmware_class/parameters/path", "/theirs\n");

  const auto outcome = ContainerRun(world).Go();

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, ElementsAre(HasSubstr("is already configured")));
  EXPECT_EQ(world.dir().ReadFile("host/sys/module/firmware_class/parameters/path"), "/theirs\n");
}

// One container is killed at each action; the next one, with a root of its own, ends where an
// undisturbed one ends.
void KillAtEachAction(bool is_update) {
  const auto prepare = [is_update](const ContainerWorld& world) {
    if (is_update) {
      EXPECT_OK(ContainerRun(world).Go("old", kOldKernel, "470.1.1"));
      world.FreshContainer();
    }
  };
  const ContainerWorld undisturbed;
  prepare(undisturbed);
  ASSERT_OK(ContainerRun(undisturbed).Go());
  const auto wanted = undisturbed.Tree();
  bool is_killed = true;
  int lives = 0;
  for (; is_killed && lives < kMostContainerActions; ++lives) {
    const ContainerWorld world;
    prepare(world);
    {
      ContainerRun run(world, change::Fate(change::Fate::End::kDead, lives));
      const auto outcome = run.Go();
      is_killed = run.fate().is_dead();
      EXPECT_TRUE(is_killed || outcome.ok()) << outcome.status();
    }
    // A folder that is there is whole.
    if (world.host().Exists(kDriverFolder)) {
      EXPECT_OK(ParseStamp(world.dir().ReadFile("host/var/lib/kgpu/driver-root/kgpu-driver.json"),
                           "stamp"));
    }
    world.FreshContainer();
    ContainerRun next(world);
    ASSERT_OK(next.Go()) << lives;
    ASSERT_EQ(world.Tree(), wanted) << lives;
  }
  EXPECT_FALSE(is_killed);
  EXPECT_GT(lives, 20);
}

TEST(ContainerInstallTest, IsCompletedAfterAKillAtEachAction) {
  KillAtEachAction(false);
}

TEST(ContainerInstallTest, AnUpdateIsCompletedAfterAKillAtEachAction) {
  KillAtEachAction(true);
}

// What is left of the driver before is not taken for it by a container that wants it back.
TEST(ContainerInstallTest, WhoGoesBackAfterAKillAtEachActionHasTheWholeDriver) {
  const auto go_old = [](ContainerRun& run) { return run.Go("old", kOldKernel, "470.1.1"); };
  const ContainerWorld undisturbed;
  ContainerRun only(undisturbed);
  ASSERT_OK(go_old(only));
  const auto wanted = undisturbed.Tree();
  bool is_killed = true;
  int lives = 0;
  for (; is_killed && lives < kMostContainerActions; ++lives) {
    const ContainerWorld world;
    ContainerRun first(world);
    ASSERT_OK(go_old(first));
    world.FreshContainer();
    ContainerRun run(world, change::Fate(change::Fate::End::kDead, lives));
    EXPECT_TRUE(run.Go().ok() || run.fate().is_dead());
    is_killed = run.fate().is_dead();
    world.FreshContainer();
    ContainerRun back(world);
    ASSERT_OK(go_old(back)) << lives;
    ASSERT_EQ(world.Tree(), wanted) << lives;
  }
  EXPECT_FALSE(is_killed);
}

TEST(StampTest, IsReadAsItWasWritten) {
  const Stamp stamp{.kernels = {"6.1", "6.0"},
                    .version = "535.1",
                    .kind = driver::ModuleKind::kOpen,
                    .config = "module=open ID=\"debian\""};
  const auto read = ParseStamp(PrintStamp(stamp), "stamp");
  ASSERT_OK(read);
  EXPECT_EQ(*read, stamp);
  EXPECT_FALSE(ParseStamp("{\"format\": 2}", "stamp").ok());
  EXPECT_FALSE(ParseStamp("", "stamp").ok());
}

}  // namespace
}  // namespace kgpu::driver_install
