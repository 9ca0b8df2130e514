// Counts calls whose end gRPC's threads have yet to report: the loop they post to must outlive
// them.
#pragma once

#include <condition_variable>
#include <mutex>

namespace kgpu::kubelet {

// Thread: any.
class CallsInFlight {
 public:
  CallsInFlight() = default;
  // Waits until there are none: they must have been cancelled.
  ~CallsInFlight() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return count_ == 0; });
  }
  CallsInFlight(const CallsInFlight&) = delete;
  CallsInFlight& operator=(const CallsInFlight&) = delete;

  void Begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void End() {
    const std::lock_guard lock(mutex_);
    --count_;
    ended_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  int count_ = 0;
};

}  // namespace kgpu::kubelet
