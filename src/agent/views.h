// From an assignment to what each resource shows the kubelet: pure functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/agent/injector.h"
#include "src/agent/slice_publisher.h"
#include "src/container/cri/runtime_facts.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/plugin/answer_cache.h"
#include "src/node/plugin/view.h"
#include "src/node/pools/assignment.h"

namespace kgpu::agent {

// The input for Allocate's answers.
struct Answering {
  // Null: not decided yet, calls wait.
  std::shared_ptr<const Injection> injection;
  std::optional<plugin::Delivery> delivery;
  // Where the parts of memory limits are. Nothing: not written yet, calls for slices wait.
  SlicePublisher::Paths slices{};
  mps::Paths mps{};

  // Why containers get nothing: parts of the driver are missing that the answers need.
  Status Obstacle() const;
};

// Decides how containers get devices. Precondition: the injection is decided. Logs a change.
void UpdateDelivery(const config::PluginConfig& config, const StatusOr<cri::RuntimeFacts>& runtime,
                    const std::string& cdi_folder, Answering& answering);

// One view per resource that has devices. `snapshot` is the one from which `assignment` was made.
std::vector<plugin::ResourceViewPtr> MakeViews(const pools::Assignment& assignment,
                                               const device::SnapshotPtr& snapshot,
                                               const config::NodeConfig& config,
                                               const Answering& answering);

}  // namespace kgpu::agent
