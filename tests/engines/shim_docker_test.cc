// kgpu-runtime under real docker daemons: as a runtime called nvidia, as the default one, and for
// --gpus.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>

#include "tests/e2e/sim_host.h"
#include "tests/engines/docker.h"
#include "tests/engines/matchers.h"

namespace kgpu::engines {
namespace {

using e2e::ImageFamily;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ShimDockerTest : public ::testing::TestWithParam<Origin> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"dockerd", "docker"}, GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    // Docker offers --gpus where it finds this program.
    const std::string folder = docker_.box().At("bin");
    std::filesystem::create_directory(folder);
    std::filesystem::create_symlink(e2e::ProgramPath("kgpu-runtime"),
                                    folder + "/nvidia-container-runtime-hook");
    docker_.box().AddPrologue("export PATH=" + folder + ":$PATH");
  }
  // A host whose GPUs kgpu-runtime knows, and docker with it as the runtime called nvidia.
  void Start(Image& image, const std::string& default_runtime = "nvidia",
             const std::string& more = R"("debug":false)") {
    const e2e::Result generated = host_.Kgpu({"cdi", "generate"});
    ASSERT_EQ(generated.code, 0) << generated.err;
    docker_.box().ShareRun(host_.path());
    ASSERT_NO_FATAL_FAILURE(
        docker_.Start(image, {fmt::format(R"("runtimes":{{"nvidia":{{"path":"{}"}}}})",
                                          e2e::ProgramPath("kgpu-runtime")),
                              fmt::format(R"("default-runtime":"{}")", default_runtime), more}));
  }
  std::string Audit() { return docker_.box().dir().ReadFile("log/kgpu/runtime.log"); }
  std::string Refusals() { return docker_.box().dir().ReadFile("log/kgpu/runtime.log.refused"); }

  e2e::SimHost host_{"4xT4"};
  DockerEngine docker_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(ShimDocker, ShimDockerTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie), OriginName());

TEST_P(ShimDockerTest, GpusGivesWhatItNames) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image));
  EXPECT_THAT(docker_.RunReport({"--gpus", "all"}),
              AllOf(HasGpus(Gpus{0, 1, 2, 3}), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(docker_.RunReport({"--gpus", "\"device=0,2\""}),
              AllOf(HasGpus(Gpus{0, 2}), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(docker_.RunReport({"--gpus", "device=3", "--read-only"}), HasGpus(Gpus{3}));
  EXPECT_THAT(docker_.RunReport({}), HasGpus(Gpus{}));
}

TEST_P(ShimDockerTest, GpusUnderAPlainRuntimeNamesTheFix) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image, "runc"));
  const e2e::Result refused = docker_.Run({"--gpus", "all"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("kgpu runtime configure --engine docker --set-default"));
  EXPECT_THAT(docker_.RunReport({"--gpus", "device=1", "--runtime", "nvidia"}), HasGpus(Gpus{1}));
}

TEST_P(ShimDockerTest, AnImagesOwnVariableGetsNothing) {
  Image image({.env = {"NVIDIA_VISIBLE_DEVICES=all"}});
  ASSERT_NO_FATAL_FAILURE(Start(image));
  EXPECT_THAT(docker_.RunReport({}), HasGpus(Gpus{}));
  EXPECT_THAT(Refusals(), AllOf(HasSubstr("refused"), HasSubstr("all")));
}

TEST_P(ShimDockerTest, TheEnvironmentCountsWhereTheAdminSaysSo) {
  Image image;
  docker_.box().WriteEtc("kgpu/runtime.json", R"({"acceptEnv": true})");
  ASSERT_NO_FATAL_FAILURE(Start(image, "runc"));
  EXPECT_THAT(docker_.RunReport({"--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES=1,3"}),
              HasGpus(Gpus{1, 3}));
  EXPECT_THAT(docker_.RunReport({"--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES=void"}),
              HasGpus(Gpus{}));
  EXPECT_THAT(docker_.RunReport({"--env=NVIDIA_VISIBLE_DEVICES=1"}), HasGpus(Gpus{}));
  EXPECT_THAT(Audit(), HasSubstr("granted"));
}

TEST_P(ShimDockerTest, AMountOfNothingAsksForAGpu) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image));
  EXPECT_THAT(docker_.RunReport({"--volume=/dev/null:/var/run/nvidia-container-devices/2"}),
              AllOf(HasGpus(Gpus{2}), FindsLibrariesIn("linux-gnu")));
}

TEST_P(ShimDockerTest, TheLoaderOfARhelLikeImageFindsTheDriver) {
  Image image({.family = ImageFamily::kRhelLike});
  ASSERT_NO_FATAL_FAILURE(Start(image));
  EXPECT_THAT(docker_.RunReport({"--gpus", "all"}),
              AllOf(HasGpus(Gpus{0, 1, 2, 3}), FindsLibrariesIn("lib64")));
}

TEST_P(ShimDockerTest, ADaemonThatRemapsUsersGivesTheNodesOfTheHost) {
  // A user namespace cannot make nodes, nor open those that an image brings along.
  Image image({.has_nodes = false});
  docker_.box().AddPrologue(
      "for file in subuid subgid; do echo \"dockremap:600300000:65536\" >>/etc/$file; done\n"
      "for file in passwd group; do echo \"dockremap:x:58424:58424::/:/bin/sh\" >>/etc/$file; "
      "done");
  docker_.box().ShareDevices(host_.path());
  LetEverybodyIn(docker_.box().dir().path());
  LetEverybodyIn(host_.dir().path());
  ASSERT_NO_FATAL_FAILURE(Start(image, "nvidia", R"("userns-remap":"dockremap")"));
  EXPECT_THAT(docker_.RunReport({"--gpus", "device=1"}),
              AllOf(HasGpus(Gpus{1}), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(docker_.RunReport({}), HasGpus(Gpus{}));
}

TEST_P(ShimDockerTest, AMuslImageStartsWithItsNodes) {
  Image image({.family = ImageFamily::kMusl});
  ASSERT_NO_FATAL_FAILURE(Start(image));
  EXPECT_THAT(docker_.RunReport({"--gpus", "device=1", "--read-only"}), HasGpus(Gpus{1}));
}

TEST_P(ShimDockerTest, AnImageThatWantsANewerDriverLearnsWhatIsThere) {
  Image image({.env = {"NVIDIA_REQUIRE_CUDA=cuda>=99.0"}});
  ASSERT_NO_FATAL_FAILURE(Start(image));
  const e2e::Result refused = docker_.Run({"--gpus", "all"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("cuda>=99.0"), HasSubstr("535.104.05"), HasSubstr("12.2")));
  EXPECT_THAT(docker_.RunReport({"--gpus", "all", "--env=NVIDIA_DISABLE_REQUIRE=true"}),
              HasGpus(Gpus{0, 1, 2, 3}));
}

TEST_P(ShimDockerTest, AGpuThatIsNotThereIsRefused) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image));
  const e2e::Result refused = docker_.Run({"--gpus", "device=17"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("17"));
}

TEST_P(ShimDockerTest, ContainersWithoutGpusStopExecAndGoAsEver) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image));
  const e2e::Result started =
      docker_.Docker({"run", "--detach", "--network", "none", "--name", "gpuless", kImageName});
  ASSERT_EQ(started.code, 0) << started.err;
  EXPECT_EQ(docker_.Docker({"exec", "gpuless", "sh", "-c", "echo inside"}).out, "inside\n");
  EXPECT_EQ(docker_.Docker({"pause", "gpuless"}).code, 0);
  EXPECT_EQ(docker_.Docker({"unpause", "gpuless"}).code, 0);
  EXPECT_EQ(docker_.Docker({"rm", "--force", "gpuless"}).code, 0);
  EXPECT_THAT(docker_.Docker({"ps", "--all"}).out, Not(HasSubstr(kImageName)));
}

}  // namespace
}  // namespace kgpu::engines
