// What every verb has in common: help, usage errors, completion, hand-over to kgpu-sim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "src/platform/base/strings.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CliTest, HelpNamesEveryVerbAndTheExitCodes) {
  const Result result = RunProgram({"kgpu", "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("devices"), HasSubstr("cdi"), HasSubstr("sim"),
                                HasSubstr("completion"), HasSubstr("Exit codes: 0 ok")));
}

TEST(CliTest, WithoutACommandTheOverviewIsPrinted) {
  const Result result = RunProgram({"kgpu"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, RunProgram({"kgpu", "--help"}).out);
  for (const char* group : {"driver", "explain", "node", "cdi", "config", "runtime", "sim"}) {
    const Result bare = RunProgram({"kgpu", group});
    EXPECT_EQ(bare.code, 0) << group;
    EXPECT_EQ(bare.err, "") << group;
    EXPECT_EQ(bare.out, RunProgram({"kgpu", group, "--help"}).out) << group;
  }
}

TEST(CliTest, HelpExplainsTheCommandItIsGiven) {
  EXPECT_EQ(RunProgram({"kgpu", "help"}).out, RunProgram({"kgpu", "--help"}).out);
  const Result result = RunProgram({"kgpu", "help", "driver", "plan"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, RunProgram({"kgpu", "driver", "plan", "--help"}).out);
  EXPECT_THAT(result.out, HasSubstr("kgpu driver plan --cuda 12.4"));
  EXPECT_EQ(RunProgram({"kgpu", "help", "sim", "create"}).out,
            RunProgram({"kgpu-sim", "create", "--help"}).out);
}

// Images have no other one.
TEST(CliTest, CalledChrootItRunsAProgramInAnotherRoot) {
  const TempDir dir;
  const std::string chroot = dir.At("chroot");
  ASSERT_EQ(symlink(ProgramPath("kgpu").c_str(), chroot.c_str()), 0);
  EXPECT_EQ(RunProgram({chroot}).code, 125);
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root, to change into another root";
  }
  std::filesystem::create_directory(dir.At("root"));
  std::filesystem::copy_file(ProgramPath("kgpu"), dir.At("root/program"));
  const Result result = RunProgram({chroot, dir.At("root"), "/program", "--version"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("kgpu "));
  const Result missing = RunProgram({chroot, dir.At("root"), "/bin/sh"});
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(missing.err, "chroot: /bin/sh: No such file or directory\n");
}

TEST(CliTest, AnUnknownCommandIsNamedWithTheOneThatWasMeant) {
  const Result result = RunProgram({"kgpu", "devcies"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "kgpu: unknown command \"devcies\": did you mean devices?\n");
  EXPECT_EQ(RunProgram({"kgpu", "driver", "plna", "--offline"}).err,
            "kgpu driver: unknown command \"plna\": did you mean plan?\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"kgpu", "help", "devcies"}, {"kgpu", "devcies", "--help"}}) {
    const Result help = RunProgram(words);
    EXPECT_EQ(help.code, 2);
    EXPECT_EQ(help.err, result.err);
  }
}

TEST(CliTest, AnUnknownFlagIsNamedWithTheOneThatWasMeant) {
  const Result result = RunProgram({"kgpu", "devices", "--outptu", "json"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "kgpu devices: unknown flag \"--outptu\": did you mean --output?\n");
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

TEST(CliTest, TheAgentRefusesFlagsThatCanNeverWork) {
  const TempDir dir;
  const auto run = [&dir](const std::string& flag, const std::string& value) {
    return RunProgram({"kgpu", "agent", "--host-root", dir.path(), flag, value},
                      std::chrono::seconds(10));
  };
  const Result address = run("--http-address", "foo");
  EXPECT_EQ(address.code, 2);
  EXPECT_THAT(address.err, HasSubstr("--http-address: \"foo\" must be an IP address and a port"));
  for (const char* flag : {"--config", "--kubeconfig"}) {
    const Result missing = run(flag, "/no/such/file");
    EXPECT_EQ(missing.code, 2) << flag;
    EXPECT_THAT(missing.err, HasSubstr(std::string(flag) + ": /no/such/file: no such file"));
  }
}

TEST(CliTest, WithoutPermissionForTheSocketTheFixIsNamedAndTheDriverNotAsked) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root, to become somebody else";
  }
  const TempDir dir;
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  const auto listener = sys::UnixListener::Listen(dir.At("agent.sock"), {.mode = 0660});
  ASSERT_TRUE(listener.ok());
  for (const char* verb : {"health", "status"}) {
    const Result result =
        RunProgram({"/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                    ProgramPath("kgpu"), verb, "--run-dir", dir.path()});
    EXPECT_EQ(result.code, 5) << verb << result.out;
    EXPECT_THAT(result.err, AllOf(HasSubstr("agent.sock: permission denied: run this command as "),
                                  Not(HasSubstr("no agent"))));
  }
}

TEST(CliTest, PrintsItsVersion) {
  EXPECT_THAT(RunProgram({"kgpu", "version"}).out, StartsWith("kgpu 0."));
  EXPECT_THAT(RunProgram({"kgpu", "--version"}).out, StartsWith("kgpu 0."));
}

// The words that are offered for a line, of which the last is being typed.
std::string Offered(std::vector<std::string> words) {
  words.insert(words.begin(), {"kgpu", "__complete"});
  std::string offered;
  const std::string out = RunProgram(words).out;
  for (const std::string_view line : Split(out, '\n')) {
    offered += std::string(line.substr(0, line.find('\t'))) + " ";
  }
  return offered;
}

TEST(CliTest, CompletionKnowsNestedCommandsAndValues) {
  EXPECT_EQ(Offered({"cdi", "g"}), "generate  ");
  EXPECT_EQ(Offered({"help", "driver", "pl"}), "plan  ");
  EXPECT_EQ(Offered({"man", "driver", "pl"}), "plan  ");
  EXPECT_EQ(Offered({"man", "--dir", ""}), " ") << "folders: the shell offers them";
  EXPECT_EQ(Offered({"devices", "--output", ""}), "table json yaml  ");
  EXPECT_THAT(Offered({"doctor", "--only", "pci-acs"}), HasSubstr("pci-acs-redirects"));
  EXPECT_THAT(Offered({"runtime", "status", "--engine", ""}), HasSubstr("containerd"));
  EXPECT_EQ(RunProgram({"kgpu", "completion", "tcsh"}).code, 2);
}

TEST(CliTest, CompletionKnowsTheCommandsOfSim) {
  EXPECT_EQ(Offered({"sim", "creat"}), "create  ");
  EXPECT_THAT(Offered({"sim", "create", "d", "--profile", "8xA100"}),
              HasSubstr("8xA100-SXM4-80GB"));
  EXPECT_THAT(Offered({"sim", "mig", "d", "0", "--create", "1g."}), HasSubstr("1g.10gb "));
  EXPECT_EQ(Offered({"sim", "status", "d", "--output", ""}), "table json yaml  ");
}

TEST(CliTest, CompletionKnowsTheGpusOfTheHost) {
  if (!CanMakeDevices()) {
    GTEST_SKIP() << "no device nodes can be made here";
  }
  const SimHost host("8xA100-SXM4-80GB");
  const std::string offered = Offered({"validate", "--host-root", host.path(), "--gpu", ""});
  EXPECT_THAT(offered, StartsWith("GPU-")) << "the kernel does not know the driver's indexes";
}

TEST(CliTest, CompletionIsInstalledWhereTheShellLooks) {
  const TempDir dir;
  const Result dry =
      RunProgram({"kgpu", "completion", "install", "bash", "--dir", dir.path(), "--dry-run"});
  EXPECT_EQ(dry.out, "would write " + dir.At("kgpu") + "\n");
  EXPECT_EQ(dir.ReadFile("kgpu"), "");
  const Result done = RunProgram({"kgpu", "completion", "install", "bash", "--dir", dir.path()});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(dir.ReadFile("kgpu"), RunProgram({"kgpu", "completion", "bash"}).out);
  EXPECT_EQ(RunProgram({"kgpu", "completion", "install", "tcsh"}).code, 2);
}

TEST(CliTest, ManualPagesAreWritten) {
  const TempDir dir;
  const Result result = RunProgram({"kgpu", "man", "--dir", dir.path()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(dir.ReadFile("man1/kgpu-driver-plan.1"),
            RunProgram({"kgpu", "man", "driver", "plan"}).out);
  EXPECT_EQ(RunProgram({"kgpu", "man", "teapot"}).code, 2);
}

TEST(CliTest, ColorIsAskedForByAFlag) {
  EXPECT_EQ(RunProgram({"kgpu", "devices", "--color", "blue"}).code, 2);
  EXPECT_THAT(RunProgram({"kgpu", "devices", "--color", "blue"}).err,
              HasSubstr("must be auto, always or never"));
  const TempDir dir;
  dir.WriteFile("old.yaml", "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: n\n");
  const std::string file = dir.At("old.yaml");
  const std::string plain = RunProgram({"kgpu", "doctor", "manifest", file}).out;
  EXPECT_THAT(plain, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(RunProgram({"kgpu", "doctor", "manifest", file, "--color", "always"}).out,
              HasSubstr("\x1b["));
}

TEST(CliTest, SimHandsItsWordsToKgpuSim) {
  const Result direct = RunProgram({"kgpu-sim", "--help"});
  const Result through = RunProgram({"kgpu", "sim", "--help"});
  EXPECT_EQ(through.code, 0);
  EXPECT_EQ(through.out, direct.out);
}

}  // namespace
}  // namespace kgpu::e2e
