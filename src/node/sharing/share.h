// How the devices of a pool are shared between containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::sharing {

// Slots per device that is shared by time: as many as a message to the kubelet holds.
inline constexpr unsigned kMaxReplicas = 32'768;
// Slices per device. Each has files and a ledger of its own.
inline constexpr unsigned kMaxSlices = 1'024;
// Smallest memory slice.
inline constexpr Bytes kMinSlice = MebiBytes(64);
// What a CUDA context takes of a device's memory, where the settings say nothing else: about this
// much with recent drivers, before a program has loaded its kernels.
inline constexpr Bytes kUsualContext = MebiBytes(320);

class Kind;
// Devices that are not shared.
extern const Kind kWhole;

// What happens if a container requests several slots of a shared resource.
enum class MultipleSlots : uint8_t {
  kAllow,   // they may be of the same device; memory slices of one device add up
  kRefuse,  // the container is refused
  kSpread,  // each must be of another device, else the container is refused
};

// What the library in a container does about functions of the driver that it does not know.
enum class UnknownApi : uint8_t {
  kRefuse,  // the program gets an error
  kFlag,    // the function works, unlimited, and a line on stderr says so
};

// What the agent does about a container that uses more memory than its slices allow.
enum class OnExcess : uint8_t {
  kEvent,  // an event on its pod, and a line in the log
  kEvict,  // these too; if it goes on for another round, its pod is evicted
  kKill,   // or its processes on the device are killed
};

// The part of a device's time that each slot has while others use the device, too.
struct ComputeShare {
  enum class Kind : uint8_t {
    kNone,          // containers take turns as the driver lets them
    kPercent,       // `percent` for each slot
    kProportional,  // its part of the device's usable memory
  };
  Kind kind = Kind::kNone;
  unsigned percent = 0;  // 1 to 100
  bool is_set() const { return kind != Kind::kNone; }
  bool operator==(const ComputeShare&) const = default;
};

// How much of a device's usable memory a slot has: an amount, or an equal part.
struct SliceSize {
  Bytes bytes{};       // 0 for a part
  unsigned parts = 0;  // 4 is a quarter; 0 for an amount
  auto operator<=>(const SliceSize&) const = default;
};

// "20Gi", "1/4": at least kMinSlice, a part of 2 to kMaxSlices. Errors: InvalidArgument.
StatusOr<SliceSize> ParseSliceSize(std::string_view text);
// A text that ParseSliceSize reads back: "20Gi", "1/4".
std::string ToString(const SliceSize& size);
// In a resource name: "20gi", "1of4".
std::string NameOf(const SliceSize& size);

// The size in the name of a resource of memory slices: 20 GiB for "nvidia.com/gpu-20gi". Nothing
// for other names, and for slices that are a part, whose size depends on the device.
std::optional<Bytes> SliceOfResource(std::string_view resource);

// The settings of a pool. Each kind says which it takes.
struct Share {
  const Kind* by = &kWhole;  // never null
  unsigned replicas = 1;     // equal slots of each device; 1 if `size` or `layout` is set instead
  MultipleSlots multiple = MultipleSlots::kAllow;
  // Either as many slots of `size` as fit on a device, or exactly those of `layout`.
  std::optional<SliceSize> size{};
  std::vector<SliceSize> layout{};
  // The MIG instances of each GPU, as `kgpu mig apply --layout` takes them: "3g.40gb", …
  std::vector<std::string> profiles{};
  // What each CUDA context counts towards the limit.
  Bytes context = kUsualContext;
  // Whether pinned host memory counts towards the limit.
  bool counts_pinned = false;
  UnknownApi unknown = UnknownApi::kRefuse;
  OnExcess on_excess = OnExcess::kEvent;
  // Percent of the device's threads that each program of a slot may use, 1 to 100. Nothing: the
  // slot's part of the memory.
  std::optional<unsigned> threads{};
  // The part of the device's time that a slot has.
  ComputeShare compute{};
  bool operator==(const Share&) const = default;
};

// Whether several containers can have slots of one device.
bool IsShared(const Share& share);
// Whether the agent makes the devices (MIG instances), of which each is a slot.
bool MakesDevices(const Share& share);
// For `kgpu mig --layout`: "3g.40gb,2g.20gb".
std::string ProfilesText(const Share& share);
// Whether each slot has a limit on device memory.
bool LimitsMemory(const Share& share);
// Whether resources have the size of their slots in their names.
bool IsNamedBySize(const Share& share);

// The settings of the slots of one size alone: equal for slots that are the same to a container,
// whatever else is on their devices.
Share SlotShare(const Share& share, const SliceSize& size);

// The sizes of the slots, without duplicates, in order.
std::vector<SliceSize> SizesOf(const Share& share);

}  // namespace kgpu::sharing
