// What the node says of itself over time: a chain that breaks for a moment does not flap condition
// and taint. Pure: time is given.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "src/node/object/chain.h"
#include "src/platform/base/clock.h"

namespace kgpu::node {

struct HoldOptions {
  // How long a ready node may be less than ready before it says so. Waiting links come right by
  // themselves: the kubelet reports counts every 10 s, an agent's restart takes a second.
  std::chrono::milliseconds waiting_grace{60'000};
  std::chrono::milliseconds bad_grace{5'000};
  // How long all must be well after a loss before the node is ready again: doubles with each
  // loss of the last `memory`. The first readiness is never held back.
  std::chrono::milliseconds first_return{10'000};
  std::chrono::milliseconds last_return{300'000};
  std::chrono::milliseconds memory{1'800'000};
};

class Hold {
 public:
  // `was_ready`: the node said so before, in this boot.
  Hold(const HoldOptions& options, bool was_ready);

  // The chain is as bad as `worst` now. True when the node is to be called ready.
  bool Look(LinkState worst, SteadyTime now);
  // When to look again though nothing changes; nothing: never.
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
  std::deque<SteadyTime> losses_;            // of the last `memory`, at most kMaxLosses
  std::optional<SteadyTime> next_;
};

}  // namespace kgpu::node
