// kgpu-runtime under real containerds as the runtime handler nvidia, with the ways of NVIDIA's own
// device plugin: a list of GPUs in the environment, or as mounts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <memory>

#include "tests/engines/matchers.h"
#include "tests/engines/node.h"

namespace kgpu::engines {
namespace {

using e2e::ImageFamily;
using kubelet::ContainerOptions;
using ::testing::AllOf;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ShimContainerdTest : public ::testing::TestWithParam<Origin> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"containerd", "ctr"}, GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  // A node whose agent answers by `strategy`, and kgpu-runtime as the handler nvidia.
  void Start(Image& image, const std::string& strategy) {
    node_ = std::make_unique<ContainerdNode>(GetParam(), strategy);
    node_->engine().AddHandler("nvidia", e2e::ProgramPath("kgpu-runtime"));
    ASSERT_NO_FATAL_FAILURE(node_->Start(image));
  }
  Report RunReport(const ContainerOptions& options) {
    return node_->engine().RunReport({.runtime_handler = "nvidia", .options = options});
  }

  std::unique_ptr<ContainerdNode> node_;
};
INSTANTIATE_TEST_SUITE_P(ShimContainerd, ShimContainerdTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie, Origin::kForky),
                         OriginName());

TEST_P(ShimContainerdTest, MountsOfNothingNameThePodsGpus) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image, "volume-mounts"));
  const auto [options, gpus] = node_->Allocate("p", 2);
  EXPECT_THAT(options.mounts, SizeIs(2));
  EXPECT_THAT(options.devices, IsEmpty());
  EXPECT_THAT(RunReport(options), AllOf(HasGpus(gpus), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(RunReport({}), HasGpus(Gpus{}));
}

TEST_P(ShimContainerdTest, TheEnvironmentCountsOnlyWhereTheAdminSaysSo) {
  for (const bool is_accepted : {false, true}) {
    Image image({.family = ImageFamily::kRhelLike});
    node_.reset();
    node_ = std::make_unique<ContainerdNode>(GetParam(), "envvar");
    node_->engine().AddHandler("nvidia", e2e::ProgramPath("kgpu-runtime"));
    node_->engine().box().WriteEtc("kgpu/runtime.json",
                                   fmt::format("{{\"acceptEnv\": {}}}", is_accepted));
    ASSERT_NO_FATAL_FAILURE(node_->Start(image));
    const auto [options, gpus] = node_->Allocate("p", 1);
    const Report report = RunReport(options);
    EXPECT_THAT(report, HasGpus(is_accepted ? gpus : Gpus{}));
    if (is_accepted) {
      EXPECT_THAT(report, FindsLibrariesIn("lib64"));
    }
  }
}

}  // namespace
}  // namespace kgpu::engines
