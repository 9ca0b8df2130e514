// kgpu-runtime under real podman, as root and as a user without rights, with runc and crun behind
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <tuple>

#include "tests/e2e/sim_host.h"
#include "tests/engines/matchers.h"
#include "tests/engines/podman.h"

namespace kgpu::engines {
namespace {

using e2e::ImageFamily;
using ::testing::AllOf;
using ::testing::Combine;
using ::testing::HasSubstr;
using ::testing::Values;
using User = PodmanEngine::User;

// A mount of nothing asks for a GPU, as NVIDIA's device plugin does it.
std::string AskFor(const std::string& device) {
  return "--volume=/dev/null:/var/run/nvidia-container-devices/" + device;
}

class ShimPodmanTest : public ::testing::TestWithParam<std::tuple<std::string, User>> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"podman", behind(), "newuidmap"}); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  static const std::string& behind() { return std::get<0>(GetParam()); }
  static User user() { return std::get<1>(GetParam()); }
  static ImageOptions Nodes(ImageFamily family = ImageFamily::kDebianLike) {
    return {.family = family, .has_nodes = user() == User::kRoot};
  }
  // `more`: members of kgpu-runtime's configuration besides the runtime behind it.
  void Start(Image& image, const std::string& more = "") {
    const e2e::Result generated = host_.Kgpu({"cdi", "generate"});
    ASSERT_EQ(generated.code, 0) << generated.err;
    podman_.box().WriteEtc("kgpu/runtime.json",
                           fmt::format(R"({{"runtimes": ["{}"]{}}})", behind(), more));
    ASSERT_NO_FATAL_FAILURE(podman_.Start(image, host_));
  }

  e2e::SimHost host_{"4xT4"};
  PodmanEngine podman_{e2e::ProgramPath("kgpu-runtime"), user(), behind()};
};
INSTANTIATE_TEST_SUITE_P(ShimPodman, ShimPodmanTest,
                         Combine(Values("runc", "crun"), Values(User::kRoot, User::kRootless)),
                         [](const ::testing::TestParamInfo<ShimPodmanTest::ParamType>& parameter) {
                           return std::get<0>(parameter.param) +
                                  (std::get<1>(parameter.param) == User::kRoot ? "AsRoot"
                                                                               : "Rootless");
                         });

TEST_P(ShimPodmanTest, MountsOfNothingNameTheGpus) {
  Image image(Nodes());
  ASSERT_NO_FATAL_FAILURE(Start(image));
  EXPECT_THAT(podman_.RunReport({AskFor("1"), AskFor("3")}),
              AllOf(HasGpus(Gpus{1, 3}), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(podman_.RunReport({}), HasGpus(Gpus{}));
}

TEST_P(ShimPodmanTest, AnImagesOwnVariableGetsNothing) {
  ImageOptions options = Nodes();
  options.env = {"NVIDIA_VISIBLE_DEVICES=all"};
  Image image(options);
  ASSERT_NO_FATAL_FAILURE(Start(image));
  EXPECT_THAT(podman_.RunReport({}), HasGpus(Gpus{}));
}

TEST_P(ShimPodmanTest, TheEnvironmentCountsWhereTheAdminSaysSo) {
  Image image(Nodes(ImageFamily::kRhelLike));
  ASSERT_NO_FATAL_FAILURE(Start(image, R"(, "acceptEnv": true)"));
  EXPECT_THAT(podman_.RunReport({"--env=NVIDIA_VISIBLE_DEVICES=0,2", "--read-only"}),
              AllOf(HasGpus(Gpus{0, 2}), FindsLibrariesIn("lib64")));
}

TEST_P(ShimPodmanTest, AUserNamespaceGetsTheNodesOfTheHost) {
  Image image({.has_nodes = false});
  ASSERT_NO_FATAL_FAILURE(Start(image));
  std::vector<std::string> flags = {AskFor("2")};
  if (user() == User::kRoot) {
    flags.insert(flags.end(), {"--uidmap=0:600200000:65536", "--gidmap=0:600200000:65536"});
  } else {
    flags.emplace_back("--userns=keep-id");
  }
  EXPECT_THAT(podman_.RunReport(flags), AllOf(HasGpus(Gpus{2}), FindsLibrariesIn("linux-gnu")));
}

TEST_P(ShimPodmanTest, AMuslImageStartsWithItsNodes) {
  Image image(Nodes(ImageFamily::kMusl));
  ASSERT_NO_FATAL_FAILURE(Start(image));
  EXPECT_THAT(podman_.RunReport({AskFor("all")}), HasGpus(Gpus{0, 1, 2, 3}));
}

TEST_P(ShimPodmanTest, AGpuThatIsNotThereIsRefused) {
  Image image(Nodes());
  ASSERT_NO_FATAL_FAILURE(Start(image));
  const e2e::Result refused = podman_.Run({AskFor("17")});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("17"));
}

}  // namespace
}  // namespace kgpu::engines
