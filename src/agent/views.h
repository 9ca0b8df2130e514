// From an assignment to what each resource shows the kubelet: pure.
#pragma once

#include <memory>
#include <vector>

#include "src/agent/injector.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/plugin/answer_cache.h"
#include "src/node/plugin/view.h"
#include "src/node/pools/assignment.h"

namespace kgpu::agent {

// What Allocate's answers are made of.
struct Answering {
  // Null: not decided yet, calls wait.
  std::shared_ptr<const Injection> injection;
  std::optional<plugin::Delivery> delivery;

  // Why containers can get nothing: parts of the driver are missing, and the answers have them.
  Status Obstacle() const;
};

// One view for each resource that has devices. `snapshot` is the one `assignment` was made of.
std::vector<plugin::ResourceViewPtr> MakeViews(const pools::Assignment& assignment,
                                               const device::SnapshotPtr& snapshot,
                                               const config::NodeConfig& config,
                                               const Answering& answering);

}  // namespace kgpu::agent
