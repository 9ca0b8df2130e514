#include "src/kube/api/request_gate.h"

#include <algorithm>

namespace kgpu::kube {

using std::chrono::nanoseconds;

RequestGate::RequestGate(EventLoop& loop, const GateOptions& options)
    : loop_(loop), options_(options), tokens_(options.burst), filled_(loop.clock().Now()) {
}

RequestGate::Ticket RequestGate::Wait(std::function<void()> enter) {
  if (waiting_.size() >= options_.max_waiting) {
    return 0;
  }
  waiting_.emplace_back(next_, std::move(enter));
  Arm();
  return next_++;
}

void RequestGate::Leave(Ticket ticket) {
  std::erase_if(waiting_, [&](const auto& entry) { return entry.first == ticket; });
}

void RequestGate::Pause(nanoseconds pause) {
  closed_until_ = std::max(closed_until_, loop_.clock().Now() + pause);
}

void RequestGate::Refill() {
  const SteadyTime now = loop_.clock().Now();
  const std::chrono::duration<double> since = now - filled_;
  tokens_ = std::min(options_.burst, tokens_ + since.count() * options_.per_second);
  filled_ = now;
}

// For the first in the queue.
void RequestGate::Arm() {
  if (timer_.is_armed() || waiting_.empty()) {
    return;
  }
  Refill();
  const double missing = std::max(0.0, 1 - tokens_);
  const auto fill =
      std::chrono::ceil<nanoseconds>(std::chrono::duration<double>(missing / options_.per_second));
  const nanoseconds pause = closed_until_ - loop_.clock().Now();
  timer_.Arm(std::max({nanoseconds(0), fill, pause}), [this] { LetIn(); });
}

void RequestGate::LetIn() {
  Refill();
  // As many as there were: one that comes back at once takes its turn behind the timer.
  for (size_t left = waiting_.size(); left > 0 && !waiting_.empty(); --left) {
    // Sums of fractions may miss a whole one by a hair.
    constexpr double kWhole = 1 - 1e-6;
    if (tokens_ < kWhole || loop_.clock().Now() < closed_until_) {
      break;
    }
    tokens_ = std::max(0.0, tokens_ - 1);
    const std::function<void()> enter = std::move(waiting_.front().second);
    waiting_.pop_front();
    enter();
  }
  Arm();
}

}  // namespace kgpu::kube
