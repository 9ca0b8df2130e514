#include "src/node/config/nvidia_pools.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/gpu/device/mig.h"

namespace kgpu::config {
namespace {

constexpr std::string_view kSharedSuffix = ".shared";
constexpr std::string_view kMigPrefix = "nvidia.com/mig-";

// "nvidia.com/mig-1g.10gb.me" is of profile "1g.10gb+me"; empty for other names.
std::string ProfileOfResource(std::string_view resource) {
  if (!resource.starts_with(kMigPrefix)) {
    return "";
  }
  std::string profile(resource.substr(kMigPrefix.size()));
  if (const size_t attribute = profile.find("gb."); attribute != std::string::npos) {
    profile[attribute + 2] = '+';
  }
  return device::IsMigProfileName(profile) ? profile : "";
}

bool IsOfMigDevices(const Pool& pool) {
  return !pool.devices.mig_profiles.empty();
}

class PoolBuilder {
 public:
  PoolBuilder(const NvidiaResources& file, ForeignNotes& notes) : file_(file), notes_(notes) {}

  std::vector<Pool> Build() {
    if (file_.mig != MigStrategy::kNone) {
      for (const NvidiaName& name : file_.mig_devices) {
        pools_.emplace_back().resource = name.resource;
        pools_.back().devices.mig_profiles = {name.pattern};
      }
    }
    for (const NvidiaName& name : file_.gpus) {
      pools_.emplace_back().resource = name.resource;
      if (name.pattern != "*") {
        pools_.back().devices.models = {name.pattern};
      }
    }
    if (file_.gpus.empty()) {
      pools_.emplace_back().resource = kDefaultResource;
    }
    for (const NvidiaShare& share : file_.shares) {
      Apply(share);
    }
    KeepMigDevicesUnshared();
    return std::move(pools_);
  }

 private:
  void Apply(const NvidiaShare& share) {
    AddPoolOfProfile(share);
    std::vector<Pool> result;
    bool is_found = false;
    for (Pool& pool : pools_) {
      if (pool.resource != share.resource || sharing::IsShared(pool.share)) {
        result.push_back(std::move(pool));
        continue;
      }
      is_found = true;
      Share(share, std::move(pool), result);
    }
    pools_ = std::move(result);
    if (!is_found) {
      notes_.Add(Fate::kNotTranslated, share.node,
                 "no devices have the name {}, or another entry shares them: nothing is shared",
                 share.resource);
    }
  }

  // Under mixed, resources of MIG devices have names that no pool spells out yet.
  void AddPoolOfProfile(const NvidiaShare& share) {
    const std::string profile = ProfileOfResource(share.resource);
    if (file_.mig == MigStrategy::kMixed && !profile.empty() &&
        std::ranges::find(pools_, share.resource, &Pool::resource) == pools_.end()) {
      Pool pool;
      pool.resource = share.resource;
      pool.devices.mig_profiles = {profile};
      pools_.insert(pools_.begin(), std::move(pool));
    }
  }

  // Adds the shared part of the pool, and after it the pool for what stays unshared.
  void Share(const NvidiaShare& share, Pool pool, std::vector<Pool>& result) {
    Pool shared = pool;
    shared.share = {.by = file_.by, .replicas = share.replicas, .multiple = file_.multiple};
    shared.resource = share.rename.value_or(
        fmt::format("{}{}", share.resource, file_.is_renamed_by_default ? kSharedSuffix : ""));
    if (share.devices.empty()) {
      NoteShare(share, shared.resource);
      result.push_back(std::move(shared));
      return;
    }
    if (shared.resource == pool.resource) {
      // One resource cannot hold both kinds.
      shared.resource += kSharedSuffix;
    }
    NoteShare(share, shared.resource);
    for (const Selector& devices : share.devices) {
      result.push_back(shared);
      result.back().devices.uuids = devices.uuids;
      result.back().devices.indices = devices.indices;
    }
    result.push_back(std::move(pool));
  }

  void NoteShare(const NvidiaShare& share, std::string_view resource) {
    notes_.Add(Fate::kTranslated, share.node, "{}, {} slots per device, named {}",
               share.devices.empty() ? "all its devices" : "the listed devices", share.replicas,
               resource);
  }

  // A pool of GPUs takes MIG devices along under mixed; those of a shared one would be shared.
  void KeepMigDevicesUnshared() {
    const auto is_shared_gpus = [](const Pool& pool) {
      return !IsOfMigDevices(pool) && sharing::IsShared(pool.share);
    };
    if (file_.mig != MigStrategy::kMixed || std::ranges::none_of(pools_, is_shared_gpus)) {
      return;
    }
    Pool rest;
    rest.devices.mig_profiles = {"*"};
    pools_.insert(std::ranges::find_if_not(pools_, &IsOfMigDevices), std::move(rest));
  }

  const NvidiaResources& file_;
  ForeignNotes& notes_;
  std::vector<Pool> pools_;
};

}  // namespace

std::vector<Pool> NvidiaPools(const NvidiaResources& resources, ForeignNotes& notes) {
  return PoolBuilder(resources, notes).Build();
}

}  // namespace kgpu::config
