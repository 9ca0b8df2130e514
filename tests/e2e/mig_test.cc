// kgpu mig on simulated hosts: what people and scripts see.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <iterator>
#include <string>
#include <vector>

#include "src/platform/base/unique_fd.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/child_process.h"
#include "testing/status_matchers.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Result Plan(std::vector<std::string> words) {
  words.insert(words.begin(), {"kgpu", "mig", "plan"});
  return RunProgram(words);
}

// Without any GPU: for scripts.
TEST(MigPlanCheckTest, AnswersByExitCode) {
  struct Case {
    std::string model;
    std::string have;
    std::string profiles;
    int code;
  };
  for (const Case& c :
       {Case{"H100-80GB", "", "3g.40gb,3g.40gb", 0},
        Case{"H100-80GB", "", "3g.40gb,3g.40gb,1g.10gb", 7},
        Case{"H100-80GB", "3g.40gb", "4g.40gb", 0}, Case{"H100-80GB", "3g.40gb@0", "4g.40gb", 7},
        Case{"H100-80GB", "3g.40gb@0:idle", "4g.40gb", 0},
        Case{"H100-80GB", "7x1g.10gb", "1g.10gb", 7},
        Case{"A100-SXM4-80GB", "", "4g.40gb,2g.20gb,1g.10gb", 0},
        Case{"A100-80GB", "", "7x1g.10gb", 0}, Case{"A100-80GB", "", "1g.10gb+me:2", 7},
        Case{"A100", "", "1g.5gb,1g.5gb+me", 0}, Case{"A30", "1g.6gb@1", "2g.12gb", 0},
        Case{"A30", "1g.6gb@1,1g.6gb@2", "2g.12gb", 7},
        Case{"RTX PRO 6000", "", "1g.24gb+me.all,3x1g.24gb-me", 0},
        Case{"RTX PRO 6000", "", "1g.24gb+me.all,1g.24gb", 7},
        Case{"B200", "", "1c.3g.90gb,1c.3g.90gb,1c.3g.90gb", 0}}) {
    const Result result =
        Plan({"--model", c.model, "--have", c.have, "--profiles", c.profiles, "--check"});
    EXPECT_EQ(result.code, c.code)
        << c.model << " " << c.have << " " << c.profiles << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr(c.code == 0 ? "feasible\n" : "infeasible: ")) << c.profiles;
  }
}

TEST(MigPlanCheckTest, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(Plan({"--model", "T4", "--profiles", "1g.5gb", "--check"}).err,
              HasSubstr("--model: \"T4\" is no model with MIG"));
  const Result other = Plan({"--model", "H100-80GB", "--profiles", "1g.5gb", "--check"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("H100-80GB has no profile 1g.5gb; it has 7g.80gb"));
  EXPECT_EQ(
      Plan({"--model", "H100-80GB", "--have", "4g.40gb,4g.40gb", "--profiles", "1g.10gb"}).code, 2);
  EXPECT_EQ(Plan({"--model", "A100", "--profiles", "oops"}).code, 2);
  EXPECT_EQ(Plan({"--model", "A100-80GB"}).code, 2);
  EXPECT_THAT(Plan({"--model", "A100-80GB", "--count", "0", "--profiles", "1g.10gb"}).err,
              HasSubstr("--count: \"0\" must be a number from 1 to 128"));
}

TEST(MigPlanCheckTest, PlansForSeveralGpus) {
  const Result result =
      Plan({"--model", "A100-80GB", "--count", "16", "--profiles", "16x4g.40gb,16x3g.40gb"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("feasible: changes 16 GPUs, destroys no instance"));
  EXPECT_EQ(Plan({"--model", "A100-80GB", "--count", "16", "--profiles", "17x4g.40gb"}).code, 7);
}

class MigCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
  }

  static Result Mig(const SimHost& host, std::vector<std::string> words) {
    words.insert(words.begin(), "mig");
    return host.Kgpu(std::move(words));
  }
};

TEST_F(MigCommandTest, ListsInstancesAndRoom) {
  const SimHost host("8xA100-mig");
  const Result result = Mig(host, {"list", "--gpu", "2,7"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("GPU 2  A100-SXM4-80GB  MIG on\n"
                                          "  4g.40gb            slices 0-3  GI 1   idle\n"),
                                HasSubstr("  room for  nothing more\n"), HasSubstr("GPU 7")));
}

TEST_F(MigCommandTest, AppliesAssertsAndRollsBack) {
  const SimHost host("8xA100-mig");
  const Result before = Mig(host, {"list"});
  EXPECT_EQ(Mig(host, {"rollback", "--yes"}).code, 3);
  const Result applied =
      Mig(host, {"apply", "--gpu", "0,7", "--layout", "3g.40gb,3g.40gb", "--yes"});
  EXPECT_EQ(applied.code, 0) << applied.out << applied.err;
  EXPECT_THAT(applied.err, AllOf(HasSubstr("GPU 0: 1g.10gb at memory slice 0 destroyed"),
                                 HasSubstr("GPU 7: MIG is on"),
                                 HasSubstr("GPU 7: 3g.40gb at memory slice 4 created")));
  EXPECT_EQ(Mig(host, {"assert", "--gpu", "0,7", "--layout", "2x3g.40gb"}).code, 0);
  const Result differs = Mig(host, {"assert", "--gpu", "0,6", "--layout", "2x3g.40gb"});
  EXPECT_EQ(differs.code, 7);
  EXPECT_THAT(differs.out, HasSubstr("GPU 6: create 3g.40gb at memory slice 0"));
  EXPECT_EQ(Mig(host, {"rollback", "--dry-run"}).code, 0);
  const Result back = Mig(host, {"rollback", "--yes"});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_EQ(Mig(host, {"list"}).out, before.out);
}

// `kgpu devices --watch` has the GPUs open, and the host's nvidia-smi resets nothing.
TEST_F(MigCommandTest, AFailedModeChangeLeavesNothingForTheNextReset) {
  SimHost host("8xA100-SXM4-80GB");
  sys::SpawnOptions options;
  options.argv = {ProgramPath("kgpu"), "devices", "--watch"};
  std::ranges::copy(host.flags(), std::back_inserter(options.argv));
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
  const UniqueFd read(fds[0]);
  UniqueFd write(fds[1]);
  options.fds = {{write.get(), STDOUT_FILENO}};
  auto watcher = sys::ChildProcess::Spawn(options);
  ASSERT_OK(watcher);
  pollfd shown{.fd = read.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&shown, 1, 30'000), 1);
  const std::string before = Mig(host, {"list", "--gpu", "3"}).out;
  const Result failed = Mig(host, {"apply", "--gpu", "3", "--layout", "2x3g.40gb", "--yes"});
  EXPECT_EQ(failed.code, 6);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("MIG turns on at a reset"),
                                HasSubstr("the former layouts are back")));
  EXPECT_EQ(Mig(host, {"list", "--gpu", "3"}).out, before);
  EXPECT_EQ(Mig(host, {"rollback", "--yes"}).code, 3) << "nothing has changed";
  // As a change leaves it that is killed before the reset.
  host.Inject("mig", {"3", "--enable", "--pending"});
  EXPECT_THAT(Mig(host, {"list", "--gpu", "3"}).out, HasSubstr("MIG off, on after a reset"));
  EXPECT_EQ(Mig(host, {"assert", "--gpu", "3", "--select", "all-disabled"}).code, 7);
  const Result off = Mig(host, {"apply", "--gpu", "3", "--select", "all-disabled", "--yes"});
  EXPECT_EQ(off.code, 0) << off.err;
  EXPECT_THAT(off.err, HasSubstr("GPU 3: MIG stays off at the next reset"));
  EXPECT_EQ(Mig(host, {"list", "--gpu", "3"}).out, before);
}

TEST_F(MigCommandTest, ARollbackEndsAPendingModeAndCanBeTriedAgain) {
  SimHost host("8xA100-mig");
  const std::string before = Mig(host, {"list", "--gpu", "6"}).out;
  EXPECT_THAT(before, HasSubstr("MIG on\n  no instances: no program can use the GPU\n"));
  EXPECT_EQ(Mig(host, {"apply", "--gpu", "6", "--layout", "7g.80gb", "--yes"}).code, 0);
  host.Inject("mig", {"6", "--disable", "--pending"});
  host.Inject("refuse", {"19", "--gpu", "6", "--call", "nvmlComputeInstanceDestroy"});
  const Result refused = Mig(host, {"rollback", "--yes"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("the former layouts are back"),
                                 HasSubstr("MIG does not turn off at the next reset any more")));
  host.Inject("heal", {"6"});
  EXPECT_THAT(Mig(host, {"list", "--gpu", "6"}).out, HasSubstr("7g.80gb            slices 0-7"));
  const Result back = Mig(host, {"rollback", "--yes"});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_EQ(Mig(host, {"list", "--gpu", "6"}).out, before);
}

// Such as an agent that is killed.
TEST_F(MigCommandTest, FinishesAChangeOfWhichNobodyReadsTheOutput) {
  const SimHost host("8xA100-mig");
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
  UniqueFd write(fds[1]);
  close(fds[0]);
  sys::SpawnOptions options;
  options.argv = {ProgramPath("kgpu"),  "mig",           "apply", "--gpu=0",
                  "--layout=2x3g.40gb", "--output=json", "--yes"};
  std::ranges::copy(host.flags(), std::back_inserter(options.argv));
  options.fds = {{write.get(), STDOUT_FILENO}, {write.get(), STDERR_FILENO}};
  auto child = sys::ChildProcess::Spawn(options);
  ASSERT_OK(child);
  pollfd ended{.fd = child->pidfd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&ended, 1, 30'000), 1);
  EXPECT_EQ(Mig(host, {"assert", "--gpu", "0", "--layout", "2x3g.40gb"}).code, 0)
      << Mig(host, {"list", "--gpu", "0"}).out;
}

TEST_F(MigCommandTest, PlansForWhatMustBeFree) {
  const SimHost host("8xA100-mig");
  // There are seven idle 1g on GPU 0, and more elsewhere.
  EXPECT_EQ(Mig(host, {"plan", "--profiles", "7x1g.10gb"}).out, "feasible: no change is needed\n");
  const Result more = Mig(host, {"plan", "--profiles", "2x7g.80gb", "--output", "json"});
  ASSERT_EQ(more.code, 0) << more.err;
  const auto parsed = doc::Parse(more.out, doc::Format::kJson, "kgpu mig plan");
  ASSERT_OK(parsed);
  EXPECT_EQ(parsed->at_pointer("/destroyed"), 0);
  EXPECT_EQ(parsed->at_pointer("/changes/0/gpu"), "6");
  EXPECT_EQ(Mig(host, {"plan", "--profiles", "9x7g.80gb", "--check"}).code, 7);
}

TEST_F(MigCommandTest, LeavesInstancesInUse) {
  SimHost host("8xA100-mig");
  host.Inject("process", {"3", "--pid", "4711", "--memory", "1Gi", "--gi", "0", "--ci", "0"});
  EXPECT_THAT(Mig(host, {"list", "--gpu", "3"}).out, HasSubstr("in use: process 4711"));
  const Result refused = Mig(host, {"apply", "--gpu", "3", "--layout", "2x3g.40gb", "--yes"});
  EXPECT_EQ(refused.code, 7);
  EXPECT_THAT(refused.out, HasSubstr("infeasible: GPU 3: 7g.80gb at memory slice 0 is in use"));
  // The processes of a simulated host are none of this machine.
  const Result evicted =
      Mig(host, {"apply", "--gpu", "3", "--layout", "2x3g.40gb", "--yes", "--evict"});
  EXPECT_EQ(evicted.code, 6);
  EXPECT_THAT(evicted.err, HasSubstr("--evict ends processes of the running system only"));
  EXPECT_THAT(Mig(host, {"list", "--gpu", "3"}).out, HasSubstr("7g.80gb"));
}

TEST_F(MigCommandTest, ChangesIdleGpusWhileOthersWait) {
  SimHost host("8xA100-mig");
  host.Inject("process", {"3", "--pid", "4711", "--memory", "1Gi", "--gi", "0", "--ci", "0"});
  const std::vector<std::string> words = {"apply", "--select", "all-3g.40gb", "--idle-only",
                                          "--yes"};
  const Result first = Mig(host, words);
  EXPECT_EQ(first.code, 8) << first.err;
  EXPECT_THAT(first.err, AllOf(HasSubstr("waits: GPU 3: 7g.80gb at memory slice 0 is in use"),
                               HasSubstr("(used by process 4711)")));
  EXPECT_EQ(Mig(host, {"assert", "--gpu", "0,1,2,4,5,6,7", "--select", "all-3g.40gb"}).code, 0);
  host.Inject("process", {"3", "--pid", "4711", "--end"});
  EXPECT_EQ(Mig(host, words).code, 0);
  EXPECT_EQ(Mig(host, {"assert", "--select", "all-3g.40gb"}).code, 0);
}

TEST_F(MigCommandTest, HasTheVariantsOfTheRtxPro6000) {
  SimHost host("2xL40S");
  host.Inject("add", {"--model", "RTX-PRO-6000-Blackwell"});
  const Result applied = Mig(host, {"apply", "--layout", "1g.24gb+me.all,2x1g.24gb-me", "--yes"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(Mig(host, {"list"}).out, HasSubstr("room for  1g.24gb-me at "));
  EXPECT_EQ(Mig(host, {"plan", "--layout", "1g.24gb+me.all,1g.24gb+gfx"}).code, 7);
  EXPECT_EQ(Mig(host, {"apply", "--select", "all-1g.24gb.gfx", "--yes"}).code, 0);
  EXPECT_EQ(Mig(host, {"assert", "--layout", "4x1g.24gb+gfx"}).code, 0);
}

TEST_F(MigCommandTest, TakesFilesOfMigParted) {
  SimHost host("8xA100-SXM4-80GB");
  host.dir().WriteFile("mig.yaml",
                       "version: v1\n"
                       "mig-configs:\n"
                       "  half:\n"
                       "  - devices: [0, 1]\n"
                       "    mig-enabled: true\n"
                       "    mig-devices: {\"1g.10gb\": 2, \"1g.10gb+me\": 1, \"4g.40gb\": 1}\n"
                       "  - devices: [2]\n"
                       "    mig-enabled: false\n");
  const std::string file = host.dir().At("mig.yaml");
  const std::vector<std::string> select = {"--config", file, "--select", "half"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), select.begin(), select.end());
    return Mig(host, words);
  };
  EXPECT_EQ(with({"assert"}).code, 7);
  // Of several GPUs that the file names, only some.
  const Result one = with({"plan", "--gpu", "1"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("GPU 1: "), Not(HasSubstr("GPU 0: "))));
  const Result applied = with({"apply", "--yes"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(with({"assert"}).code, 0);
  EXPECT_THAT(Mig(host, {"list", "--gpu", "1"}).out,
              AllOf(HasSubstr("4g.40gb"), HasSubstr("1g.10gb+me")));
  EXPECT_EQ(Mig(host, {"apply", "--select", "all-disabled", "--yes"}).code, 0);
  EXPECT_EQ(Mig(host, {"assert", "--select", "all-disabled"}).code, 0);
  // Indexes of larger nodes mean nothing, and a wrong configuration costs no other.
  host.dir().WriteFile("fleet.yaml",
                       "version: v1\n"
                       "mig-configs:\n"
                       "  broken: [{devices: all}]\n"
                       "  half:\n"
                       "  - {devices: [7, 12], mig-enabled: true, mig-devices: {7g.80gb: 1}}\n");
  const Result fleet =
      Mig(host, {"apply", "--yes", "--select", "half", "--config", host.dir().At("fleet.yaml")});
  EXPECT_EQ(fleet.code, 0) << fleet.err;
  EXPECT_THAT(fleet.err, AllOf(HasSubstr("half also names GPU 12, which this host does not have"),
                               HasSubstr("GPU 7: 7g.80gb at memory slice 0 created")));
  EXPECT_THAT(
      Mig(host, {"plan", "--select", "broken", "--config", host.dir().At("fleet.yaml")}).err,
      HasSubstr("fleet.yaml:3: mig-configs.broken[0].mig-enabled: must be true or false"));
  EXPECT_THAT(Mig(host, {"plan", "--config", file, "--select", "hal"}).err,
              HasSubstr("did you mean half?"));
}

TEST_F(MigCommandTest, SaysWhatIsMissing) {
  const SimHost host("4xT4");
  EXPECT_EQ(Mig(host, {"list"}).out.substr(0, 17), "GPU 0  T4  no MIG");
  const Result none = Mig(host, {"plan", "--profiles", "1g.5gb"});
  EXPECT_EQ(none.code, 6);
  EXPECT_THAT(none.err, HasSubstr("no GPU of this host has MIG"));
  EXPECT_EQ(Mig(host, {"list", "--gpu", "9"}).code, 3);
  EXPECT_EQ(Mig(host, {"plan"}).code, 6);
  EXPECT_THAT(Mig(host, {"plan", "--gpu", "0", "--profiles", "1g.5gb"}).err,
              HasSubstr("has no MIG"));
}

}  // namespace
}  // namespace kgpu::e2e
