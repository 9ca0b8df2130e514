// From an assignment to what each resource shows the kubelet: pure functions.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/container/cri/runtime_facts.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/injection/injector.h"
#include "src/node/mps/paths.h"
#include "src/node/plugin/answer_cache.h"
#include "src/node/plugin/view.h"
#include "src/node/pools/assignment.h"
#include "src/node/slices/slice_publisher.h"

namespace kgpu::agent {

// The input for Allocate's answers.
struct Answering {
  // Null: not decided yet, calls wait.
  std::shared_ptr<const injection::Injection> injection;
  std::optional<plugin::Delivery> delivery;
  // Where the parts of memory limits are. Nothing: not written yet, calls for slices wait.
  slices::SlicePublisher::Paths slices{};
  mps::Paths mps{};
  // Gives slots to their next container: plugin::ResourceView::prepare of memory slices.
  std::function<Status(std::span<const std::string> ids)> renew_slices{};

  // Why containers get nothing: parts of the driver are missing that the answers need, or the CDI
  // specs whose names the answers have.
  Status Obstacle() const;
};

// Where the files of shared devices are, those of memory slices if they are needed. Errors:
// Unavailable (not written yet), and why they cannot be written.
StatusOr<sharing::Places> PlacesOf(const Answering& answering, bool needs_slices);
// Why the runtime cannot use CDI devices, without which claims give nothing; empty: it can, or is
// not known yet.
std::string CdiObstacle(const Answering& answering);

// Of slots that no container could get, with the obstacle as the message.
inline constexpr char kInjectionReason[] = "InjectionNotReady";
// Marks the kubelet's healthy slots unhealthy while there is an obstacle: a pod must not be
// admitted and then refused.
void MarkObstacle(const Status& obstacle, pools::Assignment& shown);

// Decides how containers get devices. Precondition: the injection is decided. Logs a change.
void UpdateDelivery(const config::PluginConfig& config, const StatusOr<cri::RuntimeFacts>& runtime,
                    const std::string& cdi_folder, Answering& answering);

// One view per resource that has devices. `snapshot` is the one from which `assignment` was made.
std::vector<plugin::ResourceViewPtr> MakeViews(const pools::Assignment& assignment,
                                               const device::SnapshotPtr& snapshot,
                                               const config::NodeConfig& config,
                                               const Answering& answering);

}  // namespace kgpu::agent
