#include "src/node/slices/device_changes.h"

#include <chrono>

namespace kgpu::slices {
namespace {

constexpr std::chrono::seconds kLookSoon{1};
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::seconds kLookLater{10};

}  // namespace

void DeviceChanges::Apply(pools::Assignment& fresh, const pools::Assignment& before) {
  const SteadyTime now = loop_.clock().Now();
  guard_.Apply(fresh, before, now, sources_.obstacle);
  const std::optional<SteadyTime> since = guard_.waiting_since();
  if (!since || timer_.is_armed()) {
    return;
  }
  timer_.Arm(now - *since < kPatience ? kLookSoon : kLookLater, [this] {
    sources_.look_at_pods();
    sources_.again();
  });
}

}  // namespace kgpu::slices
