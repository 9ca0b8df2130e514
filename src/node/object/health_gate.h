// Derives the node's condition GPUHealthy from the snapshot, and limits how often it changes.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "src/gpu/device/snapshot.h"
#include "src/node/object/node_plan.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"

namespace kgpu::node {

// What the node should report about its GPUs' health. Empty inside: no condition of ours, since the
// node has no GPU and nobody `is_expected` to rely on one. Nothing: not known yet. Pure.
std::optional<DesiredHealth> DesiredHealthOf(const device::Snapshot& snapshot, bool is_expected);

struct HealthGateOptions {
  bool sets_condition = true;
  // Minimum time between two texts of the same status. A changed status is written immediately: the
  // hold-down and the flap limit of the faults keep it from flapping.
  std::chrono::milliseconds text_every{10'000};
};

// Lives on the loop's thread. Writes nothing itself.
class HealthGate {
 public:
  // Calls `changed` from the loop when request() has changed. `loop` must outlive it.
  HealthGate(EventLoop& loop, const HealthGateOptions& options, std::function<void()> changed);
  ~HealthGate();
  HealthGate(const HealthGate&) = delete;
  HealthGate& operator=(const HealthGate&) = delete;

  void SetSnapshot(device::SnapshotPtr snapshot);
  void SetNode(const SeenNode& node);
  // Another problem with health monitoring, appended to the message; empty: none.
  void SetNote(std::string note);
  // Nothing: not decided yet (the node or the GPUs have not been read); nothing is changed.
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
  SteadyTime reported_{};  // when desired_ last changed
  Timer timer_{loop_};
};

}  // namespace kgpu::node
