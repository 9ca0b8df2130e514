// Finds the GPU or MIG device that a person names on a command line.
#pragma once

#include <string_view>

#include "src/gpu/device/snapshot.h"
#include "src/platform/base/status.h"

namespace kgpu::device {

inline constexpr char kDeviceNames[] = "UUID, index (0, or 0:1 for a MIG device) or PCI address";

// Points into the snapshot in which it was found.
struct NamedDevice {
  const Gpu* gpu = nullptr;
  const MigDevice* mig = nullptr;  // null: the name means the GPU itself
};

// `name` is what `kgpu devices` prints: the UUID of a GPU or a MIG device, NVML's index "0",
// "0:1" for a MIG device of GPU 0, or a PCI address. Errors: InvalidArgument (none of these),
// NotFound.
StatusOr<NamedDevice> FindDevice(const Snapshot& snapshot, std::string_view name);

}  // namespace kgpu::device
