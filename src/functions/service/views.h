// The answers of the service, as JSON. docs/reference/functions.md lists the fields.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/functions/service/meter.h"
#include "src/functions/service/usage_hours.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// The numbers of OpenFx's Function.
struct FunctionNumbers {
  uint64_t calls = 0;
  int64_t replicas = 0;
  int64_t available = 0;
};

// OpenFx's Function. "Kgpu" holds the function's settings under their names on the wire, and what
// is so now: `state`.
boost::json::object FunctionView(const Function& function, const FunctionNumbers& numbers,
                                 boost::json::object state);
// The phases of a replica's start in milliseconds, with fractions, to the microsecond.
boost::json::object PhasesView(const PhaseNames& names, const PhaseTimes& times);
// {"usage": [{"function", "calls", …}]}, by function.
boost::json::object UsageView(const std::map<std::string, FunctionUse>& usage);
// OpenFx's error: {"code": <gRPC's>, "message": text, "details": []}.
boost::json::object ErrorView(const Status& status);
// {"Msg": text}.
boost::json::object MessageView(std::string_view text);

}  // namespace kgpu::functions
