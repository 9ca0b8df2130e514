#include "src/node/labels/gpu_hold.h"

#include <utility>

namespace kgpu::labels {

std::optional<NodeClaims> GpuHold::Update(device::DriverState state, bool has_gpus,
                                          NodeClaims claims, SteadyTime now) {
  next_.reset();
  if (state == device::DriverState::kReady) {
    silent_since_.reset();
    said_ = std::move(claims);
    return said_;
  }
  silent_since_ = silent_since_.value_or(now);
  // No card, no driver to wait for: unless the bus, too, is not looked at yet.
  const bool is_waited_for = has_gpus || state == device::DriverState::kStarting;
  if (is_waited_for && now - *silent_since_ < kPatience) {
    next_ = *silent_since_ + kPatience;
    return said_ ? said_ : remembered_;
  }
  said_.reset();
  remembered_.reset();
  return claims;
}

}  // namespace kgpu::labels
