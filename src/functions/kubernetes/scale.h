// How many replicas a function should have: pure decisions over numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "src/functions/spec/function.h"
#include "src/platform/base/clock.h"

namespace kgpu::functions {

// The most replicas that were needed within a time: what falls for less than that is not followed.
class ScaleWindow {
 public:
  // What is needed from now on.
  void Set(int64_t needed, SteadyTime now);
  int64_t Most(SteadyTime now, std::chrono::nanoseconds within);
  // When Most falls if nothing is set before; nothing: never.
  std::optional<SteadyTime> NextFall(std::chrono::nanoseconds within) const;

 private:
  struct Past {
    int64_t needed;
    SteadyTime until;
  };
  int64_t now_ = 0;
  std::deque<Past> past_;  // each larger than those after it, and than now_
};

struct ScaleFacts {
  Scaling scaling{};
  int64_t concurrency = 1;
  int64_t calls = 0;     // in progress, waiting or queued, of all gateways
  int64_t replicas = 0;  // that the Deployment asks for
  // Whether this gateway decides on fewer replicas, and knows what the others have.
  bool may_lower = false;
  // Some pod waits for its node, which may be on its way: none is taken back.
  bool has_pod_without_node = false;
  // The namespace has used up its GPU time: calls are refused, and no replica is kept.
  bool is_over_quota = false;
};

struct ScaleVerdict {
  std::optional<int64_t> replicas{};  // nothing: as they are
  std::optional<SteadyTime> next{};   // when to decide again, if nothing happens before
};

ScaleVerdict DecideScale(const ScaleFacts& facts, ScaleWindow& window, SteadyTime now);

}  // namespace kgpu::functions
