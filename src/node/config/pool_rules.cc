#include "src/node/config/pool_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace kgpu::config {
namespace {

// Empty: MIG devices without a given name have one by their profile, known only with the device.
std::string_view KnownName(const Pool& pool) {
  const bool is_named_by_profile = pool.provider == Provider::kKubelet && pool.resource.empty() &&
                                   !pool.devices.mig_profiles.empty();
  return is_named_by_profile ? std::string_view() : ResourceOf(pool);
}

bool HaveSameName(const Pool& a, const Pool& b) {
  return !KnownName(a).empty() && KnownName(a) == KnownName(b);
}

bool NamesMigDevices(const Selector& selector) {
  return !selector.mig_profiles.empty() ||
         std::ranges::any_of(selector.uuids,
                             [](const std::string& uuid) { return uuid.starts_with("MIG-"); });
}

// A program that borrows a GPU gets it for itself, so that its loan says all that it has.
void CheckLocal(const Pool& pool, const std::string& field, const PoolPlaces& places,
                Problems& problems) {
  if (pool.share.by != ShareBy::kNothing) {
    problems.Add(
        places.share,
        fmt::format("{}.share: a pool with provider: local lends whole GPUs: remove share", field));
  }
  if (pool.mig.value_or(MigStrategy::kNone) != MigStrategy::kNone) {
    problems.Add(
        places.mig,
        fmt::format("{}.mig: a pool with provider: local lends whole GPUs, no MIG devices: "
                    "remove mig",
                    field));
  }
  if (NamesMigDevices(pool.devices)) {
    problems.Add(places.devices,
                 fmt::format("{}.devices: a pool with provider: local lends whole GPUs, no MIG "
                             "devices: select GPUs",
                             field));
  }
}

// A resource is one thing to the kubelet: its slots are all shared in one way.
void CheckPair(const Pool& pool, const Pool& earlier, size_t index, size_t earlier_index,
               const PoolPlaces& places, Problems& problems) {
  if (pool.provider != earlier.provider) {
    problems.Add(places.resource,
                 fmt::format("pools[{}].resource: pools[{}] has the name {} too, with another "
                             "provider: use another name",
                             index, earlier_index, ResourceOf(pool)));
  } else if (pool.share != earlier.share) {
    problems.Add(places.share,
                 fmt::format("pools[{}].share: pools[{}] also adds devices to {}, with other "
                             "settings: make the settings equal, or use another resource",
                             index, earlier_index, ResourceOf(pool)));
  }
}

}  // namespace

void CheckPools(const std::vector<Pool>& pools, const std::vector<PoolPlaces>& places,
                Problems& problems) {
  for (size_t i = 0; i < pools.size(); ++i) {
    if (pools[i].provider == Provider::kLocal) {
      CheckLocal(pools[i], fmt::format("pools[{}]", i), places[i], problems);
    }
    for (size_t j = 0; j < i; ++j) {
      const bool differs =
          pools[i].provider != pools[j].provider || pools[i].share != pools[j].share;
      if (differs && HaveSameName(pools[i], pools[j])) {
        CheckPair(pools[i], pools[j], i, j, places[i], problems);
        break;
      }
    }
  }
}

}  // namespace kgpu::config
