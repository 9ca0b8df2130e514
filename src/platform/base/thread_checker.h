// Remembers the first thread that calls it and tells whether later calls come from the same one:
// owners of loop-bound state assert it in debug builds.
#pragma once

#include <atomic>
#include <thread>

namespace kgpu {

class ThreadChecker {
 public:
  // True on the thread of the first call since construction or Detach.
  bool IsOwner() const {
    std::thread::id expected{};
    const std::thread::id self = std::this_thread::get_id();
    return owner_.compare_exchange_strong(expected, self) || expected == self;
  }
  // The next caller becomes the owner.
  void Detach() { owner_.store(std::thread::id{}); }

 private:
  mutable std::atomic<std::thread::id> owner_{};
};

}  // namespace kgpu
