// A function of this machine, as JSON. docs/reference/functions.md lists the fields.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/functions/provider/pool.h"
#include "src/functions/service/meter.h"

namespace kgpu::functions {

// OpenFx's Function, with "Kgpu".
boost::json::object PoolView(const Pool& pool, const Meter& meter);

}  // namespace kgpu::functions
