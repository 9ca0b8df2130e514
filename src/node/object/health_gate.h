// The node's condition GPUHealthy: from the snapshot to what is said of it, and not too often.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "src/gpu/device/snapshot.h"
#include "src/node/object/node_plan.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::node {

// What the node should say of its GPUs' health. Nothing inside: none of ours on the node, since it
// has no GPU and nobody `is_expected` to count on one. Nothing at all: not known yet. Pure.
std::optional<DesiredHealth> DesiredHealthOf(const device::Snapshot& snapshot, bool is_expected);

struct HealthGateOptions {
  bool sets_condition = true;
  // Another text of the same status is written no more often than this. A change of the status is
  // written at once: the hold-down and the flap limit of the faults keep it from flapping.
  std::chrono::milliseconds text_every{10'000};
};

// Lives on the loop's thread. Writes nothing itself.
class HealthGate {
 public:
  // `changed` is called from the loop when request() has changed. `loop` outlives it.
  HealthGate(EventLoop& loop, const HealthGateOptions& options, std::function<void()> changed);
  ~HealthGate();
  HealthGate(const HealthGate&) = delete;
  HealthGate& operator=(const HealthGate&) = delete;

  void SetSnapshot(device::SnapshotPtr snapshot);
  void SetNode(const SeenNode& node);
  // What else is wrong with how health is watched: follows the message; empty: nothing.
  void SetNote(std::string note);
  // Nothing: not decided yet (the node or the GPUs have not been looked at), all is left as it is.
  const std::optional<DesiredHealth>& desired() const { return desired_; }

 private:
  void Look();

  EventLoop& loop_;
  HealthGateOptions options_;
  std::function<void()> changed_;
  device::SnapshotPtr snapshot_;
  std::string note_;
  bool has_node_ = false;
  bool is_expected_ = false;
  std::optional<DesiredHealth> desired_;
  SteadyTime reported_{};  // when desired_ became what it is
  TimerId timer_ = TimerId::kNone;
};

}  // namespace kgpu::node
