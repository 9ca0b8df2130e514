#include "src/cli/run/run_shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;

TEST(RunShellTest, TheCommandNamesClusterAndPod) {
  const run::RunInfo run{.name = "s", .space = "team-a", .pod = "s-1"};
  NodeOptions options;
  options.kubeconfig = "/k";
  options.context = "c";
  EXPECT_THAT(ExecCommand(options, run, {"python3", "-V"}, true),
              ElementsAre("kubectl", "--kubeconfig", "/k", "--context", "c", "exec", "-it", "-n",
                          "team-a", "s-1", "-c", "main", "--", "python3", "-V"));
  const auto shell = ExecCommand({}, run, {}, false);
  EXPECT_EQ(shell[2], "-i");
  EXPECT_EQ(shell[9], "/bin/sh");
}

TEST(RunShellTest, TheLineToCopyNamesTheSame) {
  const run::RunInfo run{.name = "s", .space = "team-a", .pod = "s-1"};
  NodeOptions options;
  options.kubeconfig = "/my k";
  options.context = "c";
  EXPECT_EQ(ExecLine(options, run, {"python3", "-c", "print(1)"}),
            "kubectl --kubeconfig '/my k' --context c exec -it -n team-a s-1 -c main -- python3 -c "
            "'print(1)'");
}

TEST(RunShellTest, KubectlIsFoundInPath) {
  const TempDir dir;
  EXPECT_EQ(FindKubectl(dir.At("")), "");
  dir.WriteFile("kubectl", "");
  EXPECT_EQ(FindKubectl(dir.At(".")), "") << "it is not executable";
  std::filesystem::permissions(dir.At("kubectl"), std::filesystem::perms::owner_all);
  EXPECT_EQ(FindKubectl("/nowhere:" + dir.At(".")), dir.At("./kubectl"));
}

TEST(RunShellTest, ReturnsTheCodeOfTheProgram) {
  EXPECT_THAT(RunInForeground({"/bin/sh", "-c", "exit 3"}), IsOkAndHolds(3));
  EXPECT_THAT(RunInForeground({"/bin/sh", "-c", "kill -9 $$"}), IsOkAndHolds(137));
  EXPECT_THAT(RunInForeground({"/nowhere/kubectl"}), StatusIs(StatusCode::kNotFound));
}

// A Ctrl-C that the shell inside the pod gets must not end kgpu before it has removed the pod.
TEST(RunShellTest, SignalsOfTheKeyboardAreTheProgramsOwn) {
  EXPECT_THAT(RunInForeground({"/bin/sh", "-c", "kill -INT $PPID; exit 0"}), IsOkAndHolds(0));
}

}  // namespace
}  // namespace kgpu::cli
