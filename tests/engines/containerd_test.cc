// Real containerds through their CRI: 1.6, which ignores CDI names, and newer ones that read CDI.
// The agent finds out which it is and answers the kubelet as the runtime needs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "testing/kubelet/fake_kubelet.h"
#include "testing/status_matchers.h"
#include "tests/engines/containerd.h"
#include "tests/engines/matchers.h"
#include "tests/integration/agent_node.h"
#include "tests/integration/kubelet_times.h"
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

constexpr const char* kResource = "nvidia.com/gpu";
constexpr std::chrono::seconds kPatience{30};

class ContainerdTest : public ::testing::TestWithParam<Origin> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"containerd", "ctr"}, GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  bool reads_cdi() const { return GetParam() != Origin::kMachine; }

  // The runtime where the host has it, and the agent, on a host with four GPUs.
  void StartNode(Image& image) {
    node_ = std::make_unique<integration::AgentNode>(integration::AgentNode::Options{});
    engine_ = std::make_unique<ContainerdEngine>(
        GetParam(), node_->host().path() + "/run/containerd/containerd.sock");
    engine_->box().ShareRun(node_->host().path());
    ASSERT_NO_FATAL_FAILURE(engine_->Start(image));
    kubelet_ = std::make_unique<kubelet::FakeKubelet>(kubelet::FakeKubelet::Options{
        .root = node_->kubelet_root(), .constants = integration::ShortTimes()});
    ASSERT_OK(kubelet_->Start());
    node_->StartAgent();
    ASSERT_TRUE(kubelet_->WaitForResource(kResource, {.capacity = 4, .allocatable = 4}, kPatience));
  }

  // What the agent answers for a pod with `gpus` GPUs, and their minors.
  std::pair<ContainerOptions, Gpus> Allocate(const std::string& pod, int64_t gpus) {
    EXPECT_OK(kubelet_->AddPod(kubelet::SimplePod(pod, kResource, gpus)));
    EXPECT_TRUE(kubelet_->WaitForPhase(pod, kubelet::PodPhase::kRunning, kPatience));
    const kubelet::ContainerStatus container = kubelet_->FindPod(pod)->status.containers.at(0);
    const std::vector<std::string> uuids = node_->GpuUuids();
    Gpus minors;
    for (unsigned minor = 0; minor < uuids.size(); ++minor) {
      if (container.devices.at(kResource).contains(uuids[minor])) {
        minors.insert(minor);
      }
    }
    return {container.options, minors};
  }

  std::unique_ptr<integration::AgentNode> node_;
  std::unique_ptr<ContainerdEngine> engine_;
  std::unique_ptr<kubelet::FakeKubelet> kubelet_;
};
INSTANTIATE_TEST_SUITE_P(Containerd, ContainerdTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie, Origin::kForky),
                         OriginName());

TEST_P(ContainerdTest, GivesAPodExactlyTheGpusThatTheAgentAnswered) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(StartNode(image));
  const auto [options, gpus] = Allocate("p", 2);
  EXPECT_THAT(gpus, SizeIs(2));
  EXPECT_THAT(options.cdi_devices, SizeIs(reads_cdi() ? 2 : 0));
  EXPECT_EQ(options.devices.empty(), reads_cdi());
  const Report report = engine_->RunReport({.options = options});
  EXPECT_THAT(report, AllOf(HasGpus(gpus), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(engine_->RunReport({}), HasGpus(Gpus{}));
}

TEST_P(ContainerdTest, TheLoaderOfARhelLikeImageFindsTheDriver) {
  Image image({.family = ImageFamily::kRhelLike});
  ASSERT_NO_FATAL_FAILURE(StartNode(image));
  const auto [options, gpus] = Allocate("p", 1);
  EXPECT_THAT(engine_->RunReport({.options = options, .is_root_read_only = true}),
              AllOf(HasGpus(gpus), FindsLibrariesIn("lib64")));
}

TEST_P(ContainerdTest, AMuslImageStartsWithItsNodes) {
  Image image({.family = ImageFamily::kMusl});
  ASSERT_NO_FATAL_FAILURE(StartNode(image));
  const auto [options, gpus] = Allocate("p", 4);
  EXPECT_THAT(engine_->RunReport({.options = options}), HasGpus(gpus));
}

class CdiContainerdTest : public ContainerdTest {};
INSTANTIATE_TEST_SUITE_P(Containerd, CdiContainerdTest,
                         ::testing::Values(Origin::kTrixie, Origin::kForky), OriginName());

TEST_P(CdiContainerdTest, CompanionsAreGivenByTheirCdiNames) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(StartNode(image));
  node_->host().Inject("with", {"imex=3,gdrcopy"});
  const auto is_declared = [this] {
    return std::ranges::count(node_->CdiDevices(), "kgpu.dev/imex-channel=2") == 1;
  };
  ASSERT_TRUE(integration::WaitInFolder(node_->cdi_folder(), is_declared));
  auto [options, gpus] = Allocate("p", 1);
  options.cdi_devices.insert(options.cdi_devices.end(),
                             {"kgpu.dev/imex-channel=2", "kgpu.dev/gdrcopy=all"});
  const Report report = engine_->RunReport({.options = options});
  EXPECT_THAT(report, HasGpus(gpus));
  EXPECT_THAT(report.nodes, IsSupersetOf({"gdrdrv", "nvidia-caps-imex-channels/channel2"}));
  EXPECT_THAT(report.nodes, Not(Contains("nvidia-caps-imex-channels/channel0")));
}

TEST_P(CdiContainerdTest, ANameThatIsNotDeclaredIsRefused) {
  Image image;
  ASSERT_NO_FATAL_FAILURE(StartNode(image));
  ContainerOptions options;
  options.cdi_devices = {"kgpu.dev/gpu=17"};
  EXPECT_THAT(engine_->TryRun({.options = options}).ToString(), HasSubstr("kgpu.dev/gpu=17"));
}

}  // namespace
}  // namespace kgpu::engines
