// Real docker daemons: 20.10, which knows no CDI, and a newer one that does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/e2e/sim_host.h"
#include "tests/engines/docker.h"
#include "tests/engines/matchers.h"

namespace kgpu::engines {
namespace {

using e2e::ImageFamily;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

class DockerTest : public ::testing::TestWithParam<Origin> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"dockerd", "docker"}, GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  // The host's CDI specs, where docker looks for them.
  void Generate(const e2e::SimHost& host) {
    docker_.box().ShareRun(host.path());
    const e2e::Result result = host.Kgpu({"cdi", "generate"});
    ASSERT_EQ(result.code, 0) << result.err;
  }

  DockerEngine docker_{GetParam()};
};

// Without CDI and without kgpu-runtime: by hand, as the kubelet's device specs do it.
class PlainDockerTest : public DockerTest {};
INSTANTIATE_TEST_SUITE_P(Docker, PlainDockerTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie), OriginName());

TEST_P(PlainDockerTest, OpensNoGpuThatWasNotGiven) {
  const e2e::SimHost host("4xT4");
  Image image;
  ASSERT_NO_FATAL_FAILURE(docker_.Start(image));
  std::vector<std::string> flags;
  for (const char* node : {"nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
    flags.push_back(fmt::format("--device={0}/dev/{1}:/dev/{1}:rw", host.path(), node));
  }
  EXPECT_THAT(docker_.RunReport(flags), HasGpus(Gpus{1}));
  EXPECT_THAT(docker_.RunReport({}), HasGpus(Gpus{}));
}

class CdiDockerTest : public DockerTest {};
INSTANTIATE_TEST_SUITE_P(Docker, CdiDockerTest, ::testing::Values(Origin::kTrixie), OriginName());

constexpr const char* kCdi = R"("features":{"cdi":true})";

TEST_P(CdiDockerTest, GivesGpusAndCompanionsByTheirCdiNames) {
  const e2e::SimHost host("4xT4", {"--with", "imex=2,gds,gdrcopy,mofed"});
  Image image;
  ASSERT_NO_FATAL_FAILURE(Generate(host));
  ASSERT_NO_FATAL_FAILURE(docker_.Start(image, {kCdi}));
  const Report report =
      docker_.RunReport({"--device=kgpu.dev/gpu=0", "--device=nvidia.com/gpu=2",
                         "--device=kgpu.dev/imex-channel=1", "--device=kgpu.dev/gds=all",
                         "--device=kgpu.dev/gdrcopy=all", "--device=kgpu.dev/mofed=all"});
  EXPECT_THAT(report, AllOf(HasGpus(Gpus{0, 2}), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(report.env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  EXPECT_THAT(report.nodes, Contains("nvidia-caps-imex-channels/channel1"));
  EXPECT_EQ(report.nodes.count("nvidia-caps-imex-channels/channel0"), 0U);
  EXPECT_THAT(report.nodes,
              AllOf(Contains("nvidia-fs0"), Contains("nvidia-fs15"), Contains("gdrdrv"),
                    Contains("infiniband/uverbs0"), Contains("infiniband/rdma_cm")));
}

TEST_P(CdiDockerTest, TheLoaderOfARhelLikeImageFindsTheDriver) {
  const e2e::SimHost host("4xT4");
  Image image({.family = ImageFamily::kRhelLike});
  ASSERT_NO_FATAL_FAILURE(Generate(host));
  ASSERT_NO_FATAL_FAILURE(docker_.Start(image, {kCdi}));
  EXPECT_THAT(docker_.RunReport({"--device=kgpu.dev/gpu=all"}),
              AllOf(HasGpus(Gpus{0, 1, 2, 3}), FindsLibrariesIn("lib64")));
}

TEST_P(CdiDockerTest, AReadOnlyRootAndAMuslImageStart) {
  const e2e::SimHost host("4xT4");
  Image image({.family = ImageFamily::kMusl});
  ASSERT_NO_FATAL_FAILURE(Generate(host));
  ASSERT_NO_FATAL_FAILURE(docker_.Start(image, {kCdi}));
  EXPECT_THAT(docker_.RunReport({"--read-only", "--device=kgpu.dev/gpu=3"}), HasGpus(Gpus{3}));
}

TEST_P(CdiDockerTest, AnUnknownDeviceKeepsTheContainerFromStarting) {
  const e2e::SimHost host("4xT4");
  Image image;
  ASSERT_NO_FATAL_FAILURE(Generate(host));
  ASSERT_NO_FATAL_FAILURE(docker_.Start(image, {kCdi}));
  const e2e::Result result = docker_.Run({"--device=kgpu.dev/gpu=17"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("kgpu.dev/gpu=17"));
}

}  // namespace
}  // namespace kgpu::engines
