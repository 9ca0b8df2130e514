// The status of a GpuPolicy: counts, conditions, and the nodes that may start.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/cluster/controller/model.h"
#include "src/cluster/controller/planner.h"
#include "src/cluster/controller/work.h"

namespace kgpu::controller {

// The status as it should be. Times of conditions that stay the same are kept.
boost::json::value StatusOf(const PolicyEntry& entry, const PolicySummary& summary, WallTime now);
bool IsSameStatus(const boost::json::value& desired, const boost::json::value& current);
// Counts only for the version of the policy that was seen: what makes a start safe.
Work WriteStatus(const PolicyEntry& entry, const boost::json::value& status);

}  // namespace kgpu::controller
