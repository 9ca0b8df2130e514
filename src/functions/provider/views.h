// What the service answers about functions, as JSON. docs/reference/functions.md lists the fields.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <string>

#include "src/functions/provider/meter.h"
#include "src/functions/provider/pool.h"
#include "src/functions/provider/usage_hours.h"

namespace kgpu::functions {

// OpenFx's Function, with "Kgpu".
boost::json::object FunctionView(const Pool& pool, const Meter& meter);
// {"usage": [{"function", "calls", …}]}, by function.
boost::json::object UsageView(const std::map<std::string, FunctionUse>& usage);
// OpenFx's error: {"code": <gRPC's>, "message": text, "details": []}.
boost::json::object ErrorView(const Status& status);
// {"Msg": text}.
boost::json::object MessageView(std::string_view text);

}  // namespace kgpu::functions
