// Which device belongs to which resource, for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/gpu/device/snapshot.h"
#include "src/node/pools/assignment.h"

namespace kgpu::cli {

// One row per device, those without a resource last, then the notes.
std::string AssignmentTable(const pools::Assignment& assignment, const device::Snapshot& snapshot);

// Field names are part of the interface: docs/reference/configuration.md.
boost::json::value AssignmentJson(const pools::Assignment& assignment,
                                  const device::Snapshot& snapshot);

}  // namespace kgpu::cli
