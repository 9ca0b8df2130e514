// Reads and writes files that are to last on a thread of its own: a disk may take seconds, and the
// loop waits for nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::agent {

struct DiskWorkerOptions {
  size_t max_jobs = 64;
  // A job that takes longer is reported as a problem.
  std::chrono::milliseconds slow{10'000};
  // What is left to do at the end may take so long. A job that hangs in the kernel then cannot be
  // ended: the process is.
  std::chrono::milliseconds stop_limit{3'000};
};

// Lives on the loop's thread; its own is named "kgpu-disk". Jobs are done one after another.
class DiskWorker {
 public:
  // What a job leaves to be done on the loop; may be empty. It is left out once the worker stops.
  // Both are destroyed on the loop's thread: they may hold what lives there.
  using Done = std::function<void()>;
  using Job = std::function<Done()>;
  // What is done on the loop, instead, when a job threw (out of memory, say): Internal.
  using Failed = std::function<void(const Status&)>;

  // `loop` outlives the worker.
  explicit DiskWorker(EventLoop& loop, DiskWorkerOptions options = {});
  // Does what was posted, then ends.
  ~DiskWorker();
  DiskWorker(const DiskWorker&) = delete;
  DiskWorker& operator=(const DiskWorker&) = delete;

  // False when too much waits already: the job is not taken. Of a job that was taken either what it
  // leaves is called, or `failed`, unless the worker stops.
  bool Post(Job job, Failed failed);
  // When it is to have ended, instead of `stop_limit` after it was asked to.
  void StopBy(SteadyTime deadline);
  // For people: that a job is waited for too long; empty: it is not.
  std::string problem() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::agent
