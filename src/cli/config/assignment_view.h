// Which device belongs to which resource, for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/cli/base/exit_code.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/pools/assignment.h"

namespace kgpu::cli {

// One row per device, those without a resource last, then the notes.
std::string AssignmentTable(const pools::Assignment& assignment, const device::Snapshot& snapshot);

// kUnhealthy if something is wrong with the configuration or the driver, or the MIG mode of the
// GPUs leaves nothing to hand out; kWarned if it withdraws some of them.
ExitCode CodeOf(const pools::Assignment& assignment, const device::Snapshot& snapshot,
                const config::NodeConfig& config);

// Field names are part of the interface: docs/reference/configuration.md.
boost::json::value AssignmentJson(const pools::Assignment& assignment,
                                  const device::Snapshot& snapshot);

}  // namespace kgpu::cli
