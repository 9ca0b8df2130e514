#include "src/node/pools/assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/node/config/resource_name.h"
#include "src/node/pools/claims.h"
#include "src/node/pools/health_update.h"
#include "src/node/pools/notes.h"
#include "src/node/sharing/sliced.h"

namespace kgpu::pools {
namespace {

using config::Provider;
using sharing::Cut;
using sharing::Device;

// Longest id ("MIG-GPU-<uuid>/ddd/ddd::ddddd"), "Unhealthy", a NUMA node, tags and lengths.
constexpr size_t kMaxSlotBytes = 59 + 9 + 11 + 14;
static_assert(kMaxSlots * kMaxSlotBytes < (size_t{4} << 20));
static_assert(sharing::kMaxReplicas <= kMaxSlots);

constexpr std::string_view kReplicaMark = "::";

// Gives claimed devices their names and makes slots of them.
class Naming {
 public:
  Naming(const config::NodeConfig& config, Assignment& out) : config_(config), out_(out) {}

  void Run(Claims& claims) {
    for (size_t pool = 0; pool < config_.pools.size(); ++pool) {
      AddKnownResources(pool);
    }
    for (const Claim& claim : claims.claims) {
      if (std::string reason = Place(claim); !reason.empty()) {
        claims.refusals.push_back({claim.device, std::move(reason)});
      }
    }
    for (auto& [key, entry] : resources_) {
      (key.first == Provider::kLocal ? out_.local : out_.resources)
          .push_back(std::move(entry.resource));
    }
    std::ranges::stable_sort(out_.resources, {}, &Resource::name);
  }

 private:
  using Key = std::pair<Provider, std::string>;
  struct Entry {
    Resource resource;
    size_t pool = 0;  // the first that feeds it
    bool has_whole = false;
    bool has_mig = false;
  };

  // A pool's resource exists even without a device: the kubelet then reports 0.
  void AddKnownResources(size_t index) {
    const config::Pool& pool = config_.pools[index];
    if (sharing::IsNamedBySize(pool.share)) {
      for (const sharing::SliceSize& size : sharing::SizesOf(pool.share)) {
        AddKnown(config::ResourceOfSize(config::ResourceOf(pool), sharing::NameOf(size)), index,
                 sharing::SlotShare(pool.share, size));
      }
      return;
    }
    if (!pool.resource.empty() || pool.provider == Provider::kLocal) {
      AddKnown(std::string(config::ResourceOf(pool)), index,
               sharing::MakesDevices(pool.share) ? sharing::Share() : pool.share);
      return;
    }
    if (sharing::MakesDevices(pool.share)) {
      for (const std::string& profile : pool.share.profiles) {
        EntryOf(config::ResourceOfMigProfile(profile), index, sharing::Share());
      }
      return;
    }
    for (const std::string& profile : pool.devices.mig_profiles) {
      if (profile.find('*') == std::string::npos) {
        EntryOf(config::ResourceOfMigProfile(profile), index, pool.share);
      }
    }
    const bool names_mig_devices_only =
        !pool.devices.mig_profiles.empty() ||
        (!pool.devices.uuids.empty() &&
         std::ranges::all_of(pool.devices.uuids,
                             [](const std::string& uuid) { return uuid.starts_with("MIG-"); }));
    if (!names_mig_devices_only) {
      EntryOf(std::string(config::kDefaultResource), index, pool.share);
    }
  }

  void AddKnown(const std::string& name, size_t pool, const sharing::Share& share) {
    if (name.find(config::kModelPlaceholder) == std::string::npos) {
      EntryOf(name, pool, share);
    }
  }

  Entry& EntryOf(const std::string& name, size_t pool, const sharing::Share& share) {
    const auto [entry, is_new] = resources_.try_emplace(Key(config_.pools[pool].provider, name));
    if (is_new) {
      entry->second.resource.name = name;
      entry->second.resource.share = share;
      entry->second.resource.by_claims = config_.pools[pool].provider == Provider::kClaims;
      entry->second.pool = pool;
    }
    return entry->second;
  }

  std::string NameOf(const Claim& claim) const {
    const config::Pool& pool = config_.pools[claim.pool];
    const bool is_mixed = StrategyOf(config_, claim.pool) == config::MigStrategy::kMixed;
    // Slices have the name of their size, whatever they are cut from.
    const bool is_cut = sharing::IsNamedBySize(pool.share);
    const bool is_by_profile = claim.is_by_strategy && !sharing::MakesDevices(pool.share)
                                   ? is_mixed
                                   : pool.resource.empty();
    if (!is_cut && claim.device.mig != nullptr && is_by_profile) {
      return config::ResourceOfMigProfile(claim.device.mig->profile);
    }
    return config::ResourceOfModel(config::ResourceOf(pool), claim.device.gpu->model);
  }

  // Makes the slots of a device; the reason when it cannot have any.
  std::string Place(const Claim& claim) {
    const std::string name = NameOf(claim);
    const sharing::Share& share = config_.pools[claim.pool].share;
    if (const Status status = share.by->CheckDevice(share, claim.device); !status.ok()) {
      return fmt::format("{}: {}", PoolName(config_, claim.pool), Message(status));
    }
    const StatusOr<std::vector<Cut>> cuts =
        share.by->CutsOf(share, sharing::UsableMemory(claim.device));
    if (!cuts.ok()) {
      return fmt::format("{}: {}", PoolName(config_, claim.pool), Message(cuts.status()));
    }
    std::vector<Entry*> entries;
    for (const Cut& cut : *cuts) {
      const std::string full =
          cut.share.size ? config::ResourceOfSize(name, sharing::NameOf(*cut.share.size)) : name;
      if (std::string reason = Check(claim, full, cut); !reason.empty()) {
        return reason;
      }
      entries.push_back(&EntryOf(full, claim.pool, cut.share));
    }
    if (!uuids_.insert(claim.device.uuid()).second) {
      return "the driver reports two devices with this UUID";
    }
    NoteWaste(claim);
    unsigned replica = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      NoteMixture(*entries[i], claim.device);
      AddSlots(entries[i]->resource, claim.device, (*cuts)[i], replica);
      replica += (*cuts)[i].slots;
    }
    return "";
  }

  // Why the resource cannot have these slots; empty: it can.
  std::string Check(const Claim& claim, const std::string& name, const Cut& cut) {
    if (const Status status = config::CheckResourceName(name); !status.ok()) {
      return fmt::format("{} would give it an invalid name: {}", PoolName(config_, claim.pool),
                         Message(status));
    }
    const Entry& entry = EntryOf(name, claim.pool, cut.share);
    if (entry.resource.share != cut.share) {
      return fmt::format(
          "{} would add it to {}, to which {} adds devices with other share settings: make them "
          "equal, or use another resource",
          PoolName(config_, claim.pool), name, PoolName(config_, entry.pool));
    }
    if (entry.resource.slots.size() + cut.slots > kMaxSlots) {
      return fmt::format(
          "{} has {} slots, but a message to the kubelet holds at most {}: use several resources "
          "or fewer replicas",
          name, entry.resource.slots.size(), kMaxSlots);
    }
    return "";
  }

  // Once for each pool and model.
  void NoteWaste(const Claim& claim) {
    const Device& device = claim.device;
    const std::string note =
        sharing::WasteNote(config_.pools[claim.pool].share,
                           device.mig == nullptr ? device.gpu->model : device.mig->profile,
                           sharing::UsableMemory(device));
    const std::string text = fmt::format("{}: {}", PoolName(config_, claim.pool), note);
    if (!note.empty() && std::ranges::find(out_.hints, text) == out_.hints.end()) {
      out_.hints.push_back(text);
    }
  }

  // Once for each resource.
  void NoteMixture(Entry& entry, const Device& device) {
    const bool was_mixture = entry.has_whole && entry.has_mig;
    entry.has_whole |= device.mig == nullptr;
    entry.has_mig |= device.mig != nullptr;
    if (!was_mixture && entry.has_whole && entry.has_mig) {
      out_.notes.push_back(
          fmt::format("{} has both GPUs and MIG devices, so a container cannot know which it gets: "
                      "use another resource for one of them",
                      entry.resource.name));
    }
  }

  static void AddSlots(Resource& resource, const Device& device, const Cut& cut, unsigned first) {
    const device::Gpu& gpu = *device.gpu;
    const bool is_shared = sharing::IsShared(resource.share);
    Slot slot{.id = device.uuid(),
              .device_uuid = device.uuid(),
              .gpu = gpu.uuid,
              .replica = 0,
              .health = HealthOf(gpu, device.mig),
              .numa_node = gpu.numa_node,
              .memory = cut.limits.memory,
              .threads = cut.limits.threads,
              .compute = cut.limits.compute};
    for (unsigned replica = first; replica < first + cut.slots; ++replica) {
      if (is_shared) {
        slot.id = fmt::format("{}{}{}", slot.device_uuid, kReplicaMark, replica);
        slot.replica = replica;
      }
      resource.slots.push_back(slot);
    }
  }

  const config::NodeConfig& config_;
  Assignment& out_;
  std::map<Key, Entry> resources_;
  std::set<std::string> uuids_;
};

}  // namespace

sharing::Limits LimitsOf(const Slot& slot) {
  return {.memory = slot.memory, .threads = slot.threads, .compute = slot.compute};
}

const Resource* Assignment::Find(std::string_view resource) const {
  const auto found = std::ranges::find(resources, resource, &Resource::name);
  return found == resources.end() ? nullptr : &*found;
}

Assignment AssignDevices(const device::Snapshot& snapshot, const config::NodeConfig& config) {
  Assignment out;
  Claims claims = ClaimDevices(snapshot, config);
  out.notes = NotesOn(snapshot, config, claims);
  Naming(config, out).Run(claims);
  SortByCard(claims.refusals);
  for (Refusal& refusal : claims.refusals) {
    out.unassigned.push_back(
        {refusal.device.uuid(), std::move(refusal.reason), refusal.device.gpu->uuid});
  }
  return out;
}

}  // namespace kgpu::pools
