#include "tests/engines/node.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "tests/integration/kubelet_times.h"

namespace kgpu::engines {
namespace {

constexpr const char* kResource = "nvidia.com/gpu";
constexpr std::chrono::seconds kPatience{30};

}  // namespace

ContainerdNode::ContainerdNode(Origin origin, const std::string& strategy)
    : node_(std::make_unique<integration::AgentNode>(
          integration::AgentNode::Options{.strategy = strategy})),
      engine_(std::make_unique<ContainerdEngine>(
          origin, node_->host().path() + "/run/containerd/containerd.sock")) {
  engine_->box().ShareRun(node_->host().path());
}

void ContainerdNode::Start(Image& image) {
  ASSERT_NO_FATAL_FAILURE(engine_->Start(image));
  kubelet_ = std::make_unique<kubelet::FakeKubelet>(kubelet::FakeKubelet::Options{
      .root = node_->kubelet_root(), .constants = integration::ShortTimes()});
  ASSERT_OK(kubelet_->Start());
  node_->StartAgent();
  ASSERT_TRUE(kubelet_->WaitForResource(kResource, {.capacity = 4, .allocatable = 4}, kPatience));
}

std::pair<kubelet::ContainerOptions, std::set<unsigned>> ContainerdNode::Allocate(
    const std::string& pod, int64_t gpus) {
  EXPECT_OK(kubelet_->AddPod(kubelet::SimplePod(pod, kResource, gpus)));
  EXPECT_TRUE(kubelet_->WaitForPhase(pod, kubelet::PodPhase::kRunning, kPatience));
  const kubelet::ContainerStatus container = kubelet_->FindPod(pod)->status.containers.at(0);
  const std::vector<std::string> uuids = node_->GpuUuids();
  std::set<unsigned> minors;
  for (unsigned minor = 0; minor < uuids.size(); ++minor) {
    if (container.devices.at(kResource).contains(uuids[minor])) {
      minors.insert(minor);
    }
  }
  return {container.options, minors};
}

}  // namespace kgpu::engines
