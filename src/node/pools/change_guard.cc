#include "src/node/pools/change_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "src/platform/base/stable_hash.h"

namespace kgpu::pools {
namespace {

// Devices that vanish are remembered, since pods may still hold them; MIG devices that come and go
// all day have new names each time.
constexpr size_t kMostGone = 128;

ChangeGuard::Shapes ShapesOf(const Assignment& assignment) {
  std::map<std::string, std::pair<std::string, std::string>> texts;  // card and slots
  for (const Resource& resource : assignment.resources) {
    for (const Slot& slot : resource.slots) {
      auto& [card, text] = texts[slot.device_uuid];
      card = slot.gpu.str();
      text += fmt::format("{}{} {} {}{}", resource.by_claims ? "claims " : "", resource.name,
                          slot.id, slot.memory ? slot.memory->count : 0,
                          resource.share.by->ShapeOf(resource.share, LimitsOf(slot)));
    }
  }
  ChangeGuard::Shapes shapes;
  for (const auto& [device, pair] : texts) {
    shapes[device] = {.card = pair.first, .slots = StableHash(pair.second)};
  }
  return shapes;
}

// Of the other kind: the GPU of a MIG device, or the MIG devices of a GPU. They are the same
// memory.
std::vector<std::string> RivalsOf(const std::string& device, const ChangeGuard::Shape& shape,
                                  const ChangeGuard::Shapes& shown) {
  std::vector<std::string> rivals;
  for (const auto& [other, known] : shown) {
    if (known.card == shape.card && (other == known.card) != (device == shape.card)) {
      rivals.push_back(other);
    }
  }
  return rivals;
}

void Withdraw(const std::map<std::string, std::string>& reasons, Assignment& assignment) {
  std::set<std::string> noted;
  for (Resource& resource : assignment.resources) {
    std::erase_if(resource.slots, [&](const Slot& slot) {
      const auto found = reasons.find(slot.device_uuid);
      if (found == reasons.end()) {
        return false;
      }
      if (noted.insert(slot.device_uuid).second) {
        assignment.unassigned.push_back(
            {slot.device_uuid, found->second, slot.gpu, /*is_changing=*/true});
      }
      return true;
    });
  }
}

// Those of devices that `is_kept` names.
void KeepSlots(Assignment& assignment, const std::function<bool(const std::string&)>& is_kept) {
  for (Resource& resource : assignment.resources) {
    std::erase_if(resource.slots, [&](const Slot& slot) { return !is_kept(slot.device_uuid); });
  }
  std::erase_if(assignment.resources,
                [](const Resource& resource) { return resource.slots.empty(); });
}

}  // namespace

std::optional<SteadyTime> ChangeGuard::waiting_since() const {
  const auto last =
      std::ranges::max_element(withdrawn_, {}, [](const auto& entry) { return entry.second; });
  return last == withdrawn_.end() ? std::nullopt : std::optional(last->second);
}

// Empty: the device is, or may become, what it is to be.
std::string ChangeGuard::ObstacleTo(const std::string& device, const Shape& shape, SteadyTime now,
                                    const Obstacle& obstacle) {
  const auto shown = shown_.find(device);
  const bool is_new = shown == shown_.end();
  const std::vector<std::string> rivals =
      is_new ? RivalsOf(device, shape, shown_) : std::vector<std::string>();
  if (is_new ? rivals.empty() : shown->second.slots == shape.slots) {
    withdrawn_.erase(device);
    return "";
  }
  const SteadyTime since = withdrawn_.try_emplace(device, now).first->second;
  std::string why = obstacle(device, since);
  for (auto rival = rivals.begin(); rival != rivals.end() && why.empty(); ++rival) {
    why = obstacle(*rival, since);
  }
  if (why.empty()) {
    withdrawn_.erase(device);
    for (const std::string& rival : rivals) {
      shown_.erase(rival);
    }
  }
  return why;
}

// False: `before` has no slots of it.
bool ChangeGuard::Hold(const std::string& device, const Assignment& before) {
  bool has_slots = false;
  for (const Resource& resource : before.resources) {
    for (const Slot& slot : resource.slots) {
      if (slot.device_uuid != device) {
        continue;
      }
      auto same = std::ranges::find_if(held_.resources, [&](const Resource& held) {
        return held.name == resource.name && held.share == resource.share &&
               held.by_claims == resource.by_claims;
      });
      if (same == held_.resources.end()) {
        held_.resources.push_back({.name = resource.name,
                                   .slots = {},
                                   .share = resource.share,
                                   .by_claims = resource.by_claims});
        same = std::prev(held_.resources.end());
      }
      same->slots.push_back(slot);
      has_slots = true;
    }
  }
  return has_slots;
}

std::vector<Resource> ChangeGuard::MakeRecall() const {
  std::vector<Resource> slots = held_.resources;
  slots.insert(slots.end(), recalled_.resources.begin(), recalled_.resources.end());
  return slots;
}

// One that a pod still holds must not come back as a new one.
void ChangeGuard::ForgetOldest(const Shapes& current, const Obstacle& obstacle) {
  while (shown_.size() > current.size() + kMostGone) {
    std::vector<Shapes::iterator> gone;
    for (auto entry = shown_.begin(); entry != shown_.end(); ++entry) {
      if (!current.contains(entry->first)) {
        gone.push_back(entry);
      }
    }
    // While it is not known what pods hold, every device may be in use. A GPU, of which there are
    // few, comes back with its UUID, and a MIG device does not.
    std::ranges::stable_sort(gone, {}, [](auto entry) {
      return std::pair(entry->first == entry->second.card, entry->second.last_seen);
    });
    const auto idle = std::ranges::find_if(
        gone, [&](auto entry) { return obstacle(entry->first, SteadyTime()).empty(); });
    shown_.erase(idle == gone.end() ? gone.front() : *idle);
  }
}

void ChangeGuard::Apply(Assignment& assignment, const Assignment& before, SteadyTime now,
                        const Obstacle& obstacle) {
  ++round_;
  Shapes wanted = ShapesOf(assignment);
  std::map<std::string, std::string> reasons;
  for (auto& [device, shape] : wanted) {
    const bool was_withdrawn = withdrawn_.contains(device);
    const std::string why = ObstacleTo(device, shape, now, obstacle);
    if (why.empty()) {
      continue;
    }
    reasons.emplace(device,
                    fmt::format("its pool or its usable memory has changed, and it changes once "
                                "nobody uses it: {}",
                                why));
    if (!was_withdrawn && !Hold(device, before)) {
      (void)Hold(device, recalled_);
    }
  }
  std::erase_if(withdrawn_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  KeepSlots(held_, [&](const std::string& device) { return withdrawn_.contains(device); });
  for (auto& [device, shape] : wanted) {
    shape.last_seen = round_;
    const auto shown = shown_.find(device);
    if (!reasons.contains(device)) {
      shown_.insert_or_assign(device, std::move(shape));
    } else if (shown != shown_.end()) {
      shown->second.last_seen = round_;
    }
  }
  ForgetOldest(wanted, obstacle);
  KeepSlots(recalled_, [&](const std::string& device) {
    return shown_.contains(device) && !wanted.contains(device);
  });
  Withdraw(reasons, assignment);
}

}  // namespace kgpu::pools
