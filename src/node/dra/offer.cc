#include "src/node/dra/offer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "src/gpu/device/mig.h"
#include "src/gpu/device/mig_mode.h"
#include "src/node/dra/attributes.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;

// Slots of one device that are the same to a claim.
struct Group {
  const pools::Resource* resource = nullptr;
  std::vector<const pools::Slot*> slots;
};

std::vector<Group> GroupsOf(const device::Gpu& gpu, const std::vector<pools::Resource>& resources) {
  std::vector<Group> groups;
  for (const pools::Resource& resource : resources) {
    std::map<std::string, Group> by_device;
    for (const pools::Slot& slot : resource.slots) {
      if (slot.gpu == gpu.uuid) {
        Group& group = by_device[slot.device_uuid];
        group.resource = &resource;
        group.slots.push_back(&slot);
      }
    }
    for (auto& [device, group] : by_device) {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

const device::MigDevice* FindMig(const device::Gpu& gpu, std::string_view uuid) {
  const auto found = std::ranges::find_if(
      gpu.mig_devices, [&](const device::MigDevice& mig) { return mig.uuid.str() == uuid; });
  return found == gpu.mig_devices.end() ? nullptr : &*found;
}

// The table's row for the profile of a MIG device that exists.
const device::MigProfile* FindProfile(const mig::Geometry* geometry, std::string_view name) {
  const auto at = geometry != nullptr ? geometry->Find(name) : std::nullopt;
  return at ? &geometry->profiles()[*at] : nullptr;
}

// The counters of a MIG device at `start`, by the counters' names.
std::map<std::string, uint64_t> UseOf(const device::MigProfile& profile, unsigned start) {
  std::map<std::string, uint64_t> use = {
      {"compute-slices", profile.slices}, {"copy-engines", profile.copy_engines},
      {"decoders", profile.decoders},     {"encoders", profile.encoders},
      {"jpeg-engines", profile.jpegs},    {"ofa-engines", profile.ofas}};
  for (unsigned slice = start; slice < start + profile.memory_slices; ++slice) {
    use[fmt::format("memory-slice-{}", slice)] = 1;
  }
  std::erase_if(use, [](const auto& counter) { return counter.second == 0; });
  return use;
}

json::object CountersOf(const std::map<std::string, uint64_t>& use) {
  json::object counters;
  for (const auto& [name, count] : use) {
    counters[name] = {{"value", std::to_string(count)}};
  }
  return counters;
}

// Everything that the GPU's MIG devices can have together, each counter at its largest: what the
// whole GPU takes.
std::map<std::string, uint64_t> AllOf(const mig::Geometry& geometry) {
  std::map<std::string, uint64_t> all;
  for (const device::MigProfile& profile : geometry.profiles()) {
    for (const unsigned start : profile.starts) {
      for (const auto& [name, count] : UseOf(profile, start)) {
        // Profiles without media engines of their own share those of the largest.
        all[name] = std::max(all[name], count);
      }
    }
  }
  return all;
}

class CardBuilder {
 public:
  CardBuilder(const device::Snapshot& snapshot, const device::Gpu& gpu, const OfferOptions& options)
      : snapshot_(snapshot), gpu_(gpu), options_(options) {
    if (auto geometry = mig::Geometry::OfModel(gpu.pci_device_id); geometry.ok()) {
      geometry_ = std::make_unique<mig::Geometry>(*std::move(geometry));
    }
    card_.gpu = gpu.uuid;
    is_partitioned_ = geometry_ != nullptr && options.partitioned.contains(gpu.uuid.str());
    if (is_partitioned_) {
      FindForeign();
    }
  }

  void Add(const Group& group) {
    const pools::Slot& first = *group.slots.front();
    const device::MigDevice* mig =
        first.device_uuid == gpu_.uuid.str() ? nullptr : FindMig(gpu_, first.device_uuid);
    if (first.device_uuid != gpu_.uuid.str() && mig == nullptr) {
      return;  // it has just vanished
    }
    if (mig == nullptr && IsNeverWhole()) {
      return;
    }
    Offer offer{.name = NameOf(group, mig),
                .device_uuid = first.device_uuid,
                .resource = group.resource->name};
    json::object attributes =
        mig == nullptr ? GpuAttributes(snapshot_, gpu_, Extra(group.resource->name))
                       : MigAttributes(snapshot_, gpu_, *mig, Extra(group.resource->name));
    json::object capacities = mig == nullptr
                                  ? GpuCapacities(gpu_, geometry_.get())
                                  : MigCapacities(*mig, FindProfile(geometry_.get(), mig->profile));
    offer.device = {{"name", offer.name}, {"attributes", std::move(attributes)}};
    if (sharing::IsShared(group.resource->share)) {
      Share(group, capacities, offer);
    }
    offer.device["capacity"] = std::move(capacities);
    offer.is_gpu = mig == nullptr;
    if (is_partitioned_ && mig == nullptr) {
      offer.is_mig_on = device::IsInMigMode(gpu_);
      offer.device["consumesCounters"] = Consumes(AllOf(*geometry_));
    }
    Taint(first.health, offer);
    card_.offers.push_back(std::move(offer));
  }

  // The MIG devices that could be made beside those of others, and these.
  void AddPossible(const pools::Resource& resource) {
    if (!is_partitioned_) {
      return;
    }
    for (const device::MigDevice* mig : foreign_) {
      card_.offers.push_back(Foreign(*mig, resource));
    }
    card_.counters = {{"name", SetName()}, {"counters", CountersOf(Left())}};
    for (size_t at = 0; at < geometry_->profiles().size(); ++at) {
      for (const mig::Placement& placement : Placements(at)) {
        if (geometry_->Fits(taken_, placement)) {
          card_.offers.push_back(Possible(placement, resource.name));
        }
      }
    }
  }

  CardOffer Take() { return std::move(card_); }

 private:
  // MIG devices that nobody made for a claim, and what they take: all, if that is not known.
  void FindForeign() {
    mig::Layout layout;
    bool is_known = true;
    for (const device::MigDevice& mig : gpu_.mig_devices) {
      if (options_.made.contains(MigNameOf(mig))) {
        continue;
      }
      foreign_.push_back(&mig);
      const auto profile = geometry_->Find(mig.profile);
      is_known = is_known && profile && mig.placement_start;
      if (profile && mig.placement_start) {
        layout.push_back({.profile = *profile, .start = *mig.placement_start});
      }
    }
    taken_ = geometry_->TakenBy(layout);
    if (!is_known) {
      taken_.memory = ~uint32_t{0};
    }
  }

  // Somebody else divides it, or it cannot leave MIG mode.
  bool IsNeverWhole() const {
    return is_partitioned_ &&
           (!foreign_.empty() || (device::IsInMigMode(gpu_) && device::MigModeNeedsReset(gpu_)));
  }

  // The counters that MIG devices of others leave.
  std::map<std::string, uint64_t> Left() const {
    std::map<std::string, uint64_t> left = AllOf(*geometry_);
    for (const device::MigDevice* mig : foreign_) {
      const device::MigProfile* profile = FindProfile(geometry_.get(), mig->profile);
      if (profile == nullptr || !mig->placement_start) {
        continue;
      }
      for (const auto& [name, count] : UseOf(*profile, *mig->placement_start)) {
        left[name] -= std::min(left[name], count);
      }
    }
    return left;
  }

  std::string SetName() const { return fmt::format("gpu-{}", gpu_.minor); }

  // All of a profile. The scheduler takes the first one that is free: first comes the one that
  // leaves most room for others; of equal ones the last, since large instances start at 0.
  std::vector<mig::Placement> Placements(size_t profile) const {
    std::vector<mig::Placement> placements;
    for (const unsigned start : geometry_->profiles()[profile].starts) {
      placements.push_back({.profile = profile, .start = start});
    }
    const auto merit = [&](const mig::Placement& placement) {
      return std::pair(geometry_->Room(geometry_->TakenBy({&placement, 1})), placement.start);
    };
    std::ranges::sort(placements, std::greater<>(), merit);
    return placements;
  }

  std::string MigNameOf(const device::MigDevice& mig) const {
    const device::MigProfile* profile = FindProfile(geometry_.get(), mig.profile);
    return MigDeviceName(gpu_.minor, mig.profile, profile == nullptr ? 0 : profile->profile_id,
                         mig.placement_start.value_or(mig.gpu_instance));
  }

  std::string NameOf(const Group& group, const device::MigDevice* mig) const {
    std::string name = fmt::format("gpu-{}", gpu_.minor);
    if (mig != nullptr) {
      name = MigNameOf(*mig);
    }
    const auto sizes = sharing::SizesOf(group.resource->share);
    return sizes.empty() ? name : fmt::format("{}-{}", name, sharing::NameOf(sizes.front()));
  }

  Extras Extra(const std::string& resource) const {
    const auto root = options_.pcie_roots.find(gpu_.pci);
    return {.pcie_root = root == options_.pcie_roots.end() ? "" : root->second,
            .resource = resource};
  }

  json::array Consumes(const std::map<std::string, uint64_t>& use) const {
    return {{{"counterSet", SetName()}, {"counters", CountersOf(use)}}};
  }

  // Each claim takes one slot, or several.
  static void Share(const Group& group, json::object& capacities, Offer& offer) {
    const size_t count = group.slots.size();
    for (const pools::Slot* slot : group.slots) {
      offer.slots.push_back(slot->id);
    }
    offer.device["allowMultipleAllocations"] = true;
    const std::optional<Bytes> each = group.slots.front()->memory;
    offer.slot_memory = each;
    // A range of one amount has no step: the server refuses one beyond the capacity.
    const auto shared = [count](const std::string& all, const std::string& one) {
      json::object range = {{"min", one}, {"max", all}};
      if (count > 1) {
        range["step"] = one;
      }
      return json::object{{"value", all},
                          {"requestPolicy", {{"default", one}, {"validRange", range}}}};
    };
    // Nobody's part: a claim that asks for none takes none, and not all of it.
    for (auto& capacity : capacities) {
      capacity.value().as_object()["requestPolicy"] = {{"default", "0"},
                                                       {"validRange", {{"min", "0"}}}};
    }
    if (each) {
      capacities["memory"] =
          shared(FormatQuantity(Bytes{each->count * count}), FormatQuantity(*each));
    } else {
      capacities["shares"] = shared(std::to_string(count), "1");
    }
  }

  static void Taint(const device::Health& health, Offer& offer) {
    offer.health = health;
    if (!health.is_healthy) {
      offer.device["taints"] = json::array{TaintOf(health)};
    }
  }

  Offer Foreign(const device::MigDevice& mig, const pools::Resource& resource) const {
    const device::MigProfile* profile = FindProfile(geometry_.get(), mig.profile);
    Offer offer{.name = MigNameOf(mig), .device_uuid = mig.uuid.str(), .resource = resource.name};
    offer.device = {{"name", offer.name},
                    {"attributes", MigAttributes(snapshot_, gpu_, mig, Extra(resource.name))},
                    {"capacity", MigCapacities(mig, profile)}};
    if (profile != nullptr && mig.placement_start) {
      offer.unclaimed = MadeInstance{.gpu = gpu_.uuid.str(),
                                     .profile = mig.profile,
                                     .start = *mig.placement_start,
                                     .gpu_instance = mig.gpu_instance,
                                     .compute_instance = mig.compute_instance};
    }
    Taint(gpu_.health, offer);
    return offer;
  }

  Offer Possible(const mig::Placement& placement, const std::string& resource) const {
    const device::MigProfile& profile = geometry_->profile(placement);
    Offer offer{
        .name = MigDeviceName(gpu_.minor, profile.name, profile.profile_id, placement.start),
        .placement = placement,
        .profile = profile.name,
        .resource = resource};
    offer.device = {{"name", offer.name},
                    {"attributes", ProfileAttributes(snapshot_, gpu_, profile, Extra(resource))},
                    {"capacity", ProfileCapacities(profile, placement.start)},
                    {"consumesCounters", Consumes(UseOf(profile, placement.start))}};
    Taint(gpu_.health, offer);
    return offer;
  }

  const device::Snapshot& snapshot_;
  const device::Gpu& gpu_;
  const OfferOptions& options_;
  std::unique_ptr<const mig::Geometry> geometry_{};  // null: no MIG
  bool is_partitioned_ = false;
  std::vector<const device::MigDevice*> foreign_{};
  mig::Taken taken_{};  // by foreign_
  CardOffer card_{};
};

}  // namespace

std::vector<CardOffer> OffersOf(const device::Snapshot& snapshot,
                                const std::vector<pools::Resource>& resources,
                                const OfferOptions& options) {
  std::vector<CardOffer> cards;
  for (const device::Gpu& gpu : snapshot.gpus) {
    CardBuilder builder(snapshot, gpu, options);
    const std::vector<Group> groups = GroupsOf(gpu, resources);
    for (const Group& group : groups) {
      builder.Add(group);
    }
    if (!groups.empty()) {
      builder.AddPossible(*groups.front().resource);
    }
    if (CardOffer card = builder.Take(); !card.offers.empty()) {
      cards.push_back(std::move(card));
    }
  }
  return cards;
}

std::string MigDeviceName(unsigned minor, std::string_view profile, unsigned profile_id,
                          unsigned start) {
  std::string name;
  for (const char c : profile) {
    if (c != '.') {
      name += c == '+' ? '-' : c;  // a device's name is a DNS label
    }
  }
  return fmt::format("gpu-{}-mig-{}-{}-{}", minor, name, profile_id, start);
}

}  // namespace kgpu::dra
