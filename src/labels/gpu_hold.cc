#include "src/labels/gpu_hold.h"

#include <utility>

namespace kgpu::labels {

std::optional<NodeClaims> GpuHold::Update(device::DriverState state, bool has_gpus,
                                          NodeClaims claims, SteadyTime now) {
  if (state == device::DriverState::kReady) {
    silent_since_.reset();
    said_ = std::move(claims);
    return said_;
  }
  silent_since_ = silent_since_.value_or(now);
  const bool is_patient = now - *silent_since_ < kPatience;
  // No card, no driver to wait for: unless the bus, too, is not looked at yet.
  if (!has_gpus && state != device::DriverState::kStarting) {
    said_.reset();
    remembered_.reset();
    return claims;
  }
  if (is_patient) {
    return said_ ? said_ : remembered_;
  }
  said_.reset();
  remembered_.reset();
  return claims;
}

std::optional<SteadyTime> GpuHold::next() const {
  return silent_since_ ? std::optional(*silent_since_ + kPatience) : std::nullopt;
}

}  // namespace kgpu::labels
