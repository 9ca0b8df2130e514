#include "src/node/pools/roster.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace kgpu::pools {
namespace {

device::Health HealthOfGone(bool is_driver_ready) {
  if (is_driver_ready) {
    return {.is_healthy = false,
            .reason = "DeviceGone",
            .message =
                "the driver no longer reports this device: run kgpu devices to list the devices; "
                "delete the pods that use it"};
  }
  return {.is_healthy = false,
          .reason = "DriverNotReady",
          .message = "the driver does not answer: run kgpu devices to see why"};
}

// The kubelet and claims may have a resource of the same name: MIG devices are named by profile.
Resource& ResourceIn(std::vector<Resource>& resources, const Resource& wanted) {
  auto place = std::ranges::lower_bound(resources, wanted.name, {}, &Resource::name);
  for (; place != resources.end() && place->name == wanted.name; ++place) {
    if (place->by_claims == wanted.by_claims) {
      return *place;
    }
  }
  return *resources.insert(place, wanted);
}

// Calls `act` with each slot, its resource, and whether that is a local pool's.
template <typename Act>
void ForEachSlot(const Assignment& assignment, Act act) {
  for (const bool is_local : {false, true}) {
    for (const Resource& resource : is_local ? assignment.local : assignment.resources) {
      for (const Slot& slot : resource.slots) {
        act(slot, resource, is_local);
      }
    }
  }
}

}  // namespace

Assignment Roster::Update(Assignment fresh, bool is_driver_ready, SteadyTime now) {
  ForgetPresent(fresh);
  Age(is_driver_ready, now);
  DropOverflow(is_driver_ready ? options_.max_gone : options_.max_silent);
  std::map<std::string, Known> seen;
  ForEachSlot(fresh, [&seen](const Slot& slot, const Resource& resource, bool is_local) {
    Known& known = seen[slot.device_uuid];
    known.resource = resource.name;
    known.is_local = is_local;
    known.by_claims = resource.by_claims;
    known.share = resource.share;
    known.slots.push_back(slot);
  });
  for (const auto& [uuid, known] : known_) {
    AddGone(known, is_driver_ready, fresh);
  }
  known_.merge(std::move(seen));
  return fresh;
}

void Roster::ForgetPresent(const Assignment& fresh) {
  std::set<std::string_view> present;
  ForEachSlot(fresh, [&present](const Slot& slot, const Resource&, bool) {
    present.insert(slot.device_uuid);
    // A GPU whose MIG devices are handed out has not gone, it is cut.
    present.insert(slot.gpu.str());
  });
  for (const Unassigned& unassigned : fresh.unassigned) {
    present.insert(unassigned.device_uuid);
    present.insert(unassigned.gpu.str());
  }
  std::erase_if(known_, [&](const auto& known) { return present.contains(known.first); });
}

// Everything that is still known here is not in the newest assignment.
void Roster::Age(bool is_driver_ready, SteadyTime now) {
  for (auto& [uuid, known] : known_) {
    if (!is_driver_ready) {
      known.expiry.reset();
    } else if (!known.expiry) {
      known.expiry = now + options_.grace;
    }
  }
  std::erase_if(known_, [now](const auto& known) {
    return known.second.expiry.value_or(SteadyTime::max()) <= now;
  });
}

void Roster::DropOverflow(size_t max_gone) {
  if (known_.size() <= max_gone) {
    return;
  }
  std::vector<std::pair<SteadyTime, std::string>> by_expiry;
  by_expiry.reserve(known_.size());
  for (const auto& [uuid, known] : known_) {
    by_expiry.emplace_back(known.expiry.value_or(SteadyTime::max()), uuid);
  }
  std::ranges::sort(by_expiry);
  by_expiry.resize(known_.size() - max_gone);
  for (const auto& [expiry, uuid] : by_expiry) {
    known_.erase(uuid);
  }
}

void Roster::AddGone(const Known& known, bool is_driver_ready, Assignment& out) {
  Resource& resource = ResourceIn(
      known.is_local ? out.local : out.resources,
      {.name = known.resource, .slots = {}, .share = known.share, .by_claims = known.by_claims});
  if (resource.share != known.share || resource.slots.size() + known.slots.size() > kMaxSlots) {
    return;
  }
  for (Slot slot : known.slots) {
    slot.health = HealthOfGone(is_driver_ready);
    resource.slots.push_back(std::move(slot));
  }
}

void Roster::Forget(const device::GpuUuid& gpu) {
  std::erase_if(known_, [&gpu](const auto& known) {
    return !known.second.slots.empty() && known.second.slots.front().gpu == gpu;
  });
}

std::optional<SteadyTime> Roster::next_expiry() const {
  std::optional<SteadyTime> next;
  for (const auto& [uuid, known] : known_) {
    if (known.expiry && (!next || *known.expiry < *next)) {
      next = known.expiry;
    }
  }
  return next;
}

}  // namespace kgpu::pools
