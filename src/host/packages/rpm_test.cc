#include "src/host/packages/rpm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::packages {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

// A host of rpm: an installation of a name brings the packages behind it in `archive`.
class FakeRpmHost final : public sys::ProgramRunner {
 public:
  std::map<std::string, std::set<std::string>> archive;
  std::set<std::string> installed;  // lines of rpm's answer
  std::string needs;                // what rpm --erase --test objects
  int install_code = 0;
  int trial_code = 0;  // of a trial that is no success by itself
  std::string install_text;
  std::set<std::string> front_takes;  // lines of what the front removes besides, and rpm would not
  std::set<std::string> meanwhile;    // lines of what another installs during our installation
  std::string verified;               // what rpm --verify prints
  std::vector<std::vector<std::string>> looks;
  std::vector<std::vector<std::string>> argvs;
  std::vector<std::vector<std::string>> trials;

  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    const std::vector<std::string>& argv = request.argv;
    sys::RunResult result;
    result.exit.code = 0;
    if (argv[1] == "-qa") {
      for (const std::string& line : installed) {
        result.out += fmt::format("{}\n", line);
      }
      return result;
    }
    const auto has = [&argv](const char* word) {
      return std::ranges::find(argv, word) != argv.end();
    };
    if (has("--assumeno") || has("--dry-run")) {
      trials.push_back(argv);
      return Trial(argv);
    }
    if (has("--verify")) {
      looks.push_back(argv);
      result.out = verified;
      result.exit.code = 1;
      return result;
    }
    argvs.push_back(argv);
    if (has("--test")) {
      result.exit.code = needs.empty() ? 0 : 1;
      result.err = needs;
    } else if (has("install")) {
      installed.insert(meanwhile.begin(), meanwhile.end());
      Install(argv);
      result.exit.code = install_code;
      result.out = install_text;
    } else if (std::ranges::find(argv, "remove") != argv.end() || argv[1] == "--erase") {
      Erase(argv);
    }
    return result;
  }

 private:
  sys::RunResult Trial(const std::vector<std::string>& argv) const {
    sys::RunResult result;
    const bool is_xml = std::ranges::find(argv, "--xmlout") != argv.end();
    const bool is_removal = std::ranges::find(argv, "remove") != argv.end();
    for (const std::string& name : argv) {
      const auto found = archive.find(name);
      std::set<std::string> lines =
          found == archive.end() ? std::set<std::string>() : found->second;
      if (is_removal) {
        lines = name == "remove" ? front_takes : LinesOf(name);
      }
      for (const std::string& line : lines) {
        const std::vector<std::string_view> fields = Split(line, '\t');
        result.out += is_xml
                          ? fmt::format(
                                "<solvable type=\"package\" name=\"{}\" edition=\"{}\" "
                                "arch=\"{}\"/>\n",
                                fields[0], fields[1], fields[2])
                          : fmt::format(" {} {} {} baseos 1 M\n", fields[0], fields[2], fields[1]);
      }
    }
    result.exit.code = is_xml ? 0 : 1;
    result.err = is_xml ? "" : "Operation aborted.\n";
    if (trial_code != 0) {
      result.exit.code = trial_code;
      result.err = "Error: Unable to find a match: missing\n";
    }
    return result;
  }
  void Install(const std::vector<std::string>& argv) {
    for (const std::string& name : argv) {
      if (const auto found = archive.find(name); found != archive.end()) {
        installed.insert(found->second.begin(), found->second.end());
      }
    }
  }
  // What is installed of that name, which may have a version behind it.
  std::set<std::string> LinesOf(std::string name) const {
    std::ranges::replace(name, '=', '-');
    std::set<std::string> lines;
    for (const std::string& line : installed) {
      std::string text = line;
      std::ranges::replace(text, '\t', '-');
      if (text.starts_with(fmt::format("{}-", name))) {
        lines.insert(line);
      }
    }
    return lines;
  }
  void Erase(const std::vector<std::string>& argv) {
    for (const std::string& name : argv) {
      for (const std::string& line : LinesOf(name)) {
        installed.erase(line);
      }
    }
  }
};

class RpmTest : public ::testing::Test {
 protected:
  RpmTest() {
    dir_.WriteFile("usr/bin/rpm", "");
    dir_.WriteFile("proc/version", "");
    dir_.WriteFile("dev/null", "");
    host_.archive = {{"driver", {"driver\t3:580-1\tx86_64", "library\t3:580-1\tx86_64"}},
                     {"driver-580-1", {"driver\t3:580-1\tx86_64"}}};
    host_.installed = {"rpm\t4.16-1\tx86_64", "kernel\t5.14-1\tx86_64", "dkms\t3-1\tnoarch"};
  }
  void SetUp() override {
    StatusOr<sys::Root> root = sys::Root::Open(dir_.path());
    ASSERT_OK(root);
    root_ = std::make_unique<sys::Root>(*std::move(root));
  }
  RpmManager Manager(Front front = Front::kDnf, const std::string& program = "/usr/bin/dnf") {
    return RpmManager(*root_, host_, front, program);
  }

  TempDir dir_;
  FakeRpmHost host_;
  std::unique_ptr<sys::Root> root_;
};

TEST_F(RpmTest, DnfInstallsWithoutAsking) {
  RpmManager manager = Manager();
  ASSERT_OK(manager.Install({"driver"}));
  EXPECT_THAT(host_.argvs, ElementsAre(ElementsAre("/usr/bin/dnf", "-y", "install", "driver")));
  EXPECT_THAT(manager.Installed(),
              IsOkAndHolds(UnorderedElementsAre(Key("rpm"), Key("kernel-5.14-1"), Key("dkms"),
                                                Key("driver"), Key("library"))));
}

TEST_F(RpmTest, ZypperInstallsWithoutAsking) {
  ASSERT_OK(Manager(Front::kZypper, "/usr/bin/zypper").Install({"driver"}));
  EXPECT_THAT(host_.argvs,
              ElementsAre(ElementsAre("/usr/bin/zypper", "--non-interactive", "install",
                                      "--auto-agree-with-licenses", "--oldpackage", "driver")));
}

TEST_F(RpmTest, LeavesWhatIsThereAsItIs) {
  ASSERT_OK(Manager().Install({"dkms", "dkms=3-1", "dkms-3", "kernel-5.14-1.x86_64"}));
  EXPECT_THAT(host_.argvs, IsEmpty());
}

TEST_F(RpmTest, DnfGetsAVersionBehindAMinus) {
  ASSERT_OK(Manager().Install({"driver=580-1"}));
  EXPECT_THAT(host_.argvs, ElementsAre(Contains("driver-580-1")));
}

TEST_F(RpmTest, WhatWasReplacedIsAskedForAsTheProgramKnowsIt) {
  RpmManager dnf = Manager();
  ASSERT_OK(dnf.Install({"kernel-devel-5.14-2=5.14-2", "glibc:i686=2.34-1", "driver=3:570-1"}));
  EXPECT_THAT(host_.argvs.back(),
              IsSupersetOf({"kernel-devel-5.14-2", "glibc-2.34-1.i686", "driver-3:570-1"}));
  RpmManager zypper = Manager(Front::kZypper, "/usr/bin/zypper");
  ASSERT_OK(zypper.Install({"kernel-devel-5.14-2=5.14-2", "glibc:i686=2.34-1", "driver=3:570-1"}));
  EXPECT_THAT(host_.argvs.back(),
              IsSupersetOf({"kernel-devel=5.14-2", "glibc.i686=2.34-1", "driver=3:570-1"}));
}

TEST_F(RpmTest, WhatCameBackIsNotAskedForAgain) {
  host_.installed.insert({"glibc\t2.34-1\ti686", "driver\t3:570-1\tx86_64"});
  ASSERT_OK(Manager().Install({"kernel-5.14-1=5.14-1", "glibc:i686=2.34-1", "driver=3:570-1"}));
  EXPECT_THAT(host_.argvs, IsEmpty());
}

TEST_F(RpmTest, ABoundStaysABound) {
  ASSERT_OK(Manager(Front::kZypper, "/usr/bin/zypper").Install({"driver<581"}));
  EXPECT_THAT(host_.argvs.back(), Contains("driver<581"));
}

TEST_F(RpmTest, ForeseesWhatAnInstallationBrings) {
  EXPECT_THAT(Manager().Foresee({"driver", "dkms"}),
              IsOkAndHolds(Foreseen{{"driver", "library"}, {}}));
  EXPECT_THAT(host_.trials,
              ElementsAre(ElementsAre("/usr/bin/dnf", "--assumeno", "install", "driver")));
  EXPECT_THAT(Manager(Front::kZypper, "/usr/bin/zypper").Foresee({"driver"}),
              IsOkAndHolds(Foreseen{{"driver", "library"}, {}}));
  EXPECT_THAT(host_.trials.back(), IsSupersetOf({"--xmlout", "--dry-run", "--non-interactive"}));
  EXPECT_THAT(host_.argvs, IsEmpty());
}

TEST_F(RpmTest, TrialThatFailsChangesNothing) {
  host_.trial_code = 1;
  EXPECT_THAT(Manager().Install({"driver", "missing"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("Unable to find a match")));
  EXPECT_THAT(host_.argvs, IsEmpty());
}

TEST_F(RpmTest, WhatAnotherInstallsWhileOursFailsStays) {
  host_.meanwhile = {"nginx\t1-1\tx86_64"};
  host_.install_code = 1;
  EXPECT_THAT(Manager().Install({"driver"}), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_EQ(host_.installed.size(), 4U);
  EXPECT_THAT(host_.installed, Contains("nginx\t1-1\tx86_64"));
}

TEST_F(RpmTest, WhatOthersNeedByNowIsNotTakenBack) {
  host_.install_code = 1;
  host_.needs = "error: Failed dependencies:\n\tdriver is needed by (installed) app-1-1.x86_64\n";
  EXPECT_THAT(
      Manager().Install({"driver"}),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("still installed: driver, library")));
}

TEST_F(RpmTest, KeyThatCameWithItGoesWithIt) {
  host_.archive["driver"].insert("gpg-pubkey\taa-bb\t(none)");
  host_.install_code = 1;
  EXPECT_THAT(Manager().Install({"driver"}), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_EQ(host_.installed.size(), 3U);
}

TEST_F(RpmTest, LocksOfOtherManagersAreWorthAnotherTry) {
  host_.install_code = 200;  // dnf 4
  EXPECT_THAT(Manager().Install({"driver"}), StatusIs(StatusCode::kUnavailable));
  host_.install_code = 1;
  host_.install_text =
      "Failed to obtain rpm transaction lock. Another transaction is in progress.\n";
  EXPECT_THAT(Manager().Install({"dkms", "missing"}), StatusIs(StatusCode::kUnavailable));  // dnf 5
}

TEST_F(RpmTest, FailureIsTakenBackAndNamesTheReason) {
  host_.install_code = 1;
  host_.install_text = "Error: Transaction failed\n";
  EXPECT_THAT(Manager().Install({"driver"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("/usr/bin/dnf: install driver: exit code 1"),
                             HasSubstr("Transaction failed"),
                             HasSubstr("all packages installed with it are removed"))));
  EXPECT_EQ(host_.installed.size(), 3U);
}

TEST_F(RpmTest, YumThatPassesANameOverHasFailed) {
  host_.install_text = "No package missing available.\n";
  EXPECT_THAT(Manager(Front::kYum, "/usr/bin/yum").Install({"driver", "missing"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("No package missing")));
  EXPECT_EQ(host_.installed.size(), 3U);
}

TEST_F(RpmTest, ZypperThatRequestsARestartIsContent) {
  host_.install_code = 102;
  EXPECT_OK(Manager(Front::kZypper, "/usr/bin/zypper").Install({"driver"}));
}

TEST_F(RpmTest, ScriptThatFailsUnderZypperIsAFailure) {
  host_.install_code = 107;
  EXPECT_THAT(Manager(Front::kZypper, "/usr/bin/zypper").Install({"driver"}),
              StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_EQ(host_.installed.size(), 3U);
}

TEST_F(RpmTest, LockOfAnotherZypperIsWorthAnotherTry) {
  host_.install_code = 7;
  EXPECT_THAT(Manager(Front::kZypper, "/usr/bin/zypper").Install({"missing"}),
              StatusIs(StatusCode::kUnavailable));
}

TEST_F(RpmTest, WhatAnotherManagerBringsMeanwhileIsNotTakenBack) {
  host_.install_code = 7;  // locked; what is there afterwards is of who holds the lock
  EXPECT_THAT(Manager(Front::kZypper, "/usr/bin/zypper").Install({"driver"}),
              StatusIs(StatusCode::kUnavailable));
  EXPECT_GT(host_.installed.size(), 3U);
}

TEST_F(RpmTest, RemovesExactlyThese) {
  RpmManager manager = Manager();
  ASSERT_OK(manager.Install({"driver"}));
  ASSERT_OK(manager.Remove({"driver", "library", "never-there"}));
  EXPECT_EQ(host_.installed.size(), 3U);
  EXPECT_THAT(host_.argvs.back(),
              ElementsAre("/usr/bin/dnf", "-y", "--setopt=clean_requirements_on_remove=False",
                          "remove", "driver", "library"));
}

TEST_F(RpmTest, ZypperGetsTheVersionOfAKernel) {
  host_.installed.insert("kernel\t5.14-2\tx86_64");
  ASSERT_OK(Manager(Front::kZypper, "/usr/bin/zypper").Remove({"kernel-5.14-2"}));
  EXPECT_THAT(host_.argvs.back(), Contains("kernel=5.14-2"));
  EXPECT_THAT(host_.installed, Contains("kernel\t5.14-1\tx86_64"));
}

TEST_F(RpmTest, KeysGoByRpmItself) {
  host_.installed.insert("gpg-pubkey\taa-bb\t(none)");
  ASSERT_OK(Manager().Remove({"gpg-pubkey-aa-bb"}));
  EXPECT_THAT(host_.argvs.back(), ElementsAre("/usr/bin/rpm", "--erase", "gpg-pubkey-aa-bb"));
}

TEST_F(RpmTest, RefusesRemovalThatOthersWouldFeel) {
  host_.needs =
      "error: Failed dependencies:\n\tdkms is needed by (installed) driver-580-1.x86_64\n";
  EXPECT_THAT(Manager().Remove({"dkms"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("driver-580-1.x86_64")));
  EXPECT_EQ(host_.installed.size(), 3U);
}

// dnf and zypper have rules besides what packages need of each other.
TEST_F(RpmTest, RefusesRemovalWithWhichTheFrontWouldTakeOthers) {
  host_.front_takes = {"kernel\t5.14-1\tx86_64"};
  for (const Front front : {Front::kDnf, Front::kYum, Front::kZypper}) {
    EXPECT_THAT(Manager(front, "/usr/bin/front").Remove({"dkms"}),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("/usr/bin/front: removing dkms"), HasSubstr("kernel"))));
    EXPECT_THAT(Manager(front).GoWith({"dkms"}), IsOkAndHolds(ElementsAre("kernel")));
  }
  EXPECT_EQ(host_.installed.size(), 3U);
  EXPECT_THAT(host_.trials.front(),
              ElementsAre("/usr/bin/front", "--assumeno",
                          "--setopt=clean_requirements_on_remove=False", "remove", "dkms"));
}

TEST_F(RpmTest, ZypperIsAskedWithoutReadingItsRepositoriesWhatARemovalTakes) {
  host_.installed.insert("kernel\t5.14-2\tx86_64");
  EXPECT_THAT(Manager(Front::kZypper, "/usr/bin/zypper").GoWith({"kernel-5.14-2"}),
              IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(host_.trials.back(),
              ElementsAre("/usr/bin/zypper", "--non-interactive", "--no-refresh", "--xmlout",
                          "remove", "--dry-run", "--no-clean-deps", "kernel=5.14-2"));
}

TEST_F(RpmTest, RemovalThatTheFrontRefusesIsNotBegun) {
  host_.trial_code = 1;
  EXPECT_THAT(Manager().Remove({"dkms"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("/usr/bin/dnf: remove dkms")));
  EXPECT_EQ(host_.installed.size(), 3U);
}

TEST_F(RpmTest, TellsWhatWouldGoWithARemovalAsItsOwnListNamesIt) {
  host_.installed.insert("driver\t3:580-1\tx86_64");
  host_.needs =
      "error: Failed dependencies:\n\tdkms is needed by (installed) driver-3:580-1.x86_64\n"
      "\tdkms is needed by (installed) kernel-5.14-1.x86_64\n";
  EXPECT_THAT(Manager().GoWith({"dkms"}), IsOkAndHolds(ElementsAre("driver", "kernel-5.14-1")));
  EXPECT_THAT(Manager().GoWith({"absent"}), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(host_.installed.size(), 4U);
}

TEST_F(RpmTest, TellsWhatConfigurationWasChanged) {
  host_.verified = "S.5....T.  c /etc/dkms/framework.conf\n";
  EXPECT_THAT(Manager().ChangedConfigs({"dkms", "absent"}),
              IsOkAndHolds(ElementsAre("/etc/dkms/framework.conf")));
  EXPECT_THAT(host_.looks, ElementsAre(ElementsAre("/usr/bin/rpm", "--verify", "--nodeps",
                                                   "--noscripts", "dkms")));
  EXPECT_THAT(Manager().ChangedConfigs({"absent"}), IsOkAndHolds(IsEmpty()));
}

}  // namespace
}  // namespace kgpu::packages
