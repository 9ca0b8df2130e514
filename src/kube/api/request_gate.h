// Lets requests through to the API server one after another, at a limited rate.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"

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

  // `loop` must outlive the gate.
  RequestGate(EventLoop& loop, const GateOptions& options);
  RequestGate(const RequestGate&) = delete;
  RequestGate& operator=(const RequestGate&) = delete;

  // Calls `enter` from the loop when its turn has come. Returns 0 if too many are waiting; `enter`
  // is then never called.
  Ticket Wait(std::function<void()> enter);
  // Ignores 0 and tickets that have entered.
  void Leave(Ticket ticket);
  // The server asked us to wait: nobody enters until `pause` is over.
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
  Timer timer_{loop_};
};

}  // namespace kgpu::kube
