// Requests that are answered when a condition is met.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <utility>

#include "src/platform/base/event_loop.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class Waits {
 public:
  // `loop` must outlive this.
  explicit Waits(EventLoop& loop) : loop_(loop) {}
  ~Waits() {
    for (const Wait& wait : waits_) {
      loop_.CancelTimer(wait.timer);
    }
  }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // `is_done` answers the request and returns true once it can; called now and after each Check.
  // `give_up` answers after `limit`.
  void Add(std::function<bool()> is_done, std::chrono::nanoseconds limit,
           std::function<void()> give_up) {
    if (is_done()) {
      return;
    }
    const auto wait = waits_.insert(waits_.end(), Wait{std::move(is_done), TimerId::kNone});
    wait->timer = loop_.After(limit, [this, wait, give_up = std::move(give_up)] {
      waits_.erase(wait);
      give_up();
    });
  }

  void Check() {
    for (auto wait = waits_.begin(); wait != waits_.end();) {
      if (wait->is_done()) {
        loop_.CancelTimer(wait->timer);
        wait = waits_.erase(wait);
      } else {
        ++wait;
      }
    }
  }

 private:
  struct Wait {
    std::function<bool()> is_done;
    TimerId timer = TimerId::kNone;
  };

  EventLoop& loop_;
  std::list<Wait> waits_;
};

}  // namespace kgpu::kubelet
