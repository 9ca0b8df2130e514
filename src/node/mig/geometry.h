// Which GPU instances a model can have at the same time, and where: rules on the table of profiles
// (src/gpu/device/mig.h). Pure. Two instances never share a memory slice; of a profile there are at
// most max_instances; all instances together have at most the compute slices and the media engines
// of the whole GPU. Source: NVIDIA's MIG user guide; nvmlDeviceGetGpuInstancePossiblePlacements.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/mig.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// A GPU instance's profile, as an index into Geometry::profiles, and its first memory slice.
struct Placement {
  size_t profile = 0;
  unsigned start = 0;
  auto operator<=>(const Placement&) const = default;
};
using Layout = std::vector<Placement>;

// The slices and engines that some instances take together. Only Geometry fills it.
struct Taken {
  static constexpr size_t kMaxProfiles = 32;
  uint32_t memory = 0;  // a bit for each memory slice
  unsigned slices = 0;
  unsigned decoders = 0;
  unsigned encoders = 0;
  unsigned jpegs = 0;
  unsigned ofas = 0;
  uint8_t of_profile[kMaxProfiles] = {};
};

class Geometry {
 public:
  // Of the model with this PCI device id. Errors: NotFound (no MIG, or not in the table).
  static StatusOr<Geometry> OfModel(uint16_t pci_device_id);
  // Of profiles that a driver reports. Errors: InvalidArgument (none, too many, or one that reaches
  // beyond 32 memory slices or has no start).
  static StatusOr<Geometry> Create(std::vector<device::MigProfile> profiles);

  // From large to small, then by profile_id.
  const std::vector<device::MigProfile>& profiles() const { return profiles_; }
  const device::MigProfile& profile(const Placement& placement) const {
    return profiles_[placement.profile];
  }
  unsigned memory_slices() const { return memory_slices_; }
  unsigned compute_slices() const { return whole_.slices; }
  std::optional<size_t> Find(std::string_view name) const;
  std::optional<size_t> FindById(unsigned profile_id) const;

  // Whether an instance fits beside those of `taken`; its start is a start of its profile.
  bool Fits(const Taken& taken, const Placement& placement) const;
  // Adds or removes an instance.
  void Take(Taken& taken, const Placement& placement) const;
  void Free(Taken& taken, const Placement& placement) const;
  // Of a legal layout.
  Taken TakenBy(std::span<const Placement> layout) const;

  // OK if a GPU can have these instances. Errors: InvalidArgument naming the first instance that
  // does not fit beside those before it, and why.
  Status Check(std::span<const Placement> layout) const;
  // Starts at which one more instance fits, ascending.
  std::vector<unsigned> FreeStarts(const Taken& taken, size_t profile) const;

  // Every legal layout, the empty one included; each sorted, all sorted.
  std::vector<Layout> AllLayouts() const;
  // Those to which no instance can be added.
  std::vector<Layout> MaximalLayouts() const;

  // How much room is left, for comparisons: ten bits each for how many instances with all, half, a
  // quarter and an eighth of the memory still fit, the largest size in the highest bits.
  uint64_t Room(const Taken& taken) const;

 private:
  Geometry() = default;
  template <typename Visit>
  void Walk(Layout& layout, Taken& taken, size_t next, const Visit& visit) const;

  std::vector<device::MigProfile> profiles_;
  std::vector<Placement> placements_;  // all, sorted
  unsigned memory_slices_ = 0;
  Taken whole_;  // slices and engines of the whole GPU
};

// Slices that compute instances of a GPU instance can have: 1, 2, 3 and 4 of an instance with 7;
// 1 and 2 of one with 4; always the whole. Source: `nvidia-smi mig -lcip`.
std::vector<unsigned> ComputeSizes(unsigned slices);

}  // namespace kgpu::mig
