// Devices that a container has by a resource claim (DRA): there the name that a driver gave to the
// device stands in the place of a device plugin's id.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/pods/pod_map.h"

namespace kgpu::pods {

// NVIDIA's driver. Its names are understood: "gpu-2", by the minor, and "gpu-2-mig-1g10gb-19-4", by
// minor, profile, id of the profile and first memory slice.
inline constexpr std::string_view kNvidiaDraDriver = "gpu.nvidia.com";

// The UUID of the device that `claim` is on; empty where it is none of `snapshot`. Of other drivers
// names and CDI ids count that are UUIDs, in whatever case.
std::string DeviceOfClaim(const ClaimedDevice& claim, const device::Snapshot& snapshot);

// The uses with the ids of claimed devices filled in, sorted; without those of claims on what is no
// GPU of `snapshot`.
std::vector<DeviceUse> WithClaims(std::vector<DeviceUse> listed, const device::Snapshot& snapshot);

}  // namespace kgpu::pods
