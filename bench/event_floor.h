// A thread that waits for NVML events with the bare minimum of calls and notes when each came: the
// floor for everything that reacts to an XID.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace kgpu::bench {

class EventFloor {
 public:
  // `library`: a libnvidia-ml.so.1. Registers for XIDs of every GPU; aborts if it cannot. Calls
  // `seen` on the thread after each event.
  explicit EventFloor(const std::string& library, std::function<void()> seen = {});
  ~EventFloor();
  EventFloor(const EventFloor&) = delete;
  EventFloor& operator=(const EventFloor&) = delete;

  // When the newest event was seen. Thread: any.
  std::chrono::steady_clock::time_point Seen() const {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(seen_.load()));
  }

 private:
  std::atomic<int64_t> seen_{0};
  std::jthread waiter_;
};

}  // namespace kgpu::bench
