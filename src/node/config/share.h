// How the devices of a pool are shared between containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/share_compute.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::config {

// Slots per device.
inline constexpr unsigned kMaxReplicas = 1'024;
// Programs that one MPS server takes from Volta on. Source: NVIDIA's MPS documentation, "Volta
// MPS".
inline constexpr unsigned kMaxMpsClients = 48;
// Smallest memory slice.
inline constexpr Bytes kMinSlice = MebiBytes(64);
// What a CUDA context takes of a device's memory, where the settings say nothing else: about this
// much with recent drivers, before a program has loaded its kernels.
inline constexpr Bytes kUsualContext = MebiBytes(320);

enum class ShareBy : uint8_t {
  kNothing,
  kTime,    // containers take turns; nothing limits their memory
  kMemory,  // each slot has a limit on device memory
  kMig,     // the agent gives each GPU a MIG layout; the slots are its MIG devices
  kMps,     // as kMemory, and programs run at the same time, through NVIDIA's MPS
};

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

// How much of a device's usable memory a slot has: an amount, or an equal part.
struct SliceSize {
  Bytes bytes{};       // 0 for a part
  unsigned parts = 0;  // 4 is a quarter; 0 for an amount
  auto operator<=>(const SliceSize&) const = default;
};

// "20Gi", "1/4": at least kMinSlice, a part of 2 to kMaxReplicas. Errors: InvalidArgument.
StatusOr<SliceSize> ParseSliceSize(std::string_view text);
// A text that ParseSliceSize reads back: "20Gi", "1/4".
std::string ToString(const SliceSize& size);
// In a resource name: "20gi", "1of4".
std::string NameOf(const SliceSize& size);

// The size in the name of a resource of memory slices: 20 GiB for "nvidia.com/gpu-20gi". Nothing
// for other names, and for slices that are a part, whose size depends on the device.
std::optional<Bytes> SliceOfResource(std::string_view resource);

struct Share {
  ShareBy by = ShareBy::kNothing;
  // kTime: slots of each device, 2 or more. kMps: as many equal parts of its memory and threads;
  // 1 if `size` or `layout` is set instead.
  unsigned replicas = 1;
  MultipleSlots multiple = MultipleSlots::kAllow;
  // kMemory and kMps: either as many slots of `size` as fit on a device, or exactly those of
  // `layout`.
  std::optional<SliceSize> size{};
  std::vector<SliceSize> layout{};
  // kMig: the instances of each GPU, as `kgpu mig apply --layout` takes them: "3g.40gb", …
  std::vector<std::string> profiles{};
  // What each CUDA context counts towards the limit.
  Bytes context = kUsualContext;
  // Whether pinned host memory counts towards the limit.
  bool counts_pinned = false;
  UnknownApi unknown = UnknownApi::kRefuse;
  OnExcess on_excess = OnExcess::kEvent;
  // kMps: percent of the device's threads that each program of a slot may use, 1 to 100. Nothing:
  // the slot's part of the memory.
  std::optional<unsigned> threads{};
  // kMemory: what part of the device's time a slot has.
  ComputeShare compute{};
  bool operator==(const Share&) const = default;
};

// Whether each slot has a limit on device memory.
bool LimitsMemory(const Share& share);
// Whether resources have the size of their slots in their names.
bool IsNamedBySize(const Share& share);

// The settings of the slots of one size alone: equal for slots that are the same to a container,
// whatever else is on their devices.
Share SlotShare(const Share& share, const SliceSize& size);

// The sizes of a share by memory or MPS, without duplicates, in order.
std::vector<SliceSize> SizesOf(const Share& share);

}  // namespace kgpu::config
