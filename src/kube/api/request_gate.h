// Lets requests through to the API server one after another, no faster than a client may ask.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "src/platform/base/event_loop.h"

namespace kgpu::kube {

struct GateOptions {
  double per_second = 5;
  double burst = 10;
  size_t max_waiting = 256;
};

// A token bucket with a queue. Lives on the loop's thread.
class RequestGate {
 public:
  using Ticket = uint64_t;

  // `loop` outlives the gate.
  RequestGate(EventLoop& loop, const GateOptions& options);
  ~RequestGate();
  RequestGate(const RequestGate&) = delete;
  RequestGate& operator=(const RequestGate&) = delete;

  // Calls `enter` from the loop when its turn has come. 0: too many wait already, and it will never
  // be called.
  Ticket Wait(std::function<void()> enter);
  // One that has entered, or 0, is ignored.
  void Leave(Ticket ticket);
  // The server asked to be left alone: nobody enters before `pause` is over.
  void Pause(std::chrono::nanoseconds pause);
  size_t waiting() const { return waiting_.size(); }

 private:
  void Refill();
  void Arm();
  void LetIn();

  EventLoop& loop_;
  const GateOptions options_;
  double tokens_;
  SteadyTime filled_;
  SteadyTime closed_until_{};
  Ticket next_ = 1;
  std::deque<std::pair<Ticket, std::function<void()>>> waiting_;
  TimerId timer_ = TimerId::kNone;
};

}  // namespace kgpu::kube
