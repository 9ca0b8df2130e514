// Attributes, capacities and taints of devices in ResourceSlices. Pure functions. Names without a
// domain belong to the driver gpu.nvidia.com. A device that has no value for one of the names that
// selectors use most gets an empty one ("", 0.0.0): a selector that reads an attribute which some
// device lacks fails for all devices of the cluster.
#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

#include "src/gpu/device/mig.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/mig/geometry.h"

namespace kgpu::dra {

inline constexpr std::string_view kUnhealthyTaint = "kgpu.dev/unhealthy";

struct Extras {
  std::string pcie_root{};  // "pci0000:00"; empty: not known
  std::string resource{};   // of the pool
};

boost::json::object GpuAttributes(const device::Snapshot& snapshot, const device::Gpu& gpu,
                                  const Extras& extras);
// Of a MIG device that exists.
boost::json::object MigAttributes(const device::Snapshot& snapshot, const device::Gpu& gpu,
                                  const device::MigDevice& mig, const Extras& extras);
// Of one that could be made.
boost::json::object ProfileAttributes(const device::Snapshot& snapshot, const device::Gpu& gpu,
                                      const device::MigProfile& profile, const Extras& extras);

// `geometry` is null for GPUs without MIG.
boost::json::object GpuCapacities(const device::Gpu& gpu, const mig::Geometry* geometry);
// `profile` is null if the table does not know it.
boost::json::object MigCapacities(const device::MigDevice& mig, const device::MigProfile* profile);
boost::json::object ProfileCapacities(const device::MigProfile& profile, unsigned start);

// Of an unhealthy device, without timeAdded. NoSchedule: pods that use it stay.
boost::json::object TaintOf(const device::Health& health);

// A version as Semantic Versioning 2.0 writes it, of a driver's: "550.54.15", "535.104.5" of
// "535.104.05"; "0.0.0" for a text that is none.
std::string SemanticVersion(std::string_view text);

}  // namespace kgpu::dra
