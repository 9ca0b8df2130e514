#include "src/container/engine/adopt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/find.h"
#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kNvidiaDaemonJson =
    "{\n"
    "  \"default-runtime\": \"nvidia\",\n"
    "  \"runtimes\": {\"nvidia\": {\"path\": \"nvidia-container-runtime\", \"args\": []}}\n"
    "}\n";
constexpr const char* kNvidiaDropIn =
    "[crio.runtime]\n"
    "default_runtime = \"nvidia\"\n"
    "[crio.runtime.runtimes.nvidia]\n"
    "runtime_path = \"/usr/bin/nvidia-container-runtime\"\n"
    "runtime_type = \"oci\"\n";

class AdoptTest : public ::testing::Test {
 protected:
  void AddDocker() { host_.AddProgram("/usr/bin/dockerd", "Docker version 20.10.24, build x\n"); }
  void AddCrio() {
    host_.AddProgram("/usr/bin/crio", "crio version 1.22.5\n");
    host_.folder().WriteFile("etc/crio/crio.conf.d/99-nvidia.conf", kNvidiaDropIn);
  }
  StatusOr<Plan> Made(const Request& request = {}) {
    auto engines = FindEngines(host_.root(), host_.runner(), {});
    EXPECT_THAT(engines, SizeIs(1));
    return PlanEngine(host_.root(), engines.at(0), request);
  }
  static Request Adopting() {
    Request request;
    request.adopt = true;
    return request;
  }
  EngineHost host_;
};

TEST_F(AdoptTest, NvidiasRuntimeOfDockerIsTakenOverOnlyWhereThatIsAskedFor) {
  AddDocker();
  host_.folder().WriteFile("etc/docker/daemon.json", kNvidiaDaemonJson);
  EXPECT_THAT(Made(), StatusIs(StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("/etc/docker/daemon.json:3"),
                                     HasSubstr("nvidia-container-runtime"), HasSubstr("--adopt"))));
  const auto plan = Made(Adopting());
  ASSERT_OK(plan);
  EXPECT_THAT(plan->adopts, AllOf(HasSubstr("nvidia"), HasSubstr("/etc/docker/daemon.json"),
                                  HasSubstr("previously nvidia-container-runtime")));
  ASSERT_THAT(plan->files, SizeIs(1));
  EXPECT_THAT(plan->files[0].after.value_or(""), HasSubstr("/usr/local/bin/kgpu-runtime"));
}

TEST_F(AdoptTest, ARuntimeOfAnotherNameIsLeftAsItIs) {
  AddDocker();
  host_.folder().WriteFile("etc/docker/daemon.json", kNvidiaDaemonJson);
  Request request;
  request.named.name = "kgpu";
  const auto plan = Made(request);
  ASSERT_OK(plan);
  EXPECT_EQ(plan->adopts, "");
  // But not as the default one: that is NVIDIA's.
  request.set_default = true;
  EXPECT_THAT(Made(request), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--adopt")));
}

TEST_F(AdoptTest, WhatKgpuWroteIsNotSomebodyElses) {
  AddDocker();
  host_.folder().WriteFile("etc/docker/daemon.json",
                           R"({"runtimes": {"nvidia": {"path": "/opt/old/kgpu-runtime"}}})");
  const auto plan = Made();
  ASSERT_OK(plan);
  EXPECT_EQ(plan->adopts, "");
  EXPECT_THAT(plan->files, SizeIs(1));
}

TEST_F(AdoptTest, ContainersMayWhatNvidiasConfigurationSays) {
  AddDocker();
  host_.folder().WriteFile("etc/docker/daemon.json", kNvidiaDaemonJson);
  EXPECT_EQ(Made(Adopting())->accepts_env, true);
  const std::string config = "etc/nvidia-container-runtime/config.toml";
  host_.folder().WriteFile(
      config, "#accept-nvidia-visible-devices-envvar-when-unprivileged = false\n[nvidia-ctk]\n");
  EXPECT_EQ(Made(Adopting())->accepts_env, true);
  host_.folder().WriteFile(config,
                           "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n");
  EXPECT_EQ(Made(Adopting())->accepts_env, false);
}

TEST_F(AdoptTest, ADropInOfCrioThatIsReadLaterIsAdoptedByOneBehindIt) {
  AddCrio();
  EXPECT_THAT(Made(), StatusIs(StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("99-nvidia.conf:4"), HasSubstr("--adopt"))));
  const auto plan = Made(Adopting());
  ASSERT_OK(plan);
  EXPECT_THAT(plan->adopts, HasSubstr("99-nvidia.conf"));
  ASSERT_THAT(plan->files, SizeIs(1));
  EXPECT_EQ(plan->files[0].path, "/etc/crio/crio.conf.d/zz-kgpu.conf");
  EXPECT_THAT(plan->files[0].after.value_or(""),
              HasSubstr("runtime_path = \"/usr/local/bin/kgpu-runtime\""));

  host_.folder().WriteFile("etc/crio/crio.conf.d/zz-kgpu.conf", *plan->files[0].after);
  const auto again = Made();
  ASSERT_OK(again);
  EXPECT_FALSE(again->HasSteps());
  EXPECT_EQ(again->adopts, "");
}

TEST_F(AdoptTest, ContainerdsRuntimeIsFoundInEachVersionOfItsFile) {
  host_.AddProgram("/usr/bin/containerd", "containerd containerd.io 1.6.20 x\n");
  host_.folder().WriteFile(
      "etc/containerd/config.toml",
      "version = 2\n"
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]\n"
      "runtime_type = \"io.containerd.runc.v2\"\n"
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia.options]\n"
      "BinaryName = \"/usr/bin/nvidia-container-runtime\"\n");
  EXPECT_THAT(Made(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("config.toml:5")));
  EXPECT_OK(Made(Adopting()));
}

// containerd's edits change a later import itself.
TEST_F(AdoptTest, AnImportOfContainerdThatIsReadLaterIsEdited) {
  host_.AddProgram("/usr/bin/containerd", "containerd containerd.io 2.1.4 x\n");
  host_.folder().WriteFile("etc/containerd/config.toml",
                           "version = 3\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n");
  host_.folder().WriteFile(
      "etc/containerd/conf.d/99-nvidia.toml",
      "version = 3\n"
      "[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.nvidia.options]\n"
      "BinaryName = \"/usr/bin/nvidia-container-runtime\"\n");
  Request request = Adopting();
  request.runtime = true;
  const auto plan = Made(request);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->adopts, HasSubstr("99-nvidia.toml"));
  ASSERT_FALSE(plan->files.empty());
  for (const FileStep& file : plan->files) {
    EXPECT_THAT(file.path, Not(HasSubstr("zz-kgpu")));
  }
}

TEST_F(AdoptTest, PodmansRuntimeIsAListOfPrograms) {
  host_.AddProgram("/usr/bin/podman", "podman version 3.4.4\n");
  host_.folder().WriteFile("etc/containers/containers.conf",
                           "[engine.runtimes]\nnvidia = [\"/usr/bin/nvidia-container-runtime\"]\n");
  EXPECT_THAT(Made(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("containers.conf:2")));
  EXPECT_OK(Made(Adopting()));
}

TEST_F(AdoptTest, AFileThatPodmanReadsLaterIsSeen) {
  host_.AddProgram("/usr/bin/podman", "podman version 3.4.4\n");
  const std::string later = "etc/containers/containers.conf.d/99-nvidia.conf";
  host_.folder().WriteFile(later,
                           "[engine.runtimes]\nnvidia = [\"/usr/bin/nvidia-container-runtime\"]\n");
  EXPECT_THAT(Made(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("99-nvidia.conf:2")));
  EXPECT_EQ(Made(Adopting())->files.at(0).path, "/etc/containers/containers.conf.d/zz-kgpu.conf");

  host_.folder().WriteFile(later, "[engine]\nruntime = \"crun\"\n");
  EXPECT_EQ(Made()->files.at(0).path, "/etc/containers/containers.conf.d/99-kgpu.conf");
  Request request;
  request.set_default = true;
  EXPECT_EQ(Made(request)->files.at(0).path, "/etc/containers/containers.conf.d/zz-kgpu.conf");
}

TEST_F(AdoptTest, PodmansDefaultMayBeTheProgramItself) {
  host_.AddProgram("/usr/bin/podman", "podman version 3.4.4\n");
  host_.folder().WriteFile("etc/containers/containers.conf",
                           "[engine]\nruntime = \"/usr/bin/nvidia-container-runtime\"\n");
  EXPECT_OK(Made()) << "the default stays as it is";
  Request request;
  request.set_default = true;
  EXPECT_THAT(Made(request),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("containers.conf:2"),
                             HasSubstr("the runtime nvidia-container-runtime is /usr/bin/nvidia"),
                             HasSubstr("--adopt"))));
  request.adopt = true;
  const auto plan = Made(request);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->adopts, HasSubstr("previously /usr/bin/nvidia-container-runtime"));
  EXPECT_EQ(plan->accepts_env, true);

  host_.folder().WriteFile("etc/containers/containers.conf",
                           "[engine]\nruntime = \"/usr/bin/crun\"\n");
  request.adopt = false;
  EXPECT_OK(Made(request)) << "no runtime that gives containers GPUs";
}

}  // namespace
}  // namespace kgpu::engine
