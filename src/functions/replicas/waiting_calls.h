// The calls of a function that wait for a replica: in the order of their arrival, bounded in number
// and bytes, each until its deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "src/functions/service/function_call.h"
#include "src/platform/base/clock.h"

namespace kgpu::functions {

// Lives on the loop's thread.
class WaitingCalls {
 public:
  using Refused = std::function<void(FunctionCall& call, const CallFault& fault)>;

  // `refuse` answers a call and counts it; `left` is called from the loop when DropLeft has
  // something to do.
  WaitingCalls(Refused refuse, std::function<void()> left)
      : refuse_(std::move(refuse)),
        left_(std::make_shared<std::function<void()>>(std::move(left))) {}

  // Refuses the call if too many wait.
  void Add(FunctionCall call, SteadyTime deadline);
  // Calls `hand_over` with one call after the other, until it returns false: that call waits on.
  // Calls whose caller left are passed over.
  void HandOver(const std::function<bool(FunctionCall& call)>& hand_over);
  // A call that was handed over and not taken waits again, as the first one.
  void PutBack(FunctionCall call, SteadyTime deadline);

  // Calls whose caller left need no replica.
  void DropLeft();
  void RefuseExpired(SteadyTime now);
  // Only calls that arrived no later.
  void RefuseUntil(SteadyTime arrived, const CallFault& fault);
  void RefuseAll(const CallFault& fault);

  bool empty() const { return calls_.empty(); }
  int64_t size() const { return static_cast<int64_t>(calls_.size()); }
  // No call expires before this time; nothing if none waits.
  std::optional<SteadyTime> next_deadline() const { return next_deadline_; }

 private:
  struct Waiting {
    FunctionCall call;
    SteadyTime deadline;
    size_t bytes;
    std::shared_ptr<bool> has_left;

    bool is_open() const { return !*has_left && call.sink->is_open(); }
  };
  Waiting Watched(FunctionCall call, SteadyTime deadline, size_t bytes);
  Waiting Pop();

  const Refused refuse_;
  const std::shared_ptr<std::function<void()>> left_;
  std::deque<Waiting> calls_;
  size_t bytes_ = 0;
  std::optional<SteadyTime> next_deadline_;
};

}  // namespace kgpu::functions
