#include "src/container/engine/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "src/container/engine/find.h"
#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Engine OneEngine(EngineHost& host, Kind kind) {
  auto engines = FindEngines(host.root(), host.runner(), {.only = kind});
  EXPECT_THAT(engines, SizeIs(1));
  return engines.empty() ? Engine{} : std::move(engines[0]);
}

Engine DockerOf(EngineHost& host, const std::string& version) {
  host.AddProgram("/usr/bin/dockerd", "Docker version " + version + ", build x\n");
  return OneEngine(host, Kind::kDocker);
}

Engine Containerd(EngineHost& host, const std::string& version) {
  host.AddProgram("/usr/bin/containerd", "containerd containerd.io " + version + " x\n");
  return OneEngine(host, Kind::kContainerd);
}

TEST(PlanTest, OldDockerGetsARuntimeByReload) {
  EngineHost host;
  host.folder().WriteFile("etc/docker/daemon.json", "{\n  \"debug\": true\n}\n");

  const auto plan = PlanEngine(host.root(), DockerOf(host, "20.10.24"), {});

  ASSERT_OK(plan);
  EXPECT_TRUE(plan->uses_runtime);
  EXPECT_EQ(plan->reach, Reach::kReload);
  ASSERT_THAT(plan->files, SizeIs(1));
  EXPECT_THAT(plan->files[0].after.value_or(""), HasSubstr("\"debug\": true"));
  EXPECT_THAT(plan->files[0].after.value_or(""), HasSubstr("/usr/local/bin/kgpu-runtime"));
  EXPECT_THAT(plan->files[0].after.value_or(""), Not(HasSubstr("cdi")));
}

TEST(PlanTest, DockerThatCanReadCdiIsConfiguredTo) {
  EngineHost host;

  const auto plan = PlanEngine(host.root(), DockerOf(host, "25.0.3"), {});

  ASSERT_OK(plan);
  EXPECT_FALSE(plan->uses_runtime);
  EXPECT_EQ(plan->reach, Reach::kRestart);
  EXPECT_THAT(plan->reach_reason, HasSubstr("features.cdi"));
  EXPECT_EQ(plan->expected.cdi, true);
}

TEST(PlanTest, NewDockerIsLeftAlone) {
  EngineHost host;
  host.folder().WriteFile("etc/docker/daemon.json", "{}");

  const auto plan = PlanEngine(host.root(), DockerOf(host, "28.3.0"), {});

  ASSERT_OK(plan);
  EXPECT_FALSE(plan->HasSteps());
  EXPECT_EQ(plan->reach, Reach::kNothing);
  EXPECT_THAT(Print(*plan), HasSubstr("no changes"));
}

TEST(PlanTest, CdiThatIsSwitchedOffIsSwitchedOn) {
  EngineHost host;
  host.folder().WriteFile("etc/docker/daemon.json", R"({"features": {"cdi": false}})");

  const auto plan = PlanEngine(host.root(), DockerOf(host, "28.3.0"), {});

  ASSERT_OK(plan);
  ASSERT_THAT(plan->files, SizeIs(1));
  EXPECT_EQ(plan->files[0].after, R"({"features": {"cdi": true}})");
  EXPECT_EQ(plan->reach, Reach::kRestart);
}

TEST(PlanTest, SetDefaultBringsTheRuntime) {
  EngineHost host;
  Request request;
  request.set_default = true;

  const auto plan = PlanEngine(host.root(), DockerOf(host, "28.3.0"), request);

  ASSERT_OK(plan);
  EXPECT_TRUE(plan->uses_runtime);
  ASSERT_THAT(plan->files, SizeIs(1));
  EXPECT_THAT(plan->files[0].after.value_or(""), HasSubstr("\"default-runtime\""));
  EXPECT_EQ(plan->reach, Reach::kRestart);  // dockerd has not seen the hook's program yet
  EXPECT_THAT(plan->reach_reason, HasSubstr("to provide --gpus"));
  EXPECT_TRUE(plan->expected.is_default);
}

TEST(PlanTest, WhoAsksForTheRuntimeGetsNoRestartForCdi) {
  EngineHost host;
  Request request;
  request.runtime = true;

  const auto plan = PlanEngine(host.root(), DockerOf(host, "25.0.3"), request);

  ASSERT_OK(plan);
  EXPECT_TRUE(plan->uses_runtime);
  EXPECT_EQ(plan->expected.cdi, std::nullopt);
  EXPECT_EQ(plan->reach, Reach::kReload);
}

TEST(PlanTest, OldEnginesCannotBeReportedToReadCdi) {
  EngineHost host;
  Request request;
  request.cdi = true;

  EXPECT_THAT(PlanEngine(host.root(), DockerOf(host, "24.0.7"), request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("docker does from 25.0")));
}

TEST(PlanTest, ABrokenFileIsRefusedWithItsPlace) {
  EngineHost host;
  host.folder().WriteFile("etc/docker/daemon.json", "{\n  \"debug\": tru\n}\n");

  EXPECT_THAT(PlanEngine(host.root(), DockerOf(host, "20.10.24"), {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("/etc/docker/daemon.json:2:")));
}

TEST(PlanTest, OldContainerdGetsARuntimeAndARestart) {
  EngineHost host;
  host.folder().WriteFile("etc/containerd/config.toml", "version = 2\n# mine\n");

  const auto plan = PlanEngine(host.root(), Containerd(host, "1.6.20"), {});

  ASSERT_OK(plan);
  EXPECT_TRUE(plan->uses_runtime);
  EXPECT_EQ(plan->reach, Reach::kRestart);
  ASSERT_THAT(plan->files, SizeIs(1));
  EXPECT_EQ(plan->files[0].path, "/etc/containerd/config.toml");
  EXPECT_THAT(plan->files[0].after.value_or(""), HasSubstr("# mine"));
}

TEST(PlanTest, Containerd17IsConfiguredToReadCdi) {
  EngineHost host;
  host.folder().WriteFile("etc/containerd/config.toml", "version = 2\n");

  const auto plan = PlanEngine(host.root(), Containerd(host, "1.7.24"), {});

  ASSERT_OK(plan);
  EXPECT_FALSE(plan->uses_runtime);
  EXPECT_EQ(plan->expected.cdi, true);
  ASSERT_THAT(plan->files, SizeIs(1));
  EXPECT_THAT(plan->files[0].after.value_or(""), HasSubstr("enable_cdi = true"));
}

TEST(PlanTest, NewContainerdCrioAndPodmanNeedNothing) {
  EngineHost host;
  host.AddProgram("/usr/bin/crio", "crio version 1.30.1\n");
  host.AddProgram("/usr/bin/podman", "podman version 4.3.1\n");
  host.AddProgram("/usr/bin/containerd", "containerd x v2.1.1 x\n");

  for (const Kind kind : {Kind::kContainerd, Kind::kCrio, Kind::kPodman}) {
    const auto plan = PlanEngine(host.root(), OneEngine(host, kind), {});

    ASSERT_OK(plan);
    EXPECT_FALSE(plan->HasSteps()) << Print(*plan);
  }
}

TEST(PlanTest, RegistriesOfContainerdGoIntoAFolderThatItReads) {
  EngineHost host;
  host.folder().WriteFile("etc/containerd/config.toml", "version = 2\n");
  Request request;
  request.registries.insecure = {"reg.example:5000"};

  const auto plan = PlanEngine(host.root(), Containerd(host, "1.7.24"), request);

  ASSERT_OK(plan);
  std::vector<std::string> paths;
  for (const FileStep& file : plan->files) {
    paths.push_back(file.path);
  }
  EXPECT_THAT(paths, ElementsAre("/etc/containerd/config.toml",
                                 "/etc/containerd/certs.d/reg.example:5000/hosts.toml"));
  EXPECT_THAT(plan->files[0].after.value_or(""),
              HasSubstr("config_path = \"/etc/containerd/certs.d\""));
}

TEST(PlanTest, RegistriesInTheMainFileKeepContainerdFromTheFolder) {
  EngineHost host;
  host.folder().WriteFile("etc/containerd/config.toml",
                          "version = 2\n"
                          "[plugins.\"io.containerd.grpc.v1.cri\".registry.mirrors.\"docker.io\"]\n"
                          "endpoint = [\"https://m.example\"]\n");
  Request request;
  request.registries.insecure = {"reg.example:5000"};

  EXPECT_THAT(PlanEngine(host.root(), Containerd(host, "1.7.24"), request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("config.toml:2")));
}

TEST(PlanTest, AHostsFileOfSomebodyElseIsNotOverwritten) {
  EngineHost host;
  host.folder().WriteFile("etc/containerd/config.toml", "version = 2\n");
  host.folder().WriteFile("etc/containerd/certs.d/reg.example/hosts.toml", "server = \"x\"\n");
  Request request;
  request.registries.insecure = {"reg.example"};

  EXPECT_THAT(PlanEngine(host.root(), Containerd(host, "1.7.24"), request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not written by kgpu")));
}

TEST(PlanTest, ProxiesNeedAUnitAndARestart) {
  EngineHost host;
  Request request;
  request.proxies.http = "http://user:secret@proxy:3128";

  EXPECT_THAT(PlanEngine(host.root(), DockerOf(host, "28.3.0"), request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no systemd unit")));

  host.AddSystemd({"docker.service"});
  const auto plan = PlanEngine(host.root(), OneEngine(host, Kind::kDocker), request);

  ASSERT_OK(plan);
  EXPECT_EQ(plan->reach, Reach::kRestart);
  EXPECT_TRUE(plan->has_unit_change);
  ASSERT_THAT(plan->files, SizeIs(1));
  EXPECT_EQ(plan->files[0].mode, 0600U);
  EXPECT_THAT(Print(*plan), Not(HasSubstr("secret")));
}

TEST(PlanTest, PrintsADiffAndTheSteps) {
  EngineHost host;
  host.folder().WriteFile("etc/docker/daemon.json", "{\n  \"debug\": true\n}\n");

  const auto plan = PlanEngine(host.root(), DockerOf(host, "20.10.24"), {});

  ASSERT_OK(plan);
  const std::string text = Print(*plan);
  EXPECT_THAT(text, HasSubstr("--- /etc/docker/daemon.json\n+++ /etc/docker/daemon.json\n@@ "));
  EXPECT_THAT(text, HasSubstr("# step: change /etc/docker/daemon.json\n"));
  EXPECT_THAT(text, HasSubstr("# step: reload docker (dockerd reloads runtimes"));
}

TEST(PlanTest, ShowsNoProgramAsADiff) {
  FileStep step;
  step.path = "/usr/local/bin/kgpu-runtime";
  step.before = std::string(
      "\x7f"
      "ELF\0\x1b[2J",
      9);

  EXPECT_EQ(DiffOf(step),
            "--- /usr/local/bin/kgpu-runtime\n+++ /dev/null\n"
            "(not shown: a program)\n");
}

TEST(PlanTest, ADeviceInTheFilesPlaceIsRefused) {
  EngineHost host;
  host.folder().MakeDir("dev");
  host.folder().MakeDir("etc/docker");
  ASSERT_EQ(mkfifo(host.folder().At("dev/null").c_str(), 0666), 0);
  host.folder().Symlink("/dev/null", "etc/docker/daemon.json");

  EXPECT_THAT(
      PlanEngine(host.root(), DockerOf(host, "20.10.24"), {}),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("/etc/docker/daemon.json: not a file")));
}

TEST(PlanShimTest, CopiesTheProgramAndLinksTheHook) {
  EngineHost host;
  const TempDir ours;
  ours.WriteFile("kgpu-runtime",
                 "\x7f"
                 "ELF");

  const auto plan = PlanShim(host.root(), {.program = ours.At("kgpu-runtime"),
                                           .path = "/usr/local/bin/kgpu-runtime",
                                           .config = "{}\n"});

  ASSERT_OK(plan);
  ASSERT_THAT(plan->files, SizeIs(2));
  EXPECT_EQ(plan->files[0].path, "/usr/local/bin/kgpu-runtime");
  EXPECT_EQ(plan->files[0].mode, 0755U);
  EXPECT_EQ(plan->files[1].path, "/etc/kgpu/runtime.json");
  ASSERT_THAT(plan->links, SizeIs(1));
  EXPECT_EQ(plan->links[0].path, "/usr/local/bin/nvidia-container-runtime-hook");
  EXPECT_EQ(plan->links[0].target, "kgpu-runtime");
}

TEST(PlanShimTest, LeavesAnothersHookAlone) {
  EngineHost host;
  host.folder().WriteFile("usr/local/bin/kgpu-runtime", "x");
  host.folder().WriteFile("usr/local/bin/nvidia-container-runtime-hook", "theirs");

  const auto plan =
      PlanShim(host.root(), {.program = "", .path = "/usr/local/bin/kgpu-runtime", .config = ""});

  ASSERT_OK(plan);
  EXPECT_FALSE(plan->HasSteps());
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("not written by kgpu")));
}

TEST(PlanShimTest, NeedsAProgram) {
  EngineHost host;

  EXPECT_THAT(
      PlanShim(host.root(), {.program = "", .path = "/usr/local/bin/kgpu-runtime", .config = ""}),
      StatusIs(StatusCode::kNotFound, HasSubstr("install it there first")));
}

}  // namespace
}  // namespace kgpu::engine
