// kgpu mig on simulated hosts: what people and scripts see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
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
  EXPECT_THAT(result.out, HasSubstr("feasible: 16 GPUs change, 0 destroyed"));
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

TEST_F(MigCommandTest, PlansForWhatMustBeFree) {
  const SimHost host("8xA100-mig");
  // There are seven idle 1g on GPU 0, and more elsewhere.
  EXPECT_EQ(Mig(host, {"plan", "--profiles", "7x1g.10gb"}).out,
            "feasible: nothing has to change\n");
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
