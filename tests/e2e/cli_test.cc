// What every verb has in common: help, usage errors, completion, hand-over to kgpu-sim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CliTest, HelpNamesEveryVerbAndTheExitCodes) {
  const Result result = RunProgram({"kgpu", "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("devices"), HasSubstr("cdi"), HasSubstr("sim"),
                                HasSubstr("completion"), HasSubstr("Exit codes: 0 done")));
}

TEST(CliTest, NoVerbIsAUsageError) {
  const Result result = RunProgram({"kgpu"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err + result.out, HasSubstr("subcommand"));
}

TEST(CliTest, AVerbThatIsNoneIsToldWithThoseThatAre) {
  const Result result = RunProgram({"kgpu", "driver", "plna", "--offline"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, StartsWith("kgpu: \"plna\" is no verb of kgpu driver: plan, status, "));
  EXPECT_THAT(RunProgram({"kgpu", "drvier"}).err, HasSubstr("is no verb of kgpu: agent, status"));
  EXPECT_THAT(RunProgram({"kgpu", "completion"}).err, HasSubstr("SHELL"));
}

TEST(CliTest, AnUnknownFlagIsAUsageErrorThatNamesIt) {
  const Result result = RunProgram({"kgpu", "devices", "--colour"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--colour"));
}

TEST(CliTest, AnUnknownOutputFormatIsRefusedWithTheThreeKnown) {
  const Result result = RunProgram({"kgpu", "devices", "--output", "xml"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("\"xml\" must be table, json or yaml"));
}

TEST(CliTest, AHostRootThatIsNotThereIsNamed) {
  const Result result = RunProgram({"kgpu", "devices", "--host-root", "/no/such/root"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("/no/such/root"));
}

TEST(CliTest, AProbeThatIsNotThereIsNamed) {
  const Result result = RunProgram({"kgpu", "devices", "--probe", "/no/such/kgpu-probe"});
  EXPECT_THAT(result.err, HasSubstr("/no/such/kgpu-probe"));
  EXPECT_EQ(result.code, 3);
}

TEST(CliTest, PrintsItsVersion) {
  EXPECT_THAT(RunProgram({"kgpu", "version"}).out, StartsWith("kgpu 0."));
  EXPECT_THAT(RunProgram({"kgpu", "--version"}).out, StartsWith("kgpu 0."));
}

TEST(CliTest, CompletionKnowsNestedVerbs) {
  const Result result = RunProgram({"kgpu", "completion", "bash"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("'kgpu cdi'"), HasSubstr("generate"), HasSubstr("--output")));
  EXPECT_EQ(RunProgram({"kgpu", "completion", "tcsh"}).code, 2);
}

TEST(CliTest, SimHandsItsWordsToKgpuSim) {
  const Result direct = RunProgram({"kgpu-sim", "--help"});
  const Result through = RunProgram({"kgpu", "sim", "--help"});
  EXPECT_EQ(through.code, 0);
  EXPECT_EQ(through.out, direct.out);
}

}  // namespace
}  // namespace kgpu::e2e
