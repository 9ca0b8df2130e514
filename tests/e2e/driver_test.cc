// kgpu driver install and its kin on a host that is a folder: what is written there, what comes
// back, and how the program exits. Packages are for tests of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>
#include <boost/json.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/terminal.h"

namespace kgpu::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A plan of one file, as an earlier run left it: before its step, its step done, or half undone.
constexpr std::string_view kJournal = R"({"format": 1, "phase": "PHASE", "began": 1700000000,
  "failure": "", "steps": [{"state": "STATE", "wasDone": false, "note": "",
    "file": FILE, "folders": [], "packagesBefore": {}, "came": {}, "replaced": {}, "units": [],
    "enabled": [], "modules": [], "bootId": ""}],
  "plan": {"version": "535", "module": "open", "source": "distribution", "kernel": "6.1.0-56-amd64",
    "why": [], "notes": [], "steps": [{"id": "one", "title": "write a file", "source": "page",
      "action": "write-file", "of": {"path": "/etc/one", "text": "ours\n", "mode": 420}}]}})";

constexpr const char* kNothingBefore =
    R"({"kind": "absent", "backup": "", "target": "", "mode": 420, "uid": 0, "gid": 0})";

std::string Replaced(std::string text, std::string_view word, std::string_view by) {
  return text.replace(text.find(word), word.size(), by);
}

// What debootstrap and the kernel's headers leave in a folder, without any program.
class DriverTest : public ::testing::Test {
 protected:
  DriverTest() {
    dir_.WriteFile("etc/os-release",
                   "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"
                   "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    dir_.WriteFile("etc/apt/sources.list", "deb http://mirror.example/debian bookworm main\n");
    dir_.WriteFile("lib/modules/6.1.0-56-amd64/build/Makefile", "");
    dir_.WriteFile("var/lib/dpkg/status", "");
    dir_.MakeDir("usr");
  }

  Result Kgpu(const std::string& verb, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv = {"kgpu", "driver", verb, "--host-root", dir_.path()};
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProgram(std::move(argv));
  }
  Result Install(const std::vector<std::string>& more) const {
    std::vector<std::string> argv = {"--offline", "--gpu", "turing"};
    argv.insert(argv.end(), more.begin(), more.end());
    return Kgpu("install", argv);
  }
  void WriteJournal(std::string_view phase, std::string_view state, std::string_view file) const {
    std::string text = Replaced(std::string(kJournal), "PHASE", phase);
    text = Replaced(std::move(text), "STATE", state);
    dir_.WriteFile("var/lib/kgpu/driver.json", Replaced(std::move(text), "FILE", file));
  }
  std::map<std::string, std::string> Tree() const {
    std::map<std::string, std::string> tree;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
      const std::string path = fs::relative(entry.path(), dir_.path());
      tree[path] = entry.is_regular_file() ? dir_.ReadFile(path) : "";
    }
    tree.erase("var/lib/kgpu");  // the lock is on it; what is in it counts
    return tree;
  }

  TempDir dir_;
};

TEST_F(DriverTest, ADryRunPrintsThePlanAndTouchesNothing) {
  const auto before = Tree();
  const Result dry = Install({"--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(dry.out, Kgpu("plan", {"--offline", "--gpu", "turing"}).out);
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, NothingIsInstalledUnasked) {
  const auto before = Tree();
  const Result result = Install({});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("Install driver 535? Cannot ask without a terminal: use --yes"));
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, AStepThatFailsTakesAllBack) {
  const auto before = Tree();
  const Result result = Install({"--yes"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("1/6 keep nouveau from loading\n"), HasSubstr("undo: keep nouveau"),
                    HasSubstr("step 3 of 6, package-lists: /usr/bin/apt-get"),
                    HasSubstr("all steps were undone")));
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, WhatIsKeptIsReportedAndRolledBack) {
  const auto before = Tree();
  EXPECT_THAT(Install({"--yes", "--keep"}).err, HasSubstr("the completed steps are kept"));
  EXPECT_THAT(dir_.ReadFile("etc/modprobe.d/kgpu-nouveau.conf"), HasSubstr("blacklist nouveau"));
  const Result status = Kgpu("status", {"--output", "json"});
  EXPECT_EQ(status.code, 7);
  const auto json = doc::Parse(status.out, doc::Format::kJson, "status");
  ASSERT_OK(json);
  EXPECT_EQ(json->at("installation").at("step"), "package-lists");

  EXPECT_EQ(Kgpu("rollback").code, 2) << "unasked";
  const Result back = Kgpu("rollback", {"--yes"});

  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_THAT(back.out, HasSubstr("the installation of driver 535 was undone"));
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, GoesOnWithWhatAnEarlierRunBegan) {
  const auto before = Tree();
  WriteJournal("installing", "doing", kNothingBefore);

  const Result on = Kgpu("install", {"--resume", "--yes"});

  EXPECT_EQ(on.code, 0) << on.err;
  EXPECT_EQ(on.out, "driver 535 is installed\n");
  EXPECT_EQ(dir_.ReadFile("etc/one"), "ours\n");
  EXPECT_EQ(Kgpu("rollback", {"--yes"}).code, 6) << "it is finished";
  EXPECT_EQ(Kgpu("remove", {"--yes"}).code, 0);
  EXPECT_EQ(Tree(), before);
}

const std::vector<std::pair<std::vector<std::string>, std::string>> kOtherRequests = {
    {{"--module", "proprietary"}, "its modules are the open ones, not the proprietary ones"},
    {{"--source", "nvidia"}, "its source is distribution, not nvidia"},
    {{"--cuda", "12.4"}, "CUDA 12.4 needs driver 550.54.14 or newer"},
    {{"--branch", "580"}, "it is not 580"},
    {{"--display"}, "not display"}};

TEST_F(DriverTest, WhatIsInstalledGivesWayToAnotherRequest) {
  WriteJournal("installed", "done", kNothingBefore);
  const auto before = Tree();
  for (const auto& [flags, reason] : kOtherRequests) {
    SCOPED_TRACE(reason);
    std::vector<std::string> argv = flags;
    argv.emplace_back("--dry-run");
    const Result dry = Install(argv);
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.err,
                AllOf(HasSubstr("driver 535, installed by kgpu, is replaced"), HasSubstr(reason)));
    EXPECT_THAT(dry.out, HasSubstr("# install packages: "));
  }
  EXPECT_EQ(Tree(), before);
  EXPECT_EQ(Install({"--yes", "--module", "open", "--branch", "535"}).code, 0);
}

// As the unit calls that goes on after a restart: a person may have gone back meanwhile.
TEST_F(DriverTest, WhatOnlyGoesOnReplacesNothing) {
  WriteJournal("installed", "done", kNothingBefore);
  const auto before = Tree();
  const Result result = Install({"--resume", "--yes", "--branch", "580"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("nothing was changed"));
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, TheOtherKindOfModulesKeepsBranchAndSource) {
  WriteJournal("installed", "done", kNothingBefore);
  const Result dry = Install({"--module", "proprietary", "--dry-run"});
  EXPECT_THAT(dry.out, AllOf(HasSubstr("# driver 535, proprietary modules"),
                             HasSubstr("options not given keep the values of driver 535")));
}

// The plan named the branch only.
TEST_F(DriverTest, AnotherVersionOfTheBranchIsAnotherRequest) {
  WriteJournal("installed", "done", kNothingBefore);
  dir_.WriteFile("usr/lib/x86_64-linux-gnu/libcuda.so.535.309.01", "");
  EXPECT_THAT(Install({"--version", "535.104.05", "--dry-run"}).err,
              HasSubstr("it is not 535.104.05"));
  EXPECT_EQ(Install({"--version", "535.309.01", "--dry-run"}).code, 0);
}

TEST_F(DriverTest, WhatIsInstalledStaysWhereAnotherFails) {
  dir_.WriteFile("etc/one", "ours\n");
  WriteJournal("installed", "done", kNothingBefore);
  const std::string status = Kgpu("status", {"--output", "json"}).out;

  const Result other = Install({"--yes", "--branch", "580"});

  EXPECT_EQ(other.code, 6);
  EXPECT_THAT(other.err, AllOf(HasSubstr("apt-get"), HasSubstr("all steps were undone"),
                               HasSubstr("driver 535 is installed again")));
  EXPECT_EQ(Kgpu("status", {"--output", "json"}).out, status);
  EXPECT_EQ(dir_.ReadFile("etc/one"), "ours\n");
}

TEST_F(DriverTest, WhatIsBegunDoesNotGiveWay) {
  WriteJournal("installing", "doing", kNothingBefore);
  for (const auto& [flags, reason] : kOtherRequests) {
    SCOPED_TRACE(reason);
    for (const char* how : {"--yes", "--dry-run"}) {
      std::vector<std::string> argv = flags;
      argv.emplace_back(how);
      const Result other = Install(argv);
      EXPECT_EQ(other.code, 6);
      EXPECT_THAT(other.err, AllOf(HasSubstr(reason), HasSubstr("kgpu driver rollback")));
    }
  }
}

// 580 that replaced 535, each of one file.
TEST_F(DriverTest, RollbackInstallsTheDriverBeforeAgainAndRemoveNone) {
  const auto before = Tree();
  WriteJournal("installed", "done", kNothingBefore);
  const std::string old = dir_.ReadFile("var/lib/kgpu/driver.json");
  const std::string plan = old.substr(old.find(R"("plan":)"));
  std::string text = Replaced(Replaced(old, R"("535")", R"("580")"), "/etc/one", "/etc/two");
  text.insert(1, fmt::format(R"("former": {{"began": 1600000000, {}}}, )",
                             plan.substr(0, plan.size() - 1)));
  const auto install = [&] {
    dir_.WriteFile("etc/two", "ours\n");
    dir_.WriteFile("var/lib/kgpu/driver.json", text);
  };

  install();
  EXPECT_THAT(Kgpu("rollback").err, HasSubstr("Then driver 535 is installed again."));
  const Result back = Kgpu("rollback", {"--yes"});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_EQ(back.out,
            "the installation of driver 580 was undone: the host is as it was before, with driver "
            "535, installed by kgpu\n");
  EXPECT_EQ(dir_.ReadFile("etc/one"), "ours\n");
  EXPECT_FALSE(fs::exists(dir_.At("etc/two")));
  EXPECT_EQ(Kgpu("rollback", {"--yes"}).code, 6) << "it replaced no driver";
  EXPECT_EQ(Kgpu("remove", {"--yes"}).code, 0);

  install();
  const Result removed = Kgpu("remove", {"--yes"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_EQ(removed.out,
            "the installation of driver 580 was undone: the host is as it was before\n");
  EXPECT_EQ(Tree(), before);
}

// As a kill between the removal of a driver and the installation of another one leaves it.
TEST_F(DriverTest, ADriverThatGaveWayIsInstalledAgainUnlessAnotherIsRequested) {
  const auto before = Tree();
  for (const char* verb : {"install", "rollback"}) {
    SCOPED_TRACE(verb);
    WriteJournal("removed", "pending", "null");
    EXPECT_EQ(Kgpu("status").code, 7);
    EXPECT_EQ(Kgpu(verb, {"--yes"}).code, 0);
    EXPECT_EQ(dir_.ReadFile("etc/one"), "ours\n");
    EXPECT_EQ(Kgpu("remove", {"--yes"}).code, 0);
  }
  WriteJournal("removed", "pending", "null");
  EXPECT_THAT(Install({"--branch", "580"}).err, HasSubstr("Install driver 580?"));
  EXPECT_EQ(Kgpu("install", {"--resume", "--yes"}).code, 0);
  EXPECT_EQ(Kgpu("remove", {"--yes"}).code, 0);
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, SeveralDriversOfAnOlderKgpuAreNotTouched) {
  WriteJournal("installed", "done", kNothingBefore);
  std::string text = dir_.ReadFile("var/lib/kgpu/driver.json");
  text.insert(1, R"("below": [], )");
  dir_.WriteFile("var/lib/kgpu/driver.json", text);
  const Result removed = Kgpu("remove", {"--yes"});
  EXPECT_EQ(removed.code, 6);
  EXPECT_THAT(removed.err, HasSubstr("run kgpu driver remove with that kgpu"));
}

// As a kernel update leaves it: the plan's kernel has the module, the one that is to run has none.
TEST_F(DriverTest, InstallVerifiesWhatIsInstalledAsVerifyDoes) {
  std::string text = Replaced(std::string(kJournal), "PHASE", "installed");
  text = Replaced(Replaced(std::move(text), "STATE", "done"), "FILE", kNothingBefore);
  text = Replaced(std::move(text), R"("action": "write-file", "of": {"path": "/etc/one")",
                  R"("action": "verify", "of": {"version": "", "kernel": "6.1.0-56-amd64")");
  text = Replaced(std::move(text), R"(, "text": "ours\n", "mode": 420)", "");
  dir_.WriteFile("var/lib/kgpu/driver.json", text);
  for (const char* verb : {"install", "verify"}) {
    SCOPED_TRACE(verb);
    std::vector<std::string> flags = {"--kernel", "6.1.0-57-amd64"};
    if (verb == std::string_view("install")) {
      flags.emplace_back("--yes");
    }
    const Result result = Kgpu(verb, flags);
    EXPECT_NE(result.code, 0);
    EXPECT_THAT(
        result.err,
        HasSubstr(
            "installed for kernel 6.1.0-56-amd64, this one is 6.1.0-57-amd64: that kernel is not "
            "installed: install it, then run kgpu driver install --kernel 6.1.0-57-amd64"));
  }
}

// As a kernel update without headers leaves it: the running kernel would lose its driver.
TEST_F(DriverTest, AKernelThatDoesNotRunGetsAdviceOnly) {
  WriteJournal("installed", "done", kNothingBefore);
  dir_.WriteFile("lib/modules/6.1.0-57-amd64/modules.builtin", "");
  dir_.WriteFile("lib/modules/6.1.0-57-amd64/modules.dep", "kernel/fs/ext4/ext4.ko:\n");
  const auto before = Tree();
  for (const char* how : {"--dry-run", "--yes"}) {
    const Result result = Install({"--kernel", "6.1.0-57-amd64", how});
    EXPECT_EQ(result.code, 6);
    EXPECT_THAT(result.err, AllOf(HasSubstr("driver 535 is installed for kernel 6.1.0-56-amd64"),
                                  HasSubstr("dkms autoinstall -k 6.1.0-57-amd64")));
  }
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, VerifyIsAskedForWhatInstallIs) {
  const Result cuda = Kgpu("verify", {"--cuda", "12.4"});
  EXPECT_EQ(cuda.code, 7);
  EXPECT_THAT(cuda.out,
              HasSubstr("CUDA 12.4 needs driver 550.54.14 or newer, but none is installed"));
  EXPECT_EQ(Kgpu("verify", {"--cuda", "twelve"}).code, 2);
  EXPECT_EQ(Kgpu("verify", {"--branch", "580", "--version", "580.95.05"}).code, 2);
}

TEST_F(DriverTest, FinishesTakingBackBeforeItInstalls) {
  const auto before = Tree();
  dir_.WriteFile("etc/one", "ours\n");
  WriteJournal("going-back", "undoing", kNothingBefore);

  const Result on = Kgpu("install", {"--resume", "--yes"});

  EXPECT_EQ(on.code, 0) << on.err;
  EXPECT_THAT(on.err, HasSubstr("undid the unfinished earlier run\n"));
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, BeginsAgainWhenItHasTakenBackWhatWasBegun) {
  dir_.WriteFile("etc/one", "ours\n");
  WriteJournal("going-back", "undoing", kNothingBefore);

  const Result on = Install({"--yes"});

  EXPECT_THAT(on.err, AllOf(HasSubstr("undid the unfinished earlier run"),
                            HasSubstr("step 3 of 6, package-lists: /usr/bin/apt-get")));
}

TEST_F(DriverTest, PackagesOfAnotherVersionGiveWayAndComeBack) {
  dir_.WriteFile("var/lib/dpkg/status",
                 "Package: nvidia-tesla-470-kernel-dkms\nStatus: install ok installed\n"
                 "Version: 470.256.02-1\n\nPackage: libnvidia-tesla-470-cuda1\n"
                 "Status: install ok installed\nVersion: 470.256.02-1\n\n");
  const auto before = Tree();

  const Result dry = Install({"--dry-run"});

  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("# remove packages, installed again when it is undone: "
                                 "libnvidia-tesla-470-cuda1 nvidia-tesla-470-kernel-dkms\n"));
  EXPECT_THAT(Install({"--yes"}).err, HasSubstr("all steps were undone"));
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, TheInstallersDriverGivesWayOnlyWhenItIsGivenUp) {
  dir_.WriteFile("usr/bin/nvidia-uninstall", "");
  const auto before = Tree();

  const Result refused = Install({"--yes"});
  const Result given_up = Install({"--dry-run", "--no-way-back"});

  EXPECT_EQ(refused.code, 7);
  EXPECT_THAT(refused.err, HasSubstr("--no-restore"));
  EXPECT_THAT(given_up.out,
              HasSubstr("# not restored when this is undone: the driver from NVIDIA's installer"));
  EXPECT_EQ(Tree(), before);
}

TEST_F(DriverTest, ABadFlagIsNamedWithWhatWouldDo) {
  dir_.WriteFile("text.run", "no script\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> requests = {
      {{"--branch", "abc"}, "--branch: \"abc\" must be a branch: a number, e.g. 580"},
      {{"--version", "abc"}, "--version: \"abc\" must be a driver version, e.g. 580.95.05"},
      {{"--cuda", "-1"}, "--cuda: \"-1\" must be a version"},
      {{"--gpu", "A100"}, "--gpu: \"A100\" must be a generation: fermi, kepler, "},
      {{"--source", "/text.run"}, "--source: /text.run: not an installer"},
      {{"--driver-toolkit", "image"}, "--driver-toolkit: applies only to RHCOS"}};
  for (const auto& [flags, reason] : requests) {
    const Result result = Kgpu("plan", flags);
    EXPECT_EQ(result.code, 2) << reason;
    EXPECT_THAT(result.err, HasSubstr(reason));
  }
  const Result gone = Kgpu("plan", {"--source", "/gone.run"});
  EXPECT_EQ(gone.code, 3);
  EXPECT_THAT(gone.err, HasSubstr("--source: open " + dir_.At("gone.run")));
  EXPECT_EQ(Kgpu("verify", {"--branch", "abc"}).code, 2);
  EXPECT_EQ(Kgpu("verify", {"--version", "abc"}).code, 2);
  const Result relative = RunProgram({"kgpu", "driver", "status", "--host-root", "mnt"});
  EXPECT_EQ(relative.code, 3);
  EXPECT_THAT(relative.err, HasSubstr(std::filesystem::current_path().string() + "/mnt"));
}

TEST_F(DriverTest, WhoMayNotWriteLearnsWhoMay) {
  dir_.MakeDir("var/lib/kgpu");
  fs::permissions(dir_.At("var/lib/kgpu"), fs::perms::owner_read | fs::perms::owner_exec);
  std::vector<std::string> argv = {
      ProgramPath("kgpu"), "driver", "install", "--host-root", dir_.path(),
      "--offline",         "--gpu",  "turing",  "--yes"};
  if (geteuid() == 0) {  // who may write everywhere, but for this
    argv.insert(argv.begin(), {"/usr/bin/setpriv", "--bounding-set", "-dac_override"});
  }
  const Result result = RunProgram(std::move(argv));
  EXPECT_EQ(result.code, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr(geteuid() == 0 ? "Permission denied\n"
                                                   : "Permission denied: run it as root\n"));
}

TEST_F(DriverTest, ADriverInAContainersFolderIsLookedAtThere) {
  const std::string folder = "run/nvidia/driver/usr/lib/x86_64-linux-gnu/";
  const std::string other = "opt/driver/usr/lib/x86_64-linux-gnu/";
  for (const char* library : {"libcuda.so.", "libnvidia-ml.so."}) {
    dir_.WriteFile(folder + library + "535.104.05", "");
    dir_.WriteFile(other + library + "550.54.15", "");
  }
  EXPECT_THAT(Kgpu("verify").out, HasSubstr("libraries 535.104.05"));
  EXPECT_THAT(Kgpu("status").out, HasSubstr("535.104.05"));
  EXPECT_THAT(Kgpu("verify", {"--driver-root", "/opt/driver"}).out,
              HasSubstr("libraries 550.54.15"));
  EXPECT_THAT(Kgpu("status", {"--driver-root", "/opt/driver"}).out, HasSubstr("550.54.15"));
}

// No kernel is there for a plan, and none is needed to tell of a driver.
TEST_F(DriverTest, StatusWantsNoKernel) {
  fs::remove_all(dir_.At("lib/modules"));
  EXPECT_EQ(Kgpu("status").code, 3);
  dir_.WriteFile("usr/lib/x86_64-linux-gnu/libcuda.so.550.1.2", "");
  const Result status = Kgpu("status", {"--output", "json"});
  EXPECT_EQ(status.code, 0) << status.err;
  const auto json = doc::Parse(status.out, doc::Format::kJson, "status");
  ASSERT_OK(json);
  EXPECT_EQ(json->at("driver"), "550.1.2");
  const Result plan = Kgpu("plan", {"--offline", "--gpu", "turing"});
  EXPECT_EQ(plan.code, 6) << plan.err;
  EXPECT_THAT(plan.err, HasSubstr("--kernel"));
}

// What was looked at before the question is another by the time of the answer.
TEST_F(DriverTest, WhatIsFinishedWhileAPersonIsAskedIsNotTakenBack) {
  dir_.WriteFile("etc/one", "ours\n");
  WriteJournal("installing", "doing", kNothingBefore);
  AtTerminal person({"kgpu", "driver", "rollback", "--host-root", dir_.path()});
  if (!person.has_terminal()) {
    GTEST_SKIP() << "no terminal can be had here";
  }
  ASSERT_TRUE(person.WaitFor("[y/N]")) << person.shown();
  WriteJournal("installed", "done", kNothingBefore);
  person.Type("y\n");

  EXPECT_EQ(person.End(), 6) << person.shown();
  EXPECT_THAT(person.shown(), HasSubstr("complete"));
  EXPECT_EQ(dir_.ReadFile("etc/one"), "ours\n");
}

TEST_F(DriverTest, HasNothingToTakeBackOnAFreshHost) {
  EXPECT_EQ(Kgpu("remove", {"--yes"}).code, 3);
  EXPECT_EQ(Kgpu("rollback", {"--yes"}).code, 3);
}

TEST_F(DriverTest, VerifyTellsWhatIsMissing) {
  const Result result = Kgpu("verify", {"--output", "json"});
  EXPECT_EQ(result.code, 7);
  const auto json = doc::Parse(result.out, doc::Format::kJson, "verify");
  ASSERT_OK(json);
  EXPECT_FALSE(json->at("failed").as_array().empty());
  EXPECT_THAT(result.out, Not(HasSubstr("ldconfig"))) << "there is nothing for the linker to find";
  EXPECT_THAT(result.err, HasSubstr("kgpu driver plan"));
}

// A container in which an earlier run has installed the driver already, and its host.
class DriverContainerTest : public ::testing::Test {
 protected:
  DriverContainerTest() {
    std::string journal = Replaced(std::string(kJournal), "PHASE", "installed");
    journal = Replaced(std::move(journal), "STATE", "done");
    dir_.WriteFile("container/var/lib/kgpu/driver.json",
                   Replaced(std::move(journal), "FILE", kNothingBefore));
    dir_.WriteFile("container/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
    for (const char* name : {"libcuda", "libnvidia-ml"}) {
      dir_.WriteFile(fmt::format("container/usr/lib/x86_64-linux-gnu/{}.so.535.309.01", name), "");
    }
    dir_.WriteFile("container/lib/modules/6.1.0-56-amd64/updates/nvidia.ko", "module");
    dir_.WriteFile("host/proc/sys/kernel/osrelease", "6.1.0-56-amd64\n");
    dir_.WriteFile("host/proc/modules", "");
    dir_.MakeDir("host/var/lib/kgpu");
    dir_.MakeDir("host/run");
  }

  Result Install(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv = {"kgpu",        "driver",           "install",
                                     "--container", "--host-root",      dir_.At("host"),
                                     "--yes",       "--container-root", dir_.At("container")};
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProgram(std::move(argv));
  }

  TempDir dir_;
};

// Neither a lock nor a folder is left by it.
TEST_F(DriverContainerTest, ADryRunTellsThePlanAndTouchesNothing) {
  fs::remove(dir_.At("container/var/lib/kgpu/driver.json"));
  fs::remove(dir_.At("host/var/lib/kgpu"));
  dir_.WriteFile("container/etc/apt/sources.list", "deb http://mirror.example/debian b main\n");
  const Result plan = Install({"--dry-run", "--offline", "--gpu", "ampere"});
  EXPECT_EQ(plan.code, 9) << plan.err;  // a warning: parts of a driver are here
  EXPECT_THAT(plan.out, HasSubstr("# driver 535, proprietary modules, for kernel 6.1.0-56-amd64"));
  EXPECT_FALSE(fs::exists(dir_.At("host/var/lib/kgpu")));

  dir_.WriteFile("host/usr/lib/x86_64-linux-gnu/libcuda.so.550.1.2", "");
  const Result own = Install({"--dry-run", "--output", "json"});
  EXPECT_EQ(own.code, 0) << own.err;
  const auto json = doc::Parse(own.out, doc::Format::kJson, "install");
  ASSERT_OK(json);
  EXPECT_EQ(json->at("result"), "host-has-own");
  EXPECT_EQ(json->at("waitsFor"), "");
}

// tests/driver/container.sh shows a real one.
TEST_F(DriverContainerTest, NothingIsPutInPlaceOfModulesThatCannotBeAsked) {
  const Result result = Install();

  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the image must have it (package kmod)"));
  EXPECT_FALSE(fs::exists(dir_.At("host/run/nvidia")));
  EXPECT_TRUE(fs::is_empty(dir_.At("host/var/lib/kgpu")));
}

TEST_F(DriverContainerTest, AnUnfinishedInstallationOfTheHostIsNotPassedOver) {
  fs::create_directories(dir_.At("host/var/lib/kgpu"));
  const std::string journal = dir_.ReadFile("container/var/lib/kgpu/driver.json");
  dir_.WriteFile("host/var/lib/kgpu/driver.json",
                 Replaced(journal, "\"installed\"", "\"installing\""));

  const Result result = Install();

  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("on the host itself"));
}

TEST_F(DriverContainerTest, AHostWithADriverOfItsOwnIsLeftAlone) {
  dir_.WriteFile("host/usr/lib/x86_64-linux-gnu/libcuda.so.550.1.2", "");
  const Result result = Install();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("its own driver, 550.1.2"));
  EXPECT_FALSE(fs::exists(dir_.At("host/run/nvidia")));
}

TEST_F(DriverContainerTest, GpusThatNeedAFabricManagerAreRefused) {
  fs::remove(dir_.At("container/var/lib/kgpu/driver.json"));
  const std::string device = "container/sys/bus/pci/devices/0000:05:00.0/";
  dir_.WriteFile(device + "vendor", "0x10de\n");
  dir_.WriteFile(device + "device", "0x22a3\n");
  dir_.WriteFile(device + "class", "0x068000\n");

  const Result result = Install({"--offline", "--gpu", "hopper"});

  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("fabric manager"));
  EXPECT_FALSE(fs::exists(dir_.At("host/var/lib/kgpu/driver-root")));
}

TEST_F(DriverContainerTest, InstallersThatLoadTheModulesWhileTheyBuildAreRefused) {
  fs::remove(dir_.At("container/var/lib/kgpu/driver.json"));
  const std::string name = "NVIDIA-Linux-x86_64-535.104.05.run";
  dir_.WriteFile("container/root/" + name,
                 "#!/bin/sh\nlabel=\"NVIDIA Accelerated Graphics Driver for Linux-x86_64 "
                 "535.104.05\"\n");

  const Result result = Install({"--offline", "--gpu", "ampere", "--source", "/root/" + name});

  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("branch 550 or later"));
  EXPECT_FALSE(fs::exists(dir_.At("host/var/lib/kgpu/driver-root")));
}

TEST_F(DriverContainerTest, FlagsThatDoNotGoTogetherAreReportedAtOnce) {
  EXPECT_EQ(Install({"--kernel", "6.1"}).code, 2);
  EXPECT_EQ(Install({"--keep"}).code, 2);
  EXPECT_EQ(Install({"--trust-key"}).code, 2);
  EXPECT_THAT(RunProgram({"kgpu", "driver", "install", "--container", "--host-root",
                          dir_.At("host"), "--container-root", "c", "--dry-run"})
                  .err,
              HasSubstr("--container-root: \"c\" is not an absolute path"));
  EXPECT_EQ(Install({"--display"}).code, 2);
  EXPECT_EQ(RunProgram({"kgpu", "driver", "install", "--container", "--yes"}).code, 2);
}

}  // namespace
}  // namespace kgpu::e2e
