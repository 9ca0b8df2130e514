// The inventory as people and programs read it: pure functions of a snapshot.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/gpu/device/snapshot.h"

namespace kgpu::report {

// Field names are part of the interface: docs/reference/cli.md. Memory in bytes; what the driver
// does not support is null.
boost::json::value DevicesJson(const device::Snapshot& snapshot);

// A line about the driver, a row for each GPU and MIG device, then a paragraph for each reason.
std::string DevicesTable(const device::Snapshot& snapshot);

// One line for each difference a person would want to know: GPUs and MIG devices that came, went,
// turned unhealthy or healthy, and the driver's state. Empty when there is none.
std::string DescribeChanges(const device::Snapshot& before, const device::Snapshot& after);

// True when every device is healthy and the driver is ready.
bool IsAllHealthy(const device::Snapshot& snapshot);

}  // namespace kgpu::report
