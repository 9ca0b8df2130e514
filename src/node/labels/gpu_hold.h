// What is said of the GPUs while the driver does not answer: what it said before, for a while. A
// driver that is replaced, or a node that boots, takes no label off the node. Pure: time is given.
#pragma once

#include <chrono>
#include <optional>

#include "src/gpu/device/snapshot.h"
#include "src/node/labels/node_claims.h"
#include "src/platform/base/clock.h"

namespace kgpu::labels {

class GpuHold {
 public:
  // A driver that is built on the node takes ten minutes to come.
  static constexpr std::chrono::minutes kPatience{15};

  // What the node itself carries of ours, from before: taken until the driver has answered once.
  void SetRemembered(NodeClaims claims) { remembered_ = std::move(claims); }

  // `claims` is what `snapshot` says by itself. Nothing: not known yet, look again at next().
  std::optional<NodeClaims> Update(device::DriverState state, bool has_gpus, NodeClaims claims,
                                   SteadyTime now);
  // When the answer changes though nothing is reported: always later than the last Update.
  std::optional<SteadyTime> next() const { return next_; }

 private:
  std::optional<NodeClaims> said_;  // with a driver that answered
  std::optional<NodeClaims> remembered_;
  std::optional<SteadyTime> silent_since_;
  std::optional<SteadyTime> next_;
};

}  // namespace kgpu::labels
