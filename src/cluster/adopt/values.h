// The chart's values that install kgpu with the settings it takes over.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/cluster/adopt/carry.h"

namespace kgpu::adopt {

// As a values file: config, configs, agent.driverRoot. Values that a user gives win over it.
boost::json::object ValuesOf(const Carried& carried);

}  // namespace kgpu::adopt
