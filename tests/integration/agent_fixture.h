// A stub kubelet and the built agent on a simulated host, for both ways of registration.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testing/kubelet/checkpoint.h"
#include "testing/kubelet/fake_kubelet.h"
#include "testing/status_matchers.h"
#include "tests/integration/agent_node.h"
#include "tests/integration/kubelet_times.h"

namespace kgpu::integration {

using config::Registration;
using kubelet::ContainerState;
using kubelet::FakeKubelet;
using kubelet::PodPhase;

inline constexpr const char* kGpuResource = "nvidia.com/gpu";
inline constexpr std::chrono::seconds kAgentPatience{30};

class AgentFixture : public ::testing::TestWithParam<Registration> {
 protected:
  void SetUp() override {
    if (!e2e::CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
  }

  // Until the agent's status has the text.
  bool WaitForText(const std::string& text,
                   std::chrono::milliseconds limit = kAgentPatience) const {
    return node_->WaitForStatus(
        [&](const boost::json::value& status) {
          return boost::json::serialize(status).find(text) != std::string::npos;
        },
        limit);
  }
  bool is_watched() const { return GetParam() == Registration::kPluginWatcher; }

  // Host and kubelet; the agent does not run yet.
  void MakeNode(AgentNode::Options options = {}) {
    options.registration = GetParam();
    node_ = std::make_unique<AgentNode>(options);
    kubelet_ = std::make_unique<FakeKubelet>(
        FakeKubelet::Options{.root = node_->kubelet_root(), .constants = ShortTimes()});
    ASSERT_OK(kubelet_->Start());
  }
  // Everything, with `gpus` GPUs in the node's status.
  void StartNode(int64_t gpus, const AgentNode::Options& options = {}) {
    ASSERT_NO_FATAL_FAILURE(MakeNode(options));
    node_->StartAgent();
    ASSERT_TRUE(WaitForGpus(gpus, gpus));
  }
  // From now on nobody notices the agent's registrations.
  void Withhold() {
    kubelet_->Inject(kubelet::kRegisterPoint,
                     {.kind = kubelet::FaultKind::kError, .text = "not today"});
    kubelet_->Inject(kubelet::kWatcherPoint, {.kind = kubelet::FaultKind::kSkip});
  }

  bool WaitForGpus(int64_t allocatable, int64_t capacity,
                   const std::string& resource = kGpuResource) const {
    return kubelet_->WaitForResource(resource, {.capacity = capacity, .allocatable = allocatable},
                                     kAgentPatience);
  }
  bool WaitForPhase(const std::string& pod, PodPhase phase) const {
    return kubelet_->WaitForPhase(pod, phase, kAgentPatience);
  }
  void RunPod(const kubelet::PodSpec& pod) {
    ASSERT_OK(kubelet_->AddPod(pod));
    ASSERT_TRUE(WaitForPhase(pod.name, PodPhase::kRunning))
        << kubelet_->FindPod(pod.name)->status.message;
  }
  void RunPod(const std::string& name, int64_t gpus) {
    RunPod(kubelet::SimplePod(name, kGpuResource, gpus));
  }
  // The main container ends and is started again.
  void RestartContainer(const std::string& pod) {
    const int restarts = Container(pod).restarts;
    ASSERT_OK(kubelet_->ExitContainer(pod, "main", 1));
    ASSERT_TRUE(kubelet_->WaitFor(
        [&] {
          const kubelet::ContainerStatus container = Container(pod);
          return container.restarts == restarts + 1 && container.state == ContainerState::kRunning;
        },
        kAgentPatience));
  }

  kubelet::ContainerStatus Container(const std::string& pod,
                                     const std::string& name = "main") const {
    const std::optional<kubelet::Pod> found = kubelet_->FindPod(pod);
    if (found) {
      for (const kubelet::ContainerStatus& container : found->status.containers) {
        if (container.name == name) {
          return container;
        }
      }
    }
    ADD_FAILURE() << "no container " << name << " in pod " << pod;
    return {};
  }
  kubelet::DeviceIds IdsOf(const std::string& pod, const std::string& container = "main") const {
    return Container(pod, container).devices[kGpuResource];
  }
  std::string UidOf(const std::string& pod) const { return kubelet_->FindPod(pod)->spec.uid; }
  // What the kubelet has recorded for a pod's containers.
  std::vector<kubelet::Assignment> Assignments(const std::string& pod) const {
    const std::string uid = UidOf(pod);
    const auto checkpoint = kubelet::ParseCheckpoint(kubelet_->CheckpointText(), "checkpoint");
    EXPECT_OK(checkpoint.status());
    std::vector<kubelet::Assignment> found;
    if (checkpoint.ok()) {
      for (const kubelet::Assignment& assignment : checkpoint->entries) {
        if (assignment.pod_uid == uid) {
          found.push_back(assignment);
        }
      }
    }
    return found;
  }
  // Whether the pod's status reports this for its one device.
  bool WaitForHealth(const std::string& pod, const std::string& health) const {
    return kubelet_->WaitFor(
        [&] {
          const auto entries = Container(pod).health;
          return entries.size() == 1 && entries[0].health == health;
        },
        kAgentPatience);
  }

  std::unique_ptr<AgentNode> node_;
  std::unique_ptr<FakeKubelet> kubelet_;  // goes first: it reads the node's folders
};

}  // namespace kgpu::integration
