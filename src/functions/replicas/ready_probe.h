// Waits until a replica's watchdog has a worker: asks it again and again, while the replica starts.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/client.h"

namespace kgpu::functions {

// The answer to GET /_/status.
struct WatchdogStatus {
  bool is_ready = false;
  std::chrono::milliseconds worker_started{};  // since the watchdog's start
  std::chrono::milliseconds worker_ready{};
  std::string problem{};  // why no worker is ready, for people; may be empty
};

// Errors: InvalidArgument (not what a watchdog answers).
StatusOr<WatchdogStatus> ParseWatchdogStatus(std::string_view json);

// Lives on the loop's thread. Destroying it ends it.
class ReadyProbe {
 public:
  struct Ready {
    SteadyTime answered;  // when the watchdog answered for the first time
    WatchdogStatus status;
  };

  // How often a watchdog is asked that has not become ready for a while.
  static constexpr std::chrono::milliseconds kOften{100};

  // `address`: as of http::Call. Calls `ready` once, from the loop; it may destroy this.
  ReadyProbe(EventLoop& loop, std::string address, std::function<void(const Ready&)> ready,
             std::chrono::milliseconds longest_pause = kOften);
  ReadyProbe(const ReadyProbe&) = delete;
  ReadyProbe& operator=(const ReadyProbe&) = delete;

  // `failed` is called once, instead of `ready`, when the watchdog reports that no worker starts;
  // it may destroy this. Without it, the watchdog is asked on.
  void OnFailed(std::function<void(const std::string& problem)> failed) {
    failed_ = std::move(failed);
  }

  // The last answer of a watchdog that is not ready.
  const std::string& problem() const { return problem_; }

 private:
  void Ask();
  void OnAnswer(const StatusOr<http::Response>& response);

  EventLoop& loop_;
  const std::string address_;
  const std::chrono::milliseconds longest_pause_;
  const std::function<void(const Ready&)> ready_;
  std::function<void(const std::string&)> failed_;
  std::optional<SteadyTime> answered_;
  std::string problem_;
  std::chrono::milliseconds pause_;
  std::unique_ptr<http::Call> call_;
  Timer timer_;
};

}  // namespace kgpu::functions
