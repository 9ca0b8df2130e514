#include "src/node/pools/change_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace kgpu::pools {
namespace {

void Withdraw(const std::map<std::string, std::string>& reasons, Assignment& assignment) {
  std::set<std::string> noted;
  for (std::vector<Resource>* resources : {&assignment.resources, &assignment.local}) {
    for (Resource& resource : *resources) {
      std::erase_if(resource.slots, [&](const Slot& slot) {
        const auto found = reasons.find(slot.device_uuid);
        if (found == reasons.end()) {
          return false;
        }
        if (noted.insert(slot.device_uuid).second) {
          assignment.unassigned.push_back({slot.device_uuid, found->second, slot.gpu});
        }
        return true;
      });
    }
  }
}

}  // namespace

ChangeGuard::Shapes ChangeGuard::ShapesOf(const Assignment& assignment) {
  Shapes shapes;
  for (const Resource& resource : assignment.resources) {
    for (const Slot& slot : resource.slots) {
      shapes[slot.device_uuid] +=
          fmt::format("{} {} {}\n", resource.name, slot.id, slot.memory ? slot.memory->count : 0);
    }
  }
  return shapes;
}

void ChangeGuard::Recall(const Assignment& assignment) {
  shown_ = ShapesOf(assignment);
}

void ChangeGuard::Apply(Assignment& assignment, SteadyTime now, const Obstacle& obstacle) {
  Shapes wanted = ShapesOf(assignment);
  std::map<std::string, std::string> reasons;
  for (auto& [device, shape] : wanted) {
    const auto shown = shown_.find(device);
    if (shown == shown_.end() || shown->second == shape) {
      withdrawn_.erase(device);
      continue;
    }
    const SteadyTime since = withdrawn_.try_emplace(device, now).first->second;
    if (std::string why = obstacle(device, since); !why.empty()) {
      reasons.emplace(device, fmt::format("its pool has changed, and it changes once nobody uses "
                                          "it: {}",
                                          why));
      shape = shown->second;
    } else {
      withdrawn_.erase(device);
    }
  }
  std::erase_if(withdrawn_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  // A device that vanishes or is excluded keeps its shape: pods may still hold it.
  for (auto& [device, shape] : wanted) {
    shown_[device] = std::move(shape);
  }
  Withdraw(reasons, assignment);
}

}  // namespace kgpu::pools
