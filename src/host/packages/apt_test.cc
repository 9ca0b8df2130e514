#include "src/host/packages/apt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "src/host/packages/test_fake_debian.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::packages {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr const char* kPolicy = "usr/sbin/policy-rc.d";

class AptTest : public ::testing::Test {
 protected:
  AptTest() {
    for (const char* name : {"usr/bin/apt-get", "usr/bin/dpkg", "usr/bin/dpkg-query",
                             "var/lib/dpkg/status", "proc/version", "dev/null"}) {
      dir_.WriteFile(name, "");
    }
    dir_.MakeDir("usr/sbin");
    debian_.archive = {{"driver", {"535.1", {"library", "alternative"}}},
                       {"library", {"535.1", {"alternative"}}},
                       {"alternative", {"1.2", {}}},
                       {"dkms", {"3", {}}}};
    debian_.installed = {{"dkms", {'i', "3"}}, {"old", {'c', "1"}}};
  }
  void SetUp() override {
    StatusOr<sys::Root> root = sys::Root::Open(dir_.path());
    ASSERT_OK(root);
    root_ = std::make_unique<sys::Root>(*std::move(root));
    apt_ = std::make_unique<AptManager>(*root_, debian_);
  }

  TempDir dir_;
  FakeDebian debian_;
  std::unique_ptr<sys::Root> root_;
  std::unique_ptr<AptManager> apt_;
};

TEST_F(AptTest, InstallBringsWhatIsNeeded) {
  ASSERT_OK(apt_->Install({"driver"}));
  EXPECT_THAT(apt_->Installed(), IsOkAndHolds(UnorderedElementsAre(
                                     Pair("dkms", "3"), Pair("driver", "535.1"),
                                     Pair("library", "535.1"), Pair("alternative", "1.2"))));
}

TEST_F(AptTest, AsksNothingAndRemovesNothing) {
  ASSERT_OK(apt_->Install({"driver"}));
  const auto changes = debian_.Changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_THAT(
      changes[0],
      AllOf(Contains("-y"), Contains("--no-remove"), Contains("--no-install-recommends"),
            Contains("DPkg::Lock::Timeout=600"), Contains("DPkg::Options::=--force-confold"),
            Contains("APT::Keep-Downloaded-Packages=false")));
  EXPECT_THAT(debian_.requests.back().environment, Contains("DEBIAN_FRONTEND=noninteractive"));
  EXPECT_EQ(debian_.requests.back().root, dir_.path());
}

TEST_F(AptTest, LeavesWhatIsThereAsItIs) {
  ASSERT_OK(apt_->Install({"dkms"}));
  EXPECT_THAT(debian_.Changes(), IsEmpty());
}

TEST_F(AptTest, InstallsTheVersionAskedFor) {
  ASSERT_OK(apt_->Install({"library=535.1"}));
  EXPECT_THAT(debian_.Changes(),
              ElementsAre(AllOf(Contains("library=535.1"), Contains("--allow-downgrades"))));
  ASSERT_OK(apt_->Install({"library=535.1"}));
  EXPECT_EQ(debian_.Changes().size(), 1U);
}

TEST_F(AptTest, FailureNamesWhatAptSaid) {
  EXPECT_THAT(apt_->Install({"driver", "missing"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("apt-get"), HasSubstr("Unable to locate package missing"))));
  EXPECT_THAT(debian_.Changes(), IsEmpty());
}

TEST_F(AptTest, FailedConfigurationIsTakenBackWithTheCompilersWords) {
  debian_.broken_scripts = {"driver"};
  dir_.WriteFile("var/lib/dkms/driver/1/build/make.log",
                 "  CC [M] nv.o\nnv-pci.c:223: error: too few arguments\n");
  EXPECT_THAT(apt_->Install({"driver"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("error processing package driver"),
                             HasSubstr("nv-pci.c:223: error: too few arguments"))));
  EXPECT_THAT(debian_.installed, UnorderedElementsAre(Key("dkms"), Key("old")));
}

TEST_F(AptTest, WhatAptCannotTakeBackDpkgDoes) {
  debian_.broken_scripts = {"driver"};
  debian_.stubborn = {"driver"};
  EXPECT_THAT(apt_->Install({"driver"}), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(debian_.installed, UnorderedElementsAre(Key("dkms"), Key("old")));
}

TEST_F(AptTest, WhatOthersNeedIsNotTakenBack) {
  // Broken since an earlier run, it needs what comes only now, to be made whole.
  debian_.installed["driver"] = {'F', "535.1"};
  debian_.installed["library"] = {'i', "535.1"};
  debian_.archive["other"] = {"1", {"alternative"}};
  debian_.broken_scripts = {"driver", "other"};
  EXPECT_THAT(apt_->Install({"other"}), StatusIs(StatusCode::kFailedPrecondition,
                                                 HasSubstr("still installed: alternative, other")));
  EXPECT_THAT(debian_.installed, AllOf(Contains(Key("driver")), Contains(Key("library"))));
}

// As a module that does not build for the kernel: apt-get tries it whatever it installs, and fails.
TEST_F(AptTest, WhatWasBrokenBeforeAndIsNotAskedForHoldsUpNothing) {
  debian_.installed["driver"] = {'F', "535.1"};
  debian_.broken_scripts = {"driver"};
  debian_.archive["headers"] = {"6.1", {}};
  EXPECT_OK(apt_->Install({"headers"}));
  EXPECT_EQ(debian_.installed["headers"].state, 'i');
  EXPECT_OK(apt_->Install({"headers"})) << "which is there";
  EXPECT_THAT(apt_->Unfinished(), IsOkAndHolds(ElementsAre("driver")));
  EXPECT_THAT(apt_->Install({"driver"}), StatusIs(StatusCode::kFailedPrecondition));
}

TEST_F(AptTest, RunPastItsDeadlineIsTakenBack) {
  debian_.is_killed = true;
  EXPECT_THAT(apt_->Install({"driver"}), StatusIs(StatusCode::kDeadlineExceeded));
  EXPECT_THAT(debian_.installed, Not(Contains(Key("driver"))));
}

TEST(TailOfTest, HasTheLastLinesWhole) {
  std::string text;
  for (int i = 1; i <= 20; ++i) {
    text += fmt::format("line {} {} whole\n", i, std::string(300, 'x'));
  }
  const std::string tail = TailOf(text);
  EXPECT_THAT(tail, AllOf(HasSubstr("line 6 x"), HasSubstr("line 20 x"), Not(HasSubstr("line 5 x")),
                          testing::EndsWith(" whole")));
}

TEST_F(AptTest, LockOfAnotherIsWorthAnotherTry) {
  debian_.is_locked = true;
  EXPECT_THAT(apt_->Install({"driver"}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("another package manager")));
}

TEST_F(AptTest, WhatAnotherManagerBringsMeanwhileIsNotTakenBack) {
  debian_.is_locked = true;
  EXPECT_THAT(apt_->Install({"driver"}), StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(debian_.installed, Contains(Key("of-another")));
}

TEST_F(AptTest, WhatAnotherInstallsWhileOursFailsStays) {
  debian_.meanwhile = {{"nginx", {'i', "1"}}};
  debian_.broken_scripts = {"driver"};
  EXPECT_THAT(apt_->Install({"driver"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("all packages installed with it are removed")));
  EXPECT_THAT(debian_.installed, UnorderedElementsAre(Key("dkms"), Key("old"),
                                                      Pair("nginx", FakeDebian::Entry{'i', "1"})));
}

TEST_F(AptTest, ForeseesWhatAnInstallationBrings) {
  EXPECT_THAT(apt_->Foresee({"driver", "dkms"}),
              IsOkAndHolds(Foreseen{{"driver", "library", "alternative"}, {}}));
  EXPECT_THAT(debian_.Changes(), IsEmpty());
}

TEST_F(AptTest, ForeseesNothingWhereAllIsThere) {
  EXPECT_THAT(apt_->Foresee({"dkms"}), IsOkAndHolds(Foreseen()));
}

TEST_F(AptTest, ForeseesWhatHasItsConfigurationStill) {
  debian_.archive["old"] = {"2", {}};
  EXPECT_THAT(apt_->Foresee({"old"}), IsOkAndHolds(Foreseen{{"old"}, {"old"}}));
}

TEST_F(AptTest, FailureLeavesConfigurationThatWasThereBefore) {
  debian_.archive["old"] = {"2", {"library"}};
  debian_.broken_scripts = {"library"};
  EXPECT_THAT(apt_->Install({"old"}), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(debian_.installed,
              UnorderedElementsAre(Key("dkms"), Pair("old", FakeDebian::Entry{'c', "2"})));
}

TEST_F(AptTest, FinishesWhatAKilledRunLeft) {
  debian_.installed["library"] = {'U', "535.1"};
  ASSERT_OK(apt_->Install({"dkms"}));
  EXPECT_EQ(debian_.installed["library"].state, 'i');
  EXPECT_THAT(debian_.Changes(), ElementsAre(AllOf(Contains("--configure"), Contains("-a"))));
}

TEST_F(AptTest, FinishesWhatDpkgOnlyNoted) {
  dir_.WriteFile("var/lib/dpkg/updates/0001", "Package: library\n");
  ASSERT_OK(apt_->Install({"driver"}));
  EXPECT_THAT(debian_.Changes(), ElementsAre(Contains("--configure"), Contains("install")));
}

TEST_F(AptTest, HalfInstalledPackagesAreReported) {
  debian_.installed["driver"] = {'F', "535.1"};
  EXPECT_THAT(apt_->Installed(), IsOkAndHolds(Contains(Key("driver"))));
}

TEST_F(AptTest, RemovesExactlyThese) {
  ASSERT_OK(apt_->Install({"driver"}));
  ASSERT_OK(apt_->Remove({"driver", "library", "alternative", "never-there"}));
  EXPECT_THAT(debian_.installed, UnorderedElementsAre(Key("dkms"), Key("old")));
}

TEST_F(AptTest, RefusesRemovalThatTakesOthersAlong) {
  ASSERT_OK(apt_->Install({"driver"}));
  EXPECT_THAT(apt_->Remove({"library"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("driver")));
  EXPECT_THAT(debian_.installed, Contains(Key("library")));
}

TEST_F(AptTest, RefusesToRemoveWhatIsBrokenAndNeeded) {
  debian_.installed["driver"] = {'i', "535.1"};
  debian_.installed["library"] = {'H', "535.1"};
  debian_.installed["alternative"] = {'i', "1.2"};
  debian_.stubborn = {"library"};
  EXPECT_THAT(apt_->Remove({"alternative", "library"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("driver depends on it")));
  EXPECT_THAT(debian_.installed, AllOf(Contains(Key("alternative")), Contains(Key("library"))));
}

TEST_F(AptTest, RemovesWhatAptCallsBroken) {
  debian_.installed["library"] = {'H', "535.1"};
  debian_.stubborn = {"library"};
  ASSERT_OK(apt_->Remove({"library"}));
  EXPECT_THAT(debian_.installed, Not(Contains(Key("library"))));
}

TEST_F(AptTest, RemovalBuildsNothingFirst) {
  debian_.installed["driver"] = {'F', "535.1"};
  ASSERT_OK(apt_->Remove({"driver"}));
  EXPECT_THAT(debian_.argvs, Not(Contains(Contains("--configure"))));
  EXPECT_THAT(debian_.installed, Not(Contains(Key("driver"))));
}

TEST_F(AptTest, RemovalOfNothingRunsNothing) {
  ASSERT_OK(apt_->Remove({"never-there"}));
  EXPECT_THAT(debian_.Changes(), IsEmpty());
}

TEST_F(AptTest, RefusesNamesThatMeanSomethingElse) {
  for (const char* name : {"", "--force-yes", "driver-", "nvidia-*", "a b", "https://x/y.deb"}) {
    EXPECT_THAT(apt_->Install({name}), StatusIs(StatusCode::kInvalidArgument)) << name;
  }
  EXPECT_THAT(debian_.argvs, IsEmpty());
}

TEST_F(AptTest, RefusesARootWithoutProc) {
  ASSERT_EQ(unlink(dir_.At("proc/version").c_str()), 0);
  EXPECT_THAT(apt_->Install({"driver"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("mount -t proc")));
}

TEST_F(AptTest, RefusesARootWithoutDevices) {
  ASSERT_EQ(unlink(dir_.At("dev/null").c_str()), 0);
  EXPECT_THAT(apt_->Install({"driver"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr(fmt::format("{0}/dev has no devices: mount --bind /dev {0}/dev",
                                             dir_.path()))));
  EXPECT_THAT(debian_.argvs, IsEmpty());
}

TEST_F(AptTest, KeepsServicesFromStartingOnlyMeanwhile) {
  ASSERT_OK(apt_->Install({"driver"}));
  EXPECT_FALSE(root_->Exists(kPolicy));
}

TEST_F(AptTest, LeavesAPolicyThatIsThere) {
  dir_.WriteFile(kPolicy, "#!/bin/sh\nexit 0\n");
  ASSERT_OK(apt_->Install({"driver"}));
  EXPECT_EQ(dir_.ReadFile(kPolicy), "#!/bin/sh\nexit 0\n");
}

TEST_F(AptTest, TellsWhatWouldGoWithARemoval) {
  ASSERT_OK(apt_->Install({"driver"}));
  const auto before = debian_.installed;

  EXPECT_THAT(apt_->GoWith({"alternative"}),
              IsOkAndHolds(UnorderedElementsAre("driver", "library")));
  EXPECT_THAT(apt_->GoWith({"driver", "library"}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(apt_->GoWith({"absent"}), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(debian_.installed, before);
}

TEST_F(AptTest, TakingOffLeavesTheConfiguration) {
  ASSERT_OK(apt_->Install({"driver"}));

  EXPECT_THAT(apt_->TakeOff({"alternative"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("would also change others")));
  ASSERT_OK(apt_->TakeOff({"driver", "library", "old"}));

  EXPECT_EQ(debian_.installed["driver"].state, 'c');
  EXPECT_THAT(apt_->Installed(),
              IsOkAndHolds(UnorderedElementsAre(Pair("dkms", "3"), Pair("alternative", "1.2"))));
}

}  // namespace
}  // namespace kgpu::packages
