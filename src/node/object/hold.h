// What the node reports over time: condition and taint do not flap if the chain breaks for a
// moment. Pure: time is a parameter.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "src/node/object/chain.h"
#include "src/platform/base/clock.h"

namespace kgpu::node {

struct HoldOptions {
  // How long a ready node may be not ready before it reports it. Waiting links recover by
  // themselves: the kubelet reports counts every 10 s, an agent restarts in a second.
  std::chrono::milliseconds waiting_grace{60'000};
  std::chrono::milliseconds bad_grace{5'000};
  // How long everything must be ok after a loss before the node is ready again: doubles with each
  // loss within the last `memory`. The first readiness is never delayed.
  std::chrono::milliseconds first_return{10'000};
  std::chrono::milliseconds last_return{300'000};
  std::chrono::milliseconds memory{1'800'000};
};

class Hold {
 public:
  // `was_ready`: the node reported it earlier in this boot.
  Hold(const HoldOptions& options, bool was_ready);

  // The chain's worst state is `worst` now. True if the node should be reported as ready.
  bool Look(LinkState worst, SteadyTime now);
  // When to call Look again even if nothing changes; nothing: never.
  std::optional<SteadyTime> next() const { return next_; }
  bool is_ready() const { return is_ready_; }

 private:
  bool LookWhileReady(LinkState worst, SteadyTime now);
  bool LookWhileNotReady(LinkState worst, SteadyTime now);
  std::chrono::milliseconds ReturnDelay(SteadyTime now);

  HoldOptions options_;
  bool is_ready_;
  std::optional<SteadyTime> wrong_since_;    // while ready
  std::optional<SteadyTime> bad_since_;      // while ready
  std::optional<SteadyTime> healthy_since_;  // while not ready
  std::deque<SteadyTime> losses_;            // within the last `memory`, at most kMaxLosses
  std::optional<SteadyTime> next_;
};

}  // namespace kgpu::node
