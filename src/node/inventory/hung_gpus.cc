#include "src/node/inventory/hung_gpus.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace kgpu::inventory {
namespace {

// Each try that fails costs a probe and the measurements of all GPUs for as long as a call may
// take.
constexpr BackoffOptions kTries = {.first = std::chrono::seconds(2),
                                   .longest = std::chrono::minutes(5),
                                   .reset_after = std::chrono::minutes(10)};

}  // namespace

HungGpus::HungGpus(EventLoop& loop, probe::Client& client, std::function<void()> look)
    : loop_(loop), client_(client), look_(std::move(look)), timer_(loop) {
}

bool HungGpus::Note(const probe::Down& down) {
  if (!down.gpu) {
    return false;
  }
  const SteadyTime now = loop_.clock().Now();
  Hung& hung =
      gpus_.try_emplace(*down.gpu, Hung{.hang = {}, .backoff = Backoff(kTries)}).first->second;
  hung.hang = down.text;
  hung.is_left_out = true;
  hung.due = now + hung.backoff.Next(now);
  Arm();
  return true;
}

void HungGpus::OnUp() {
  for (const auto& [gpu, hung] : gpus_) {
    if (hung.is_left_out) {
      client_.LeaveOut(gpu, true);
    }
  }
}

bool HungGpus::Mark(Reading& reading) {
  size_t marked = 0;
  for (const auto& [gpu, hung] : gpus_) {
    if (gpu < reading.gpus.size() && reading.gpus[gpu].result == nvml::kErrorTimeout) {
      reading.gpus[gpu].hang = hung.hang;
      ++marked;
    }
  }
  if (marked == 0 || marked < reading.gpus.size()) {
    return true;
  }
  gpus_.clear();
  timer_.Cancel();
  return false;
}

void HungGpus::Arm() {
  std::optional<SteadyTime> due;
  for (const auto& [gpu, hung] : gpus_) {
    if (hung.is_left_out) {
      due = due ? std::min(*due, hung.due) : hung.due;
    }
  }
  timer_.Cancel();
  if (due) {
    const auto delay =
        std::max<std::chrono::nanoseconds>(*due - loop_.clock().Now(), std::chrono::nanoseconds(0));
    timer_.Arm(delay, [this] { TryAgain(); });
  }
}

void HungGpus::TryAgain() {
  const SteadyTime now = loop_.clock().Now();
  for (auto& [gpu, hung] : gpus_) {
    if (!hung.is_left_out || hung.due > now) {
      continue;
    }
    if (client_.is_abandoned()) {
      // The call that was stuck has not returned yet, so another would not either.
      hung.due = now + hung.backoff.Next(now);
    } else {
      hung.is_left_out = false;
      client_.LeaveOut(gpu, false);
      look_();
    }
  }
  Arm();
}

}  // namespace kgpu::inventory
