// Devices that a container has through a resource claim (DRA): the driver's name for the device
// replaces a device plugin's id.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/pods/pod_map.h"

namespace kgpu::pods {

// NVIDIA's driver, and ours, which has its names. We understand them: "gpu-2" has the minor;
// "gpu-2-mig-1g10gb-19-4" has minor, profile, profile id and first memory slice; ours may end with
// the size of a share: "gpu-2-20gi".
inline constexpr std::string_view kNvidiaDraDriver = "gpu.nvidia.com";

// The UUID of the claimed device; empty if it is none of `snapshot`. For other drivers, names and
// CDI ids that are UUIDs count, in upper or lower case.
std::string DeviceOfClaim(const ClaimedDevice& claim, const device::Snapshot& snapshot);

// The ids of the device or the slots that a claim has, from whoever has prepared it; empty: they do
// not know it.
using ClaimIds = std::function<std::vector<std::string>(const ClaimedDevice&)>;

// The uses with the ids of claimed devices filled in, sorted; without claims on devices that are no
// GPU of `snapshot`. A claim of several slots is one use for each.
std::vector<DeviceUse> WithClaims(std::vector<DeviceUse> listed, const device::Snapshot& snapshot,
                                  const ClaimIds& ids = {});

}  // namespace kgpu::pods
