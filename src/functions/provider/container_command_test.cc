#include "src/functions/provider/container_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ProviderFolders Folders() {
  return {.run = "/run/kgpu/functions",
          .secrets = "/var/lib/kgpu/functions/secrets",
          .logs = "/var/lib/kgpu/functions/logs"};
}

Function Plain() {
  Function function;
  function.name = "hello";
  return function;
}

std::vector<std::string> Command(const Function& function, const Loan& loan = {},
                                 const EngineSettings& engine = {}) {
  return RunCommand(
      engine, Folders(),
      {.function = function, .image = "id1", .replica = "4f1c", .loan = loan, .hash = "00ff"});
}

TEST(ContainerCommandTest, APlainFunctionIsConfined) {
  EXPECT_THAT(
      Command(Plain()),
      ElementsAre(
          "/usr/bin/podman", "run", "--detach", "--pull=never", "--name=kgpu-fn-hello-4f1c",
          "--hostname=hello", "--label=kgpu.dev/function=hello", "--label=kgpu.dev/replica=4f1c",
          "--label=kgpu.dev/loan=", "--label=kgpu.dev/config-hash=00ff", "--restart=no",
          "--log-driver=k8s-file", "--log-opt=path=/var/lib/kgpu/functions/logs/hello/4f1c.log",
          "--log-opt=max-size=10mb", "--pidfile=/run/kgpu/functions/4f1c/pid", "--cap-drop=all",
          "--security-opt=no-new-privileges", "--pids-limit=512",
          "--env=KGPU_FN_LISTEN=/run/kgpu-fn/fn.sock", "--env=KGPU_FN_GRPC=off",
          "--env=KGPU_FN_CONCURRENCY=1", "--env=KGPU_FN_PROCESSES=1", "--env=KGPU_FN_TIMEOUT=1m",
          "--env=KGPU_FN_NAME=hello",
          "--mount=type=bind,source=/run/kgpu/functions/4f1c/socket,target=/run/kgpu-fn", "id1"));
}

TEST(ContainerCommandTest, AFunctionWithANetworkReachesOthers) {
  ProviderFolders folders = Folders();
  folders.mesh = "/run/kgpu/functions-mesh";
  const std::string variable = "--env=KGPU_FN_MESH=/run/kgpu-mesh/fn.sock";
  Function function = Plain();
  const ReplicaContainer container{
      .function = function, .image = "id1", .replica = "4f1c", .loan = {}, .hash = "00ff"};
  EXPECT_THAT(RunCommand({}, folders, container),
              AllOf(Contains(variable),
                    Contains("--mount=type=bind,readonly,source=/run/kgpu/functions-mesh/socket,"
                             "target=/run/kgpu-mesh")));
  function.network = NetworkAccess::kNone;
  EXPECT_THAT(RunCommand({}, folders, container), Not(Contains(variable)));
}

TEST(ContainerCommandTest, EveryFieldOfAFunctionTakesEffect) {
  Function function = Plain();
  function.environment = {{"LEVEL", "a b=c"}};
  function.labels = {{"team", "vision"}};
  function.secrets = {"token"};
  function.limits = {.memory = int64_t{1} << 30, .cpu_millis = 1'500};
  function.requests = {.memory = int64_t{50} << 20, .cpu_millis = 50};
  function.calls = {.concurrency = 8,
                    .processes = 2,
                    .timeout = milliseconds(1'500),
                    .max_input = 1'000,
                    .max_output = 2'000};
  function.pids = 64;
  function.has_read_only_root = true;
  function.network = NetworkAccess::kNone;
  const Loan loan{.id = "l1", .devices = {"kgpu.dev/gpu=GPU-a", "kgpu.dev/gpu=GPU-b"}};
  const std::vector<std::string> argv = Command(function, loan);
  for (const char* word :
       {"--label=team=vision", "--env=LEVEL=a b=c", "--memory=1073741824b",
        "--memory-swap=1073741824b", "--memory-reservation=52428800b", "--cpus=1.500",
        "--cpu-shares=51", "--pids-limit=64", "--read-only", "--network=none",
        "--env=KGPU_FN_CONCURRENCY=8", "--env=KGPU_FN_PROCESSES=2", "--env=KGPU_FN_TIMEOUT=1500ms",
        "--env=KGPU_FN_MAX_BODY=1000", "--env=KGPU_FN_MAX_OUTPUT=2000",
        "--mount=type=bind,readonly,source=/run/kgpu/functions/4f1c/secrets,target=/etc/openfx",
        "--device=kgpu.dev/gpu=GPU-a", "--device=kgpu.dev/gpu=GPU-b", "--label=kgpu.dev/loan=l1"}) {
    EXPECT_THAT(argv, Contains(word));
  }
}

TEST(ContainerCommandTest, SlicesComeWithTheirFiles) {
  const Loan loan{
      .id = "l1",
      .devices = {"kgpu.dev/gpu=GPU-a"},
      .mounts = {{.source = "/s/limits", .target = "/t/limits"},
                 {.source = "/s/ledger", .target = "/t/ledger", .is_read_only = false}}};
  const auto has_all =
      AllOf(Contains("--device=kgpu.dev/gpu=GPU-a"),
            Contains("--mount=type=bind,readonly,source=/s/limits,target=/t/limits"),
            Contains("--mount=type=bind,source=/s/ledger,target=/t/ledger"));
  EXPECT_THAT(Command(Plain(), loan), has_all);
  const Function function = Plain();
  EXPECT_THAT(
      TrialCommand(
          {}, Folders(),
          {.function = function, .image = "id1", .replica = "4f1c", .loan = loan, .hash = ""}),
      has_all);
}

TEST(ContainerCommandTest, TheAuthorCannotOverrideTheProvidersVariables) {
  Function function = Plain();
  function.environment = {{"KGPU_FN_LISTEN", ":80"}};
  const std::vector<std::string> argv = Command(function);
  const auto theirs = std::ranges::find(argv, "--env=KGPU_FN_LISTEN=:80");
  const auto ours = std::ranges::find(argv, "--env=KGPU_FN_LISTEN=/run/kgpu-fn/fn.sock");
  EXPECT_LT(theirs, ours);  // the last one counts
}

TEST(ContainerCommandTest, SettingsOfTheHostComeWhereTheyBelong) {
  const EngineSettings engine{.podman = "/opt/podman",
                              .flags = {"--root=/data", "--runtime=runc"},
                              .run_flags = {"--cgroup-parent=/tests"},
                              .max_open_files = 20'000,
                              .max_processes = 4'096};
  const std::vector<std::string> argv = Command(Plain(), {}, engine);
  EXPECT_EQ(argv[0], "/opt/podman");
  EXPECT_EQ(argv[1], "--root=/data");
  EXPECT_EQ(argv[3], "run");
  EXPECT_EQ(argv[argv.size() - 2], "--cgroup-parent=/tests");
  EXPECT_THAT(argv,
              AllOf(Contains("--ulimit=nofile=20000:20000"), Contains("--ulimit=nproc=4096:4096")));
  EXPECT_THAT(RemoveCommand(engine, "x", milliseconds(1'500)),
              ElementsAre("/opt/podman", "--root=/data", "--runtime=runc", "rm", "--force",
                          "--ignore", "--time=2", "x"));
}

TEST(ContainerCommandTest, OnlyImagesWithARegistryAreFetched) {
  EXPECT_TRUE(IsInRegistry("registry:5000/team/hello:1"));
  EXPECT_FALSE(IsInRegistry("localhost/kgpu-fn/hello"));
  EXPECT_THAT(PullCommand({}, "r/x", ""), Not(Contains(HasSubstr("authfile"))));
}

}  // namespace
}  // namespace kgpu::functions
