// What to claim about GPUs while the driver does not answer: for a while, what it said before.
// Replacing the driver, or booting, removes no label from the node. Pure: time is a parameter.
#pragma once

#include <chrono>
#include <optional>

#include "src/gpu/device/snapshot.h"
#include "src/node/labels/node_claims.h"
#include "src/platform/base/clock.h"

namespace kgpu::labels {

class GpuHold {
 public:
  // A driver that is built on the node needs ten minutes.
  static constexpr std::chrono::minutes kPatience{15};

  // Our claims on the node from before; used until the driver has answered once.
  void SetRemembered(NodeClaims claims) { remembered_ = std::move(claims); }

  // `claims` is what `snapshot` itself supports. Nothing: not known yet, ask again at next().
  std::optional<NodeClaims> Update(device::DriverState state, bool has_gpus, NodeClaims claims,
                                   SteadyTime now);
  // When the answer changes even without a new report: always later than the last Update.
  std::optional<SteadyTime> next() const { return next_; }

 private:
  std::optional<NodeClaims> said_;  // from a driver that answered
  std::optional<NodeClaims> remembered_;
  std::optional<SteadyTime> silent_since_;
  std::optional<SteadyTime> next_;
};

}  // namespace kgpu::labels
