#include "src/node/pools/health_update.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <string_view>
#include <vector>

namespace kgpu::pools {
namespace {

bool AreSameButHealth(const device::Gpu& a, const device::Gpu& b) {
  if (a == b) {
    return true;
  }
  if (a.uuid != b.uuid || a.mig_devices.size() != b.mig_devices.size()) {
    return false;
  }
  device::Gpu changed = a;
  changed.health = b.health;
  for (size_t i = 0; i < changed.mig_devices.size(); ++i) {
    changed.mig_devices[i].health = b.mig_devices[i].health;
  }
  return changed == b;
}

}  // namespace

bool DifferInHealthAlone(const device::Snapshot& a, const device::Snapshot& b) {
  return a.driver == b.driver && a.unmanaged == b.unmanaged && a.companions == b.companions &&
         a.lost_gpus == b.lost_gpus && std::ranges::equal(a.gpus, b.gpus, &AreSameButHealth);
}

const device::Health& HealthOf(const device::Gpu& gpu, const device::MigDevice* mig) {
  return mig != nullptr && gpu.health.is_healthy ? mig->health : gpu.health;
}

void UpdateHealth(const device::Snapshot& snapshot, Assignment& assignment) {
  std::map<std::string_view, const device::Health*> healths;
  for (const device::Gpu& gpu : snapshot.gpus) {
    healths.emplace(gpu.uuid.str(), &HealthOf(gpu, nullptr));
    for (const device::MigDevice& mig : gpu.mig_devices) {
      healths.emplace(mig.uuid.str(), &HealthOf(gpu, &mig));
    }
  }
  for (std::vector<Resource>* resources : {&assignment.resources, &assignment.local}) {
    for (Slot& slot : *resources | std::views::transform(&Resource::slots) | std::views::join) {
      if (const auto found = healths.find(slot.device_uuid); found != healths.end()) {
        slot.health = *found->second;
      }
    }
  }
}

}  // namespace kgpu::pools
