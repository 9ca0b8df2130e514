// The agent's series about itself, but those of its parts: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/agent/state.h"
#include "src/platform/metrics/exposition.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

// The process's resource use, from /proc/self.
struct ProcessUse {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t open_fds = 0;
  uint64_t max_fds = 0;
};

// `own` is "/" of this process.
ProcessUse OwnUse(const sys::Root& own);

// The families of telemetry::kOwnSeries that no part writes (node::Part::WriteSeries).
void WriteOwnMetrics(const AgentState& state, const ProcessUse& use, std::string_view version,
                     metrics::Exposition& page);

}  // namespace kgpu::agent
