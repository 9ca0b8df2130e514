// The inventory for people and programs: pure functions of a snapshot.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <string>

#include "src/gpu/device/snapshot.h"

namespace kgpu::report {

// Who has borrowed which GPU, by UUID.
using Holders = std::map<std::string, std::string>;

// Field names are part of the interface: docs/reference/cli.md. Memory in bytes; null for what the
// driver does not support. A GPU that is lent has `lentTo`.
boost::json::value DevicesJson(const device::Snapshot& snapshot, const Holders& holders = {});

// A line about the driver, a row per GPU and MIG device, then a line per reason and per loan.
std::string DevicesTable(const device::Snapshot& snapshot, const Holders& holders = {});

// One line per relevant difference: GPUs and MIG devices that were added, removed, or became
// unhealthy or healthy, and the driver's state. Empty if there is none.
std::string DescribeChanges(const device::Snapshot& before, const device::Snapshot& after);

// True when every device is healthy and the driver is ready.
bool IsAllHealthy(const device::Snapshot& snapshot);

}  // namespace kgpu::report
