// kgpu node up and down on simulated hosts: their folders have no systemd, so the agent is skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/sys/session.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"
#include "tests/e2e/terminal.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kWaitsForKey = R"({"format": 1, "phase": "installing",
  "began": 1700000000, "failure": "", "steps": [
    {"state": "doing", "wasDone": false, "note": "", "file":
       {"kind": "absent", "backup": "", "target": "", "mode": 420, "uid": 0, "gid": 0}, "folders": [],
     "packagesBefore": {}, "came": {}, "replaced": {}, "units": [], "enabled": [], "modules": [],
     "bootId": ""},
    {"state": "pending", "wasDone": false, "note": "", "file":
       {"kind": "absent", "backup": "", "target": "", "mode": 420, "uid": 0, "gid": 0}, "folders": [],
     "packagesBefore": {}, "came": {}, "replaced": {}, "units": [], "enabled": [], "modules": [],
     "bootId": ""}],
  "plan": {"version": "535", "module": "open", "source": "distribution", "kernel": "6.1.0-56-amd64",
    "why": [], "notes": [], "steps": [
      {"id": "enrol-key", "title": "enrol", "source": "page", "action": "ask-person",
       "of": {"text": "enrol the key.", "key": "/var/lib/dkms-mok.pub"}},
      {"id": "one", "title": "write a file", "source": "page", "action": "write-file",
       "of": {"path": "/etc/one", "text": "ours\n", "mode": 420}}]}})";

class NodeUpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here";
    }
  }
  // Of an unknown version, so that it needs kgpu-runtime, which needs runc.
  static void AddDocker(const SimHost& host) {
    host.dir().WriteFile("host/usr/bin/dockerd", "");
    host.dir().WriteFile("host/usr/bin/runc", "");
    std::filesystem::permissions(host.dir().At("host/usr/bin/runc"), std::filesystem::perms(0755));
  }
  static Result Node(const SimHost& host, std::vector<std::string> words) {
    words.insert(words.begin(), {"kgpu", "node"});
    words.insert(words.end(), {"--host-root", host.path()});
    return RunProgram(std::move(words));
  }
};

TEST_F(NodeUpTest, GoesFromTheHostToTheProofAndBack) {
  const SimHost host("4xT4");
  AddDocker(host);
  const Result up = Node(host, {"up", "--yes", "--skip", "driver,agent"});
  EXPECT_EQ(up.code, 0) << up.out << up.err;
  EXPECT_THAT(up.out, AllOf(ContainsRegex("host +ready"), ContainsRegex("driver +skipped"),
                            ContainsRegex("engine +done"), ContainsRegex("validate +done")));
  EXPECT_THAT(up.err, HasSubstr("Test PASSED"));
  EXPECT_THAT(host.dir().ReadFile("host/etc/docker/daemon.json"), HasSubstr("kgpu-runtime"));

  const Result down = Node(host, {"down", "--yes"});
  EXPECT_EQ(down.code, 0) << down.out << down.err;
  EXPECT_THAT(down.out, ContainsRegex("engine +done"));
  EXPECT_FALSE(std::filesystem::exists(host.dir().At("host/etc/docker/daemon.json")));
  EXPECT_THAT(Node(host, {"down", "--yes"}).out, HasSubstr("nothing to do"));
}

TEST_F(NodeUpTest, WhatOnlyPeopleFixStopsIt) {
  SimHost host("4xT4");
  const Result up = Node(host, {"up", "--yes"});
  EXPECT_EQ(up.code, 1);
  EXPECT_THAT(up.out, AllOf(HasSubstr("engine-missing"), ContainsRegex("driver +not reached")));
}

// Nothing of a driver is there either, which the doctor alone would not mind.
TEST_F(NodeUpTest, AHostWithoutGpusStopsItUnlessTheyComeLater) {
  const SimHost host("4xT4");
  host.dir().WriteFile("bare/usr/bin/dockerd", "");
  host.dir().WriteFile("bare/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
  host.dir().MakeDir("bare/sys/bus/pci/devices");
  std::vector<std::string> words = {"kgpu",        "node",
                                    "up",          "--yes",
                                    "--skip",      "driver,engine,agent,validate",
                                    "--host-root", host.dir().At("bare")};
  const Result up = RunProgram(words);
  EXPECT_EQ(up.code, 1);
  EXPECT_THAT(up.out, AllOf(ContainsRegex("host +failed"), HasSubstr("--gpu")));
  words.insert(words.end(), {"--gpu", "ampere"});
  EXPECT_THAT(RunProgram(words).out, ContainsRegex("host +ready"));
}

TEST_F(NodeUpTest, ADryRunTellsAllAndChangesNothing) {
  const SimHost host("4xT4");
  AddDocker(host);
  const Result up = Node(host, {"up", "--dry-run", "--skip", "driver,agent"});
  EXPECT_EQ(up.code, 0) << up.out << up.err;
  EXPECT_THAT(up.out, AllOf(HasSubstr("would do"), HasSubstr("+++ /etc/docker/daemon.json")));
  EXPECT_FALSE(std::filesystem::exists(host.dir().At("host/var/lib/kgpu/node")));
}

TEST_F(NodeUpTest, ADriverThatIsNotWhatIsAskedForIsNotReady) {
  const SimHost host("4xT4");
  const std::vector<std::string> words = {"up", "--yes", "--offline", "--skip",
                                          "engine,agent,validate"};
  EXPECT_THAT(Node(host, words).out, ContainsRegex("driver +ready"));
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--cuda", "12.9"});
  const Result up = Node(host, more);
  EXPECT_EQ(up.code, 1);
  EXPECT_THAT(up.out, ContainsRegex("driver +failed"));
  EXPECT_FALSE(std::filesystem::exists(host.dir().At("host/var/lib/kgpu/node/record.json")))
      << "it did nothing, and down has nothing to undo";
}

// Though the driver is there, and its flags would not be looked at before another host.
TEST_F(NodeUpTest, ABadFlagEndsItBeforeAnythingIsAskedOrBegun) {
  const SimHost host("4xT4");
  const std::vector<std::pair<std::vector<std::string>, std::string>> requests = {
      {{"--branch", "abc"}, "--branch: \"abc\""},
      {{"--gpu", "A100"}, "--gpu: \"A100\""},
      {{"--source", "internet"}, "--source: \"internet\""},
      {{"--cuda", "twelve"}, "--cuda: \"twelve\""},
      {{"--accept-env", "maybe"}, "--accept-env: \"maybe\" must be yes or no"},
      {{"--resume", "--trust-key"}, "--trust-key"}};
  for (const auto& [flags, reason] : requests) {
    std::vector<std::string> words = {"up", "--dry-run"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Result up = Node(host, words);
    EXPECT_EQ(up.code, 2) << reason;
    EXPECT_THAT(up.err, HasSubstr(reason));
    EXPECT_EQ(up.out, "");
  }
  const Result relative = RunProgram({"kgpu", "node", "down", "--host-root", "mnt", "--yes"});
  EXPECT_EQ(relative.code, 3);
  EXPECT_THAT(relative.err, HasSubstr(std::filesystem::current_path().string() + "/mnt"));
}

TEST_F(NodeUpTest, WhatSpeaksAgainstADriverFailsTheDryRunToo) {
  const SimHost host("4xT4");
  host.dir().MakeDir("host/lib/modules/6.1.0-56-amd64");
  const Result up = Node(host, {"up", "--dry-run", "--offline", "--cuda", "12.9", "--skip",
                                "host,engine,agent,validate"});
  EXPECT_EQ(up.code, 1);
  EXPECT_THAT(
      up.out,
      ContainsRegex("driver +failed +kgpu driver plan .*: other-driver: .*; remove it first"));
}

TEST_F(NodeUpTest, WhatIsAskedOfItsOutputIsNotAskedOfTheStages) {
  const SimHost host("4xT4");
  const Result up =
      RunProgram({"/usr/bin/env", "KGPU_OUTPUT=yaml", ProgramPath("kgpu"), "node", "up",
                  "--dry-run", "--skip", "driver,agent,validate", "--host-root", host.path()});
  EXPECT_THAT(up.out, HasSubstr("text: \"error engine-missing: No container engine"));
}

TEST_F(NodeUpTest, NobodyIsAskedWhereNothingIsToBeTakenBack) {
  const SimHost host("4xT4");
  const Result down = Node(host, {"down"});
  EXPECT_EQ(down.code, 0) << down.err;
  EXPECT_EQ(down.out, "nothing to do\n");
}

// A driver that waits for its key to be enrolled, as an earlier run left it. The word of a person
// reaches the driver's stage.
TEST(NodeUpFolderTest, ATrustedKeyIsPassedToTheDriver) {
  const TempDir dir;
  dir.WriteFile("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
  dir.WriteFile("sys/firmware/efi/mok-variables/MokListRT", "others");
  dir.WriteFile("var/lib/dkms-mok.pub", "our key");
  dir.WriteFile("var/lib/kgpu/driver.json", kWaitsForKey);
  std::vector<std::string> words = {"kgpu",        "node",    "up",
                                    "--yes",       "--skip",  "host,engine,agent,validate",
                                    "--host-root", dir.path()};
  const Result waits = RunProgram(words);
  EXPECT_EQ(waits.code, 8) << waits.out << waits.err;
  EXPECT_THAT(waits.out, ContainsRegex("driver +waits +enrol the key.*--trust-key"));
  EXPECT_FALSE(std::filesystem::exists(dir.At("etc/one")));

  words.emplace_back("--trust-key");
  const Result up = RunProgram(words);

  EXPECT_EQ(dir.ReadFile("etc/one"), "ours\n") << up.out << up.err;
  EXPECT_THAT(up.out, Not(HasSubstr("waits")));
}

// One that a person installed, as an earlier run left it, and is not what is asked for.
TEST_F(NodeUpTest, ADriverThatAPersonInstalledIsNotReplaced) {
  const SimHost host("4xT4");
  std::string journal(kWaitsForKey);
  journal.replace(journal.find("installing"), 10, "installed");
  host.dir().WriteFile("host/var/lib/kgpu/driver.json", journal);
  for (const char* how : {"--dry-run", "--yes"}) {
    const Result up = Node(
        host, {"up", how, "--offline", "--branch", "999", "--skip", "host,engine,agent,validate"});
    EXPECT_EQ(up.code, 1) << up.err;
    EXPECT_THAT(
        up.out,
        ContainsRegex(
            "driver +failed +driver 535 with the open modules was installed manually.*999.*; run "
            "kgpu driver install --branch 999 --offline .* to install the requested driver"));
    EXPECT_EQ(host.dir().ReadFile("host/var/lib/kgpu/driver.json"), journal);
  }
}

TEST_F(NodeUpTest, ADriverThatAPersonPutInThePlaceOfItsOwnIsNotTakenDown) {
  const SimHost host("4xT4");
  std::string journal(kWaitsForKey);
  journal.replace(journal.find("installing"), 10, "installed");
  journal.replace(journal.find("1700000000"), 10, "1700000009");
  host.dir().WriteFile("host/var/lib/kgpu/driver.json", journal);
  host.dir().WriteFile("host/var/lib/kgpu/node/record.json",
                       R"({"format": 1, "stages": ["driver"], "files": {},
                           "own": {"driver": ["1700000000"]}})");
  const Result down = Node(host, {"down", "--yes"});
  EXPECT_EQ(down.code, 0) << down.err;
  EXPECT_THAT(down.out, HasSubstr("what node up installed is already removed"));
  EXPECT_EQ(host.dir().ReadFile("host/var/lib/kgpu/driver.json"), journal);
}

// This process plays the daemon. Source: proc(5), comm.
TEST_F(NodeUpTest, DownNamesDaemonsOfMpsThatGoOn) {
  const SimHost host("4xT4");
  const std::string daemon = "GPU-00000000-0000-0000-0000-00000000000a";
  const auto stat = sys::StatOf(getpid());
  ASSERT_TRUE(stat);
  host.dir().WriteFile(
      fmt::format("host/run/kgpu/mps/{}/record", daemon),
      fmt::format("version 1\npid {}\nstart {}\nthreads 50\nmemoryMiB 0\nallUsers 1\n", getpid(),
                  stat->start));
  host.dir().WriteFile("host/var/lib/kgpu/node/record.json",
                       R"({"format": 1, "stages": ["agent"], "files": {}})");
  ASSERT_EQ(prctl(PR_SET_NAME, "nvidia-cuda-mps-control"), 0);
  const Result down = Node(host, {"down", "--dry-run"});
  EXPECT_EQ(prctl(PR_SET_NAME, stat->name.c_str()), 0);
  EXPECT_THAT(down.err, HasSubstr(fmt::format("goes on: MPS daemon of {}, PID {}; to end it: echo "
                                              "quit | CUDA_MPS_PIPE_DIRECTORY=/run/kgpu/mps/{}",
                                              daemon, getpid(), daemon)));
  EXPECT_THAT(Node(host, {"down", "--dry-run"}).err, Not(HasSubstr("goes on")));
}

TEST_F(NodeUpTest, WithoutATerminalItWantsYes) {
  const SimHost host("4xT4");
  const Result up = Node(host, {"up"});
  EXPECT_EQ(up.code, 2);
  EXPECT_THAT(up.err, HasSubstr("--yes"));
}

TEST_F(NodeUpTest, AStageThatIsNoneIsRefused) {
  const SimHost host("4xT4");
  const Result up = Node(host, {"up", "--skip", "drivers"});
  EXPECT_EQ(up.code, 2);
  EXPECT_THAT(up.err, HasSubstr("host, driver, engine, agent or validate"));
}

TEST_F(NodeUpTest, AtATerminalAStageThatIsSlowIsNamedAfterASecond) {
  SimHost host("4xT4");
  host.Inject("hang");
  AtTerminal person({"/usr/bin/env", "TERM=xterm", ProgramPath("kgpu"), "node", "up", "--yes",
                     "--skip", "host,driver,engine,agent", "--host-root", host.path()});
  if (!person.has_terminal()) {
    GTEST_SKIP() << "no terminals here";
  }
  EXPECT_TRUE(person.WaitFor("running kgpu validate --all-gpus")) << person.shown();
  EXPECT_THAT(person.shown(), HasSubstr("validate: a CUDA test on the GPUs"));
}

}  // namespace
}  // namespace kgpu::e2e
