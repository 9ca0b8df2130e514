// How an installation does, node by node: the chain driver → runtime → CDI → plugin → validated,
// and the first problem of each node.
#pragma once

#include <boost/json/object.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/install/record.h"
#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

enum class StepState : uint8_t { kOk, kWrong, kUnknown };

inline constexpr std::array<std::string_view, 5> kSteps = {"driver", "runtime", "cdi", "plugin",
                                                           "validated"};

struct NodeStatus {
  std::string name{};
  bool is_ready = false;
  bool has_gpus = true;     // false: an agent runs, and there is nothing to serve
  bool is_awaited = false;  // an agent runs and serves GPUs, but has not reported yet
  std::array<StepState, kSteps.size()> steps = {StepState::kUnknown, StepState::kUnknown,
                                                StepState::kUnknown, StepState::kUnknown,
                                                StepState::kUnknown};
  std::string agent{};    // "Running", "ImagePullBackOff"; "none" without a pod
  std::string image{};    // of the agent
  std::string gpus{};     // allocatable, of all our resources together: "8"
  std::string problem{};  // the first one, with the fix; empty: none
};

// Of a workload: "Deployment kgpu/kgpu-controller", and what it waits for.
struct WorkloadStatus {
  std::string name{};
  bool is_ready = false;
  std::string text{};
};

struct ClusterStatus {
  std::string space{};
  std::string version{};  // that installed it; empty: no record, so others have: helm, kubectl
  bool is_complete = false;
  std::vector<WorkloadStatus> workloads{};
  std::vector<NodeStatus> nodes{};  // by name; those with an agent's pod or a condition of ours
  bool IsHealthy() const;
};

// Which step a reason of the condition GPUReady belongs to: kSteps.size() if none. Pure.
size_t StepOfReason(std::string_view reason);

// Also of what helm or `kgpu cluster render | kubectl apply` has installed. Errors: NotFound (not
// installed there; names where it is), those of Send.
StatusOr<ClusterStatus> ReadStatus(kube::BlockingClient& client, kube::Kinds& kinds,
                                   const std::string& space);

std::string StatusTable(const ClusterStatus& status);
boost::json::object StatusJson(const ClusterStatus& status);

}  // namespace kgpu::install
