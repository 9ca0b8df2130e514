// A thread that runs tasks one by one and can be abandoned: a task that hangs in the kernel cannot
// be ended, only the process can.
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

namespace kgpu::sys {

struct WorkerThreadOptions {
  const char* name = "";   // of the thread, at most 15 letters
  std::string stuck = "";  // the log's word when it does not end: "the disk hangs"
  size_t max_tasks = 64;
  std::chrono::milliseconds stop_limit{3'000};
};

// Owned by one thread, which is also the only one to call Post.
class WorkerThread {
 public:
  using Task = std::function<void()>;  // must not throw

  // `clock` must outlive it.
  WorkerThread(const Clock& clock, WorkerThreadOptions options);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // False if too many tasks wait: the task is not accepted.
  bool Post(Task task);
  // The start of the task in progress.
  std::optional<SteadyTime> busy_since() const;
  // Finishes the posted tasks, then stops; after `stop_limit`, or at the deadline given, ends the
  // process. Idempotent.
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

}  // namespace kgpu::sys
