#include "src/node/config/pool_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "src/node/config/resource_name.h"
#include "src/node/sharing/kind.h"

namespace kgpu::config {
namespace {

using sharing::IsNamedBySize;
using sharing::MakesDevices;
using sharing::Share;
using sharing::SizesOf;
using sharing::SliceSize;
using sharing::SlotShare;

bool HasSizePlaceholder(const Pool& pool) {
  return ResourceOf(pool).find(kSizePlaceholder) != std::string_view::npos;
}

// Empty: MIG devices without a given name have one by their profile, known only with the device,
// and memory slices may have one by their size.
std::string_view KnownName(const Pool& pool) {
  const bool is_named_by_profile = pool.provider != Provider::kLocal && pool.resource.empty() &&
                                   !IsNamedBySize(pool.share) &&
                                   (MakesDevices(pool.share) || !pool.devices.mig_profiles.empty());
  return is_named_by_profile || HasSizePlaceholder(pool) ? std::string_view() : ResourceOf(pool);
}

// A resource is one size to those who request it.
void CheckSlices(const Pool& pool, const std::string& field, const PoolPlaces& places,
                 Problems& problems) {
  const bool has_sizes = IsNamedBySize(pool.share);
  if (!has_sizes && HasSizePlaceholder(pool)) {
    problems.Add(places.resource, fmt::format("{}.resource: {} is for pools whose slots have "
                                              "sizes (share.size, share.layout): remove it",
                                              field, kSizePlaceholder));
  }
  if (has_sizes && !HasSizePlaceholder(pool) && SizesOf(pool.share).size() > 1) {
    problems.Add(places.resource,
                 fmt::format("{}.resource: the layout has several sizes, and a resource has one: "
                             "add {} to the name, or remove resource",
                             field, kSizePlaceholder));
  }
}

bool HaveSameName(const Pool& a, const Pool& b) {
  return !KnownName(a).empty() && KnownName(a) == KnownName(b);
}

bool NamesMigDevices(const Selector& selector) {
  return !selector.mig_profiles.empty() ||
         std::ranges::any_of(selector.uuids,
                             [](const std::string& uuid) { return uuid.starts_with("MIG-"); });
}

// The kind's rules about other fields than share.
void CheckKind(const Pool& pool, const std::string& field, const PoolPlaces& places,
               Problems& problems) {
  const sharing::PoolFacts facts{.sets_mig = pool.mig.has_value(),
                                 .names_mig_devices = NamesMigDevices(pool.devices)};
  for (const sharing::PoolProblem& problem : pool.share.by->CheckPool(facts)) {
    problems.Add(problem.field == "mig" ? places.mig : places.devices,
                 fmt::format("{}.{}: {}", field, problem.field, problem.text));
  }
}

// A borrower gets a GPU or parts of its memory for itself, so that its loan describes all of it.
void CheckLocal(const Pool& pool, const std::string& field, const PoolPlaces& places,
                Problems& problems) {
  if (!pool.share.by->traits().is_lendable) {
    problems.Add(places.share,
                 fmt::format("{}.share: a pool with provider: local lends whole GPUs or memory "
                             "slices: set by: memory, or remove share",
                             field));
  }
  if (pool.share.compute.is_set()) {
    problems.Add(places.share,
                 fmt::format("{}.share.compute: the agent tells pods apart, but not borrowers: "
                             "remove compute",
                             field));
  }
  if (pool.mig.value_or(MigStrategy::kNone) != MigStrategy::kNone) {
    problems.Add(places.mig,
                 fmt::format("{}.mig: a pool with provider: local lends GPUs, no MIG devices: "
                             "remove mig",
                             field));
  }
  if (NamesMigDevices(pool.devices)) {
    problems.Add(places.devices,
                 fmt::format("{}.devices: a pool with provider: local lends GPUs, no MIG "
                             "devices: select GPUs",
                             field));
  }
}

// MIG devices that are made for claims are as large as the claims ask for.
void CheckDynamic(const Pool& pool, const std::string& field, const PoolPlaces& places,
                  Problems& problems) {
  if (pool.provider != Provider::kClaims) {
    problems.Add(places.mig,
                 fmt::format("{}.mig: dynamic makes MIG devices for claims of DRA: set provider: "
                             "dra, or use single or mixed",
                             field));
  }
  if (pool.share != Share()) {
    problems.Add(places.share,
                 fmt::format("{}.share: with mig: dynamic, claims get whole GPUs and MIG devices: "
                             "remove share, or mig",
                             field));
  }
  if (NamesMigDevices(pool.devices)) {
    problems.Add(
        places.devices,
        fmt::format("{}.devices: with mig: dynamic, a pool has whole GPUs: select GPUs", field));
  }
}

// What the slots of a resource are, whatever else a layout has.
Share ShareOfResource(const Pool& pool) {
  if (MakesDevices(pool.share)) {
    return Share();
  }
  const std::vector<SliceSize> sizes = SizesOf(pool.share);
  return sizes.size() == 1 ? SlotShare(pool.share, sizes.front()) : pool.share;
}

// A resource is one thing to the kubelet: its slots are all shared in one way.
void CheckPair(const Pool& pool, const Pool& earlier, size_t index, size_t earlier_index,
               const PoolPlaces& places, Problems& problems) {
  if (pool.provider != earlier.provider) {
    problems.Add(places.resource,
                 fmt::format("pools[{}].resource: pools[{}] has the name {} too, with another "
                             "provider: use another name",
                             index, earlier_index, ResourceOf(pool)));
  } else if (ShareOfResource(pool) != ShareOfResource(earlier)) {
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
    CheckSlices(pools[i], fmt::format("pools[{}]", i), places[i], problems);
    CheckKind(pools[i], fmt::format("pools[{}]", i), places[i], problems);
    if (pools[i].provider == Provider::kLocal) {
      CheckLocal(pools[i], fmt::format("pools[{}]", i), places[i], problems);
    } else if (pools[i].mig == MigStrategy::kDynamic) {
      CheckDynamic(pools[i], fmt::format("pools[{}]", i), places[i], problems);
    }
    if (pools[i].removes_unclaimed && pools[i].mig != MigStrategy::kDynamic) {
      problems.Add(places[i].mig,
                   fmt::format("pools[{}].removeUnclaimed: is for MIG devices that are made for "
                               "claims: set mig: dynamic, or remove it",
                               i));
    }
    for (size_t j = 0; j < i; ++j) {
      const bool differs = pools[i].provider != pools[j].provider ||
                           ShareOfResource(pools[i]) != ShareOfResource(pools[j]);
      if (differs && HaveSameName(pools[i], pools[j])) {
        CheckPair(pools[i], pools[j], i, j, places[i], problems);
        break;
      }
    }
  }
}

}  // namespace kgpu::config
