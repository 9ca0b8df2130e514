// Real containerds through their CRI: 1.6, which ignores CDI names, and newer ones that read CDI.
// The agent finds out which it is and answers the kubelet as the runtime needs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/engines/matchers.h"
#include "tests/engines/node.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::engines {
namespace {

using e2e::ImageFamily;
using kubelet::ContainerOptions;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

class ContainerdTest : public ::testing::TestWithParam<Origin> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"containerd", "ctr"}, GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  bool reads_cdi() const { return GetParam() != Origin::kMachine; }

  void Start(Image& image) {
    node_ = std::make_unique<ContainerdNode>(GetParam());
    ASSERT_NO_FATAL_FAILURE(node_->Start(image));
  }
  ContainerdEngine& engine() { return node_->engine(); }

  std::unique_ptr<ContainerdNode> node_;
};
INSTANTIATE_TEST_SUITE_P(Containerd, ContainerdTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie, Origin::kForky),
                         OriginName());

TEST_P(ContainerdTest, GivesAPodExactlyTheGpusThatTheAgentAnswered) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image));
  const auto [options, gpus] = node_->Allocate("p", 2);
  EXPECT_THAT(gpus, SizeIs(2));
  EXPECT_THAT(options.cdi_devices, SizeIs(reads_cdi() ? 2 : 0));
  EXPECT_EQ(options.devices.empty(), reads_cdi());
  const Report report = engine().RunReport({.options = options});
  EXPECT_THAT(report, AllOf(HasGpus(gpus), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(engine().RunReport({}), HasGpus(Gpus{}));
}

TEST_P(ContainerdTest, TheLoaderOfARhelLikeImageFindsTheDriver) {
  Image image({.family = ImageFamily::kRhelLike});
  ASSERT_NO_FATAL_FAILURE(Start(image));
  const auto [options, gpus] = node_->Allocate("p", 1);
  EXPECT_THAT(engine().RunReport({.options = options, .security = {.is_root_read_only = true}}),
              AllOf(HasGpus(gpus), FindsLibrariesIn("lib64")));
}

TEST_P(ContainerdTest, AMuslImageStartsWithItsNodes) {
  Image image({.family = ImageFamily::kMusl});
  ASSERT_NO_FATAL_FAILURE(Start(image));
  const auto [options, gpus] = node_->Allocate("p", 4);
  EXPECT_THAT(engine().RunReport({.options = options}), HasGpus(gpus));
}

class CdiContainerdTest : public ContainerdTest {};
INSTANTIATE_TEST_SUITE_P(Containerd, CdiContainerdTest,
                         ::testing::Values(Origin::kTrixie, Origin::kForky), OriginName());

TEST_P(CdiContainerdTest, CompanionsAreGivenByTheirCdiNames) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image));
  node_->agent_node().host().Inject("with", {"imex=3,gdrcopy"});
  const auto is_declared = [this] {
    return std::ranges::count(node_->agent_node().CdiDevices(), "kgpu.dev/imex-channel=2") == 1;
  };
  ASSERT_TRUE(integration::WaitInFolder(node_->agent_node().cdi_folder(), is_declared));
  auto [options, gpus] = node_->Allocate("p", 1);
  options.cdi_devices.insert(options.cdi_devices.end(),
                             {"kgpu.dev/imex-channel=2", "kgpu.dev/gdrcopy=all"});
  const Report report = engine().RunReport({.options = options});
  EXPECT_THAT(report, HasGpus(gpus));
  EXPECT_THAT(report.nodes, IsSupersetOf({"gdrdrv", "nvidia-caps-imex-channels/channel2"}));
  EXPECT_THAT(report.nodes, Not(Contains("nvidia-caps-imex-channels/channel0")));
}

TEST_P(CdiContainerdTest, ANameThatIsNotDeclaredIsRefused) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(Start(image));
  ContainerOptions options;
  options.cdi_devices = {"kgpu.dev/gpu=17"};
  EXPECT_THAT(engine().TryRun({.options = options}).ToString(), HasSubstr("kgpu.dev/gpu=17"));
}

}  // namespace
}  // namespace kgpu::engines
