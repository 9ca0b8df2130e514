// A timer that belongs to one object: it is cancelled with its owner, and holds one task at a time.
#pragma once

#include <chrono>
#include <utility>

#include "src/platform/base/event_loop.h"

namespace kgpu {

// Thread: the loop's. `loop` must outlive it.
class Timer {
 public:
  explicit Timer(EventLoop& loop) : loop_(loop) {}
  ~Timer() { Cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Runs `task` once, after at least `delay`, in place of a task that has not run yet. `task` may
  // arm the timer again, and may destroy it.
  void Arm(std::chrono::nanoseconds delay, EventLoop::Task task) {
    Cancel();
    id_ = loop_.After(delay, [this, task = std::move(task)] {
      id_ = TimerId::kNone;
      task();
    });
  }
  void Cancel() { loop_.CancelTimer(std::exchange(id_, TimerId::kNone)); }
  // Whether a task waits: false from the moment it starts.
  bool is_armed() const { return id_ != TimerId::kNone; }

 private:
  EventLoop& loop_;
  TimerId id_ = TimerId::kNone;
};

}  // namespace kgpu
