// A cluster node below the kubelet: a simulated host, a real containerd, the built agent, and a
// kubelet that calls it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "testing/kubelet/fake_kubelet.h"
#include "testing/kubelet/plugin_api.h"
#include "tests/engines/containerd.h"
#include "tests/integration/agent_node.h"

namespace kgpu::engines {

class ContainerdNode {
 public:
  // `strategy`: the agent's plugin.deviceListStrategy.
  explicit ContainerdNode(Origin origin, const std::string& strategy = "auto");

  ContainerdEngine& engine() { return *engine_; }
  integration::AgentNode& agent_node() { return *node_; }
  // Starts the runtime at its usual path, with `image`; then agent and kubelet, until all four GPUs
  // are there.
  void Start(Image& image);
  // What the agent answers for a pod with `gpus` GPUs, and their minors.
  std::pair<kubelet::ContainerOptions, std::set<unsigned>> Allocate(const std::string& pod,
                                                                    int64_t gpus);

 private:
  std::unique_ptr<integration::AgentNode> node_;
  std::unique_ptr<ContainerdEngine> engine_;
  std::unique_ptr<kubelet::FakeKubelet> kubelet_;
};

}  // namespace kgpu::engines
