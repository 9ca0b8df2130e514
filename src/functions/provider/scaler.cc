#include "src/functions/provider/scaler.h"

#include <algorithm>

#include "src/functions/replicas/scaling.h"
#include "src/platform/base/backoff.h"

namespace kgpu::functions {
namespace {

// The replicas that the calls of this moment need, within the limits.
int64_t Needed(const ScaleInput& input) {
  int64_t calls = input.waiting;
  for (const ScaledReplica& replica : input.replicas) {
    calls += replica.in_flight;
  }
  return NeededReplicas(input.scaling, input.concurrency, calls);
}

void Earlier(std::optional<SteadyTime>& next, SteadyTime time) {
  next = next ? std::min(*next, time) : time;
}

}  // namespace

ScaleDecision Scale(const ScaleInput& input, SteadyTime now) {
  ScaleDecision decision;
  const auto live = static_cast<int64_t>(input.replicas.size());
  const int64_t needed = Needed(input);
  if (needed > live) {
    if (input.not_before && *input.not_before > now) {
      decision.next = input.not_before;
    } else {
      decision.start = needed - live;
    }
    return decision;
  }
  int64_t spare = live - needed;
  const int64_t over = live - std::max(input.scaling.min_replicas, input.scaling.max_replicas);
  // The newest first: the oldest ones have what handlers keep in memory.
  for (size_t i = input.replicas.size(); i-- > 0 && spare > 0;) {
    const ScaledReplica& replica = input.replicas[i];
    const bool is_over = static_cast<int64_t>(decision.stop.size()) < over;
    if (!is_over && !replica.idle_since) {
      continue;
    }
    if (!is_over && *replica.idle_since + input.scaling.idle > now) {
      Earlier(decision.next, *replica.idle_since + input.scaling.idle);
      continue;
    }
    decision.stop.push_back(i);
    --spare;
  }
  return decision;
}

std::chrono::nanoseconds RestartDelay(int64_t failures) {
  return DoublingPause(failures - 1, std::chrono::seconds(1), std::chrono::minutes(5));
}

}  // namespace kgpu::functions
