// A whole plan as JSON and back, for the journal: reads exactly what was written.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/platform/base/status.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver_install {

boost::json::object PlanToJson(const driver::Plan& plan);
// Errors: InvalidArgument naming `where`.
StatusOr<driver::Plan> PlanFromJson(const boost::json::value& value, const std::string& where);

}  // namespace kgpu::driver_install
