// How many replicas a function should have now: pure decisions over numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/functions/spec/function.h"
#include "src/platform/base/clock.h"

namespace kgpu::functions {

// The replicas that are not draining, in the order of their start.
struct ScaledReplica {
  bool is_running = false;  // false: starting
  int64_t in_flight = 0;
  std::optional<SteadyTime> idle_since{};  // nothing: it has calls, or is starting
};

struct ScaleInput {
  Scaling scaling{};
  int64_t concurrency = 1;
  int64_t waiting = 0;  // calls without a replica
  std::vector<ScaledReplica> replicas{};
  // No replica may start before this time, since earlier ones have failed.
  std::optional<SteadyTime> not_before{};
};

struct ScaleDecision {
  int64_t start = 0;                 // replicas to start now
  std::vector<size_t> stop{};        // indices of replicas to stop
  std::optional<SteadyTime> next{};  // when to decide again, if nothing happens before
  bool operator==(const ScaleDecision&) const = default;
};

ScaleDecision Scale(const ScaleInput& input, SteadyTime now);

// How long to wait before the next replica starts, after so many in a row have failed: 0 for the
// first one, then 1 s, doubled each time up to 5 minutes.
std::chrono::nanoseconds RestartDelay(int64_t failures);

}  // namespace kgpu::functions
