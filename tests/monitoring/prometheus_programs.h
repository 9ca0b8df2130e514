// Prometheus' own programs: installed ones, or those that scripts/setup.sh unpacks.
#pragma once

#include <string>

namespace kgpu::monitoring {

// The path of "prometheus" or "promtool"; "" if neither place has it.
std::string PrometheusProgram(const std::string& name);

inline constexpr char kNoPrometheus[] =
    "Prometheus is not here: scripts/setup.sh --test unpacks it";

}  // namespace kgpu::monitoring
