// The agent's own image on a GPU host, as a kubelet starts it there: a simulated host whose folders
// a real engine mounts as the manifest says, and the kubelet that the agent registers with.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "testing/kubelet/fake_kubelet.h"
#include "tests/e2e/sim_host.h"
#include "tests/engines/agent_pod.h"
#include "tests/engines/box.h"

namespace kgpu::engines {

// scripts/image.sh's image of this build, as an archive; gone from the machine at the end.
class AgentImage {
 public:
  AgentImage();
  ~AgentImage();
  AgentImage(const AgentImage&) = delete;
  AgentImage& operator=(const AgentImage&) = delete;

  const std::string& name() const { return name_; }
  std::string archive() const { return dir_.At("image.tar"); }

 private:
  TempDir dir_;
  std::string name_;
};

class AgentMachine {
 public:
  // Four GPUs, and a kubelet that waits for plugins.
  AgentMachine();
  // `box` becomes this host; it must outlive the machine.
  void LiveIn(EngineBox& box);

  e2e::SimHost& host() { return host_; }
  kubelet::FakeKubelet& kubelet() { return *kubelet_; }
  // The folder that agent.sock is in.
  std::string run_dir() const { return host_.path() + "/run/kgpu"; }
  // Where the box has what the pod mounts; folders of the host that are missing are made.
  std::vector<kubelet::BindMount> MountsOf(const AgentPod& pod);

  // The output of `kgpu status`, and of `kgpu node status`; empty while no agent answers.
  std::string Status(const std::string& output = "table") const;
  std::string NodeStatus() const;
  // Waits until `is_there` holds.
  bool Wait(const std::function<bool()>& is_there) const;
  // What the agent answers for a pod with `gpus` GPUs, and their minors.
  std::pair<kubelet::ContainerOptions, std::set<unsigned>> Allocate(const std::string& pod,
                                                                    int64_t gpus);

 private:
  EngineBox* box_ = nullptr;
  e2e::SimHost host_;
  std::unique_ptr<kubelet::FakeKubelet> kubelet_;
};

}  // namespace kgpu::engines
