// Connects to a plugin's socket like the kubelet's blocking dial: retries until the time
// limit.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::kubelet {

// Lives on the loop's thread; destroying it cancels silently.
class Dialer {
 public:
  using Done = std::function<void(StatusOr<UniqueFd>)>;

  // `done` runs on the loop, never before the constructor has returned; it may destroy the dialer.
  // Errors: DeadlineExceeded, with the last attempt's error.
  Dialer(EventLoop& loop, std::string path, std::chrono::nanoseconds limit,
         std::chrono::nanoseconds retry, Done done);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

 private:
  void Try();

  EventLoop& loop_;
  std::string path_;
  SteadyTime end_;
  std::chrono::nanoseconds retry_;
  Done done_;
  TimerId timer_ = TimerId::kNone;
};

}  // namespace kgpu::kubelet
