// std::mutex and its condition with thread-safety annotations (clang checks them). A lock guards
// one leaf class and is never held over I/O, a callback or a log line.
#pragma once

#include <absl/base/thread_annotations.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace kgpu {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition that threads wait for. Wake-ups can be spurious: check again, in a loop.
class Condition {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    wake_.wait(lock);
    (void)lock.release();
  }
  // False if nobody has notified it within `limit`.
  bool WaitFor(Mutex& mutex, std::chrono::milliseconds limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool is_called = wake_.wait_for(lock, limit) == std::cv_status::no_timeout;
    (void)lock.release();
    return is_called;
  }
  void NotifyAll() { wake_.notify_all(); }

 private:
  std::condition_variable wake_;
};

}  // namespace kgpu
