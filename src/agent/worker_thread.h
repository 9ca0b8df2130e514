// A thread that does one thing after another and can be left behind: what hangs in the kernel can
// not be ended, only the process can.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "src/platform/base/clock.h"
#include "src/platform/base/mutex.h"

namespace kgpu::agent {

struct WorkerThreadOptions {
  const char* name = "";   // of the thread, 15 letters at most
  std::string stuck = "";  // the log's word when it does not end: "the disk hangs"
  size_t max_tasks = 64;
  std::chrono::milliseconds stop_limit{3'000};
};

// Owned by one thread; Post from that one too.
class WorkerThread {
 public:
  using Task = std::function<void()>;  // throws nothing

  // `clock` outlives it.
  WorkerThread(const Clock& clock, WorkerThreadOptions options);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // False when too much waits already: the task is not taken.
  bool Post(Task task);
  // Since when the task in progress is being done.
  std::optional<SteadyTime> busy_since() const;
  // Does what was posted, then ends; after `stop_limit`, or at the time that was said, the process
  // does. Idempotent.
  void Stop();
  void StopBy(SteadyTime deadline) { stop_by_ = deadline; }

 private:
  std::optional<Task> Next();
  void Work();

  const Clock& clock_;
  const WorkerThreadOptions options_;
  std::optional<SteadyTime> stop_by_;

  mutable Mutex mutex_;
  Condition wake_;
  Condition ended_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::optional<SteadyTime> busy_since_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;

  std::jthread thread_;
};

}  // namespace kgpu::agent
