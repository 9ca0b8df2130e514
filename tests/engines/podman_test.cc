// Real podman, as root and as a user without rights, with runc and with crun: CDI names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/e2e/sim_host.h"
#include "tests/engines/matchers.h"
#include "tests/engines/podman.h"

namespace kgpu::engines {
namespace {

using e2e::ImageFamily;
using ::testing::AllOf;
using ::testing::Combine;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::Values;
using User = PodmanEngine::User;

class PodmanTest : public ::testing::TestWithParam<std::tuple<std::string, User>> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"podman", runtime(), "newuidmap"}); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  static const std::string& runtime() { return std::get<0>(GetParam()); }
  static User user() { return std::get<1>(GetParam()); }
  // A user without rights cannot make the nodes that an image holds.
  static ImageOptions Nodes(ImageFamily family = ImageFamily::kDebianLike) {
    return {.family = family, .has_nodes = user() == User::kRoot};
  }
  void Start(Image& image, const e2e::SimHost& host) {
    const e2e::Result generated = host.Kgpu({"cdi", "generate"});
    ASSERT_EQ(generated.code, 0) << generated.err;
    ASSERT_NO_FATAL_FAILURE(podman_.Start(image, host));
  }

  PodmanEngine podman_{runtime(), user()};
};
INSTANTIATE_TEST_SUITE_P(Podman, PodmanTest,
                         Combine(Values("runc", "crun"), Values(User::kRoot, User::kRootless)),
                         [](const ::testing::TestParamInfo<PodmanTest::ParamType>& parameter) {
                           return std::get<0>(parameter.param) +
                                  (std::get<1>(parameter.param) == User::kRoot ? "AsRoot"
                                                                               : "Rootless");
                         });

TEST_P(PodmanTest, GivesExactlyTheGpusNamed) {
  const e2e::SimHost host("4xT4");
  Image image(Nodes());
  ASSERT_NO_FATAL_FAILURE(Start(image, host));
  const Report report = podman_.RunReport({"--device=kgpu.dev/gpu=1", "--device=nvidia.com/gpu=3"});
  EXPECT_THAT(report, AllOf(HasGpus(Gpus{1, 3}), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(report.env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  EXPECT_THAT(podman_.RunReport({}), HasGpus(Gpus{}));
}

TEST_P(PodmanTest, CompanionsAreGivenByTheirCdiNames) {
  const e2e::SimHost host("4xT4", {"--with", "imex=2,gds,gdrcopy,mofed=2"});
  Image image(Nodes());
  ASSERT_NO_FATAL_FAILURE(Start(image, host));
  const Report report =
      podman_.RunReport({"--device=kgpu.dev/gpu=all", "--device=kgpu.dev/imex-channel=all",
                         "--device=kgpu.dev/gds=all", "--device=kgpu.dev/gdrcopy=all",
                         "--device=nvidia.com/mofed=all"});
  EXPECT_THAT(report, HasGpus(Gpus{0, 1, 2, 3}));
  EXPECT_THAT(report.nodes,
              IsSupersetOf({"nvidia-caps-imex-channels/channel0",
                            "nvidia-caps-imex-channels/channel1", "nvidia-fs0", "nvidia-fs15",
                            "gdrdrv", "infiniband/uverbs1", "infiniband/rdma_cm"}));
}

TEST_P(PodmanTest, TheLoaderOfARhelLikeImageFindsTheDriverUnderAReadOnlyRoot) {
  const e2e::SimHost host("4xT4");
  Image image(Nodes(ImageFamily::kRhelLike));
  ASSERT_NO_FATAL_FAILURE(Start(image, host));
  EXPECT_THAT(podman_.RunReport({"--read-only", "--device=kgpu.dev/gpu=0"}),
              AllOf(HasGpus(Gpus{0}), FindsLibrariesIn("lib64")));
}

TEST_P(PodmanTest, AMuslImageStartsWithItsNodes) {
  const e2e::SimHost host("4xT4");
  Image image(Nodes(ImageFamily::kMusl));
  ASSERT_NO_FATAL_FAILURE(Start(image, host));
  EXPECT_THAT(podman_.RunReport({"--device=kgpu.dev/gpu=2"}), HasGpus(Gpus{2}));
}

TEST_P(PodmanTest, AUserNamespaceGetsTheNodesOfTheHost) {
  const e2e::SimHost host("4xT4");
  Image image({.has_nodes = false});
  ASSERT_NO_FATAL_FAILURE(Start(image, host));
  const std::vector<std::string> mapping =
      user() == User::kRoot
          ? std::vector<std::string>{"--uidmap=0:600200000:65536", "--gidmap=0:600200000:65536"}
          : std::vector<std::string>{"--userns=keep-id"};
  std::vector<std::string> flags = {"--device=kgpu.dev/gpu=2"};
  flags.insert(flags.end(), mapping.begin(), mapping.end());
  EXPECT_THAT(podman_.RunReport(flags), AllOf(HasGpus(Gpus{2}), FindsLibrariesIn("linux-gnu")));
}

TEST_P(PodmanTest, AnUnknownDeviceKeepsTheContainerFromStarting) {
  const e2e::SimHost host("4xT4");
  Image image(Nodes());
  ASSERT_NO_FATAL_FAILURE(Start(image, host));
  const e2e::Result result = podman_.Run({"--device=kgpu.dev/gpu=17"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("kgpu.dev/gpu=17"));
}

}  // namespace
}  // namespace kgpu::engines
