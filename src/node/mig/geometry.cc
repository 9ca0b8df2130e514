#include "src/node/mig/geometry.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::mig {
namespace {

constexpr unsigned kMostSlices = 32;

uint32_t MemoryMask(const device::MigProfile& profile, unsigned start) {
  return static_cast<uint32_t>(((uint64_t{1} << profile.memory_slices) - 1) << start);
}

Status CheckProfile(const device::MigProfile& profile) {
  if (profile.memory_slices == 0 || profile.starts.empty() || profile.max_instances == 0) {
    return InvalidArgument("MIG profile {}: the driver names no placement for it", profile.name);
  }
  for (const unsigned start : profile.starts) {
    if (profile.memory_slices > kMostSlices || start > kMostSlices - profile.memory_slices) {
      return InvalidArgument("MIG profile {}: {} memory slices from {} on are more than {}",
                             profile.name, profile.memory_slices, start, kMostSlices);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Geometry> Geometry::OfModel(uint16_t pci_device_id) {
  std::vector<device::MigProfile> profiles = device::MigProfiles(pci_device_id);
  if (profiles.empty()) {
    return NotFound("PCI device {:#06x}: no MIG, or no profiles known for it", pci_device_id);
  }
  return Create(std::move(profiles));
}

StatusOr<Geometry> Geometry::Create(std::vector<device::MigProfile> profiles) {
  if (profiles.empty() || profiles.size() > Taken::kMaxProfiles) {
    return InvalidArgument("{} MIG profiles: must be 1 to {}", profiles.size(),
                           Taken::kMaxProfiles);
  }
  // The driver's order is that of its indexes.
  std::ranges::stable_sort(profiles, [](const device::MigProfile& a, const device::MigProfile& b) {
    return a.memory_slices != b.memory_slices ? a.memory_slices > b.memory_slices
                                              : a.profile_id < b.profile_id;
  });
  Geometry made;
  for (size_t i = 0; i < profiles.size(); ++i) {
    const device::MigProfile& profile = profiles[i];
    RETURN_IF_ERROR(CheckProfile(profile));
    for (const unsigned start : profile.starts) {
      made.placements_.push_back({.profile = i, .start = start});
      made.memory_slices_ = std::max(made.memory_slices_, start + profile.memory_slices);
    }
    made.whole_.slices = std::max(made.whole_.slices, profile.slices);
    made.whole_.decoders = std::max(made.whole_.decoders, profile.decoders);
    made.whole_.encoders = std::max(made.whole_.encoders, profile.encoders);
    made.whole_.jpegs = std::max(made.whole_.jpegs, profile.jpegs);
    made.whole_.ofas = std::max(made.whole_.ofas, profile.ofas);
  }
  std::ranges::sort(made.placements_);
  made.profiles_ = std::move(profiles);
  return made;
}

std::optional<size_t> Geometry::Find(std::string_view name) const {
  const auto found = std::ranges::find(profiles_, name, &device::MigProfile::name);
  return found == profiles_.end() ? std::nullopt : std::optional<size_t>(found - profiles_.begin());
}

std::optional<size_t> Geometry::FindById(unsigned profile_id) const {
  const auto found = std::ranges::find(profiles_, profile_id, &device::MigProfile::profile_id);
  return found == profiles_.end() ? std::nullopt : std::optional<size_t>(found - profiles_.begin());
}

bool Geometry::Fits(const Taken& taken, const Placement& placement) const {
  const device::MigProfile& profile = profiles_[placement.profile];
  return (taken.memory & MemoryMask(profile, placement.start)) == 0 &&
         taken.of_profile[placement.profile] < profile.max_instances &&
         taken.slices + profile.slices <= whole_.slices &&
         taken.decoders + profile.decoders <= whole_.decoders &&
         taken.encoders + profile.encoders <= whole_.encoders &&
         taken.jpegs + profile.jpegs <= whole_.jpegs && taken.ofas + profile.ofas <= whole_.ofas;
}

void Geometry::Take(Taken& taken, const Placement& placement) const {
  const device::MigProfile& profile = profiles_[placement.profile];
  taken.memory |= MemoryMask(profile, placement.start);
  taken.slices += profile.slices;
  taken.decoders += profile.decoders;
  taken.encoders += profile.encoders;
  taken.jpegs += profile.jpegs;
  taken.ofas += profile.ofas;
  ++taken.of_profile[placement.profile];
}

void Geometry::Free(Taken& taken, const Placement& placement) const {
  const device::MigProfile& profile = profiles_[placement.profile];
  taken.memory &= ~MemoryMask(profile, placement.start);
  taken.slices -= profile.slices;
  taken.decoders -= profile.decoders;
  taken.encoders -= profile.encoders;
  taken.jpegs -= profile.jpegs;
  taken.ofas -= profile.ofas;
  --taken.of_profile[placement.profile];
}

Taken Geometry::TakenBy(std::span<const Placement> layout) const {
  Taken taken;
  for (const Placement& placement : layout) {
    Take(taken, placement);
  }
  return taken;
}

Status Geometry::Check(std::span<const Placement> layout) const {
  Taken taken;
  for (const Placement& placement : layout) {
    const device::MigProfile& profile = profiles_[placement.profile];
    if (std::ranges::find(profile.starts, placement.start) == profile.starts.end()) {
      return InvalidArgument("{} cannot start at memory slice {}: it starts at {}", profile.name,
                             placement.start, fmt::join(profile.starts, ", "));
    }
    if ((taken.memory & MemoryMask(profile, placement.start)) != 0) {
      return InvalidArgument("{} at memory slice {} overlaps another instance", profile.name,
                             placement.start);
    }
    if (taken.of_profile[placement.profile] >= profile.max_instances) {
      return InvalidArgument("{}: a GPU has at most {}", profile.name, profile.max_instances);
    }
    if (!Fits(taken, placement)) {
      return InvalidArgument("{}: the other instances leave too few slices or media engines",
                             profile.name);
    }
    Take(taken, placement);
  }
  return OkStatus();
}

std::vector<unsigned> Geometry::FreeStarts(const Taken& taken, size_t profile) const {
  std::vector<unsigned> starts;
  for (const unsigned start : profiles_[profile].starts) {
    if (Fits(taken, {.profile = profile, .start = start})) {
      starts.push_back(start);
    }
  }
  std::ranges::sort(starts);
  return starts;
}

// Calls `visit` for `layout` and every layout made of it and placements from `next` on.
template <typename Visit>
void Geometry::Walk(Layout& layout, Taken& taken, size_t next, const Visit& visit) const {
  visit(layout, taken);
  for (size_t i = next; i < placements_.size(); ++i) {
    if (!Fits(taken, placements_[i])) {
      continue;
    }
    Take(taken, placements_[i]);
    layout.push_back(placements_[i]);
    Walk(layout, taken, i + 1, visit);
    layout.pop_back();
    Free(taken, placements_[i]);
  }
}

std::vector<Layout> Geometry::AllLayouts() const {
  std::vector<Layout> all;
  Layout layout;
  Taken taken;
  Walk(layout, taken, 0, [&](const Layout& found, const Taken&) { all.push_back(found); });
  std::ranges::sort(all);
  return all;
}

std::vector<Layout> Geometry::MaximalLayouts() const {
  std::vector<Layout> maximal;
  Layout layout;
  Taken empty;
  Walk(layout, empty, 0, [&](const Layout& found, const Taken& taken) {
    if (std::ranges::none_of(placements_, [&](const Placement& p) { return Fits(taken, p); })) {
      maximal.push_back(found);
    }
  });
  std::ranges::sort(maximal);
  return maximal;
}

uint64_t Geometry::Room(const Taken& taken) const {
  constexpr std::array<unsigned, 4> kShares = {1, 2, 4, 8};
  constexpr unsigned kBits = 10;
  uint64_t room = 0;
  for (const unsigned share : kShares) {
    uint32_t used = taken.memory;
    uint64_t count = 0;
    for (const Placement& placement : placements_) {
      const device::MigProfile& profile = profiles_[placement.profile];
      const uint32_t mask = MemoryMask(profile, placement.start);
      if (profile.memory_slices * share == memory_slices_ && (used & mask) == 0) {
        used |= mask;
        ++count;
      }
    }
    room = (room << kBits) | count;
  }
  return room;
}

std::vector<unsigned> ComputeSizes(unsigned slices) {
  std::vector<unsigned> sizes;
  for (const unsigned size : {1U, 2U, 3U, 4U}) {
    const bool is_offered = size < slices && !(size == 3 && slices == 4);
    if (is_offered) {
      sizes.push_back(size);
    }
  }
  sizes.push_back(slices);
  return sizes;
}

}  // namespace kgpu::mig
