// Reads and writes durable files on a thread of its own: a disk may take seconds, and the loop must
// never wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::sys {

struct DiskWorkerOptions {
  size_t max_jobs = 64;
  // A longer job is reported as a problem.
  std::chrono::milliseconds slow{10'000};
  // How long Await waits in total: a disk that hangs does not keep the agent from starting.
  std::chrono::milliseconds start_patience{2'000};
  // Time limit for remaining jobs at the end. A job that hangs in the kernel cannot be ended: the
  // process exits instead.
  std::chrono::milliseconds stop_limit{3'000};
};

// Lives on the loop's thread; its own thread is named "kgpu-disk". Runs jobs one by one.
class DiskWorker {
 public:
  // Returned by a job to be run on the loop; may be empty. Not run once the worker stops. Both are
  // destroyed on the loop's thread, so they may own objects that live there.
  using Done = std::function<void()>;
  using Job = std::function<Done()>;
  // Run on the loop instead, if a job threw (out of memory, say): Internal.
  using Failed = std::function<void(const Status&)>;

  // `loop` must outlive the worker.
  explicit DiskWorker(EventLoop& loop, DiskWorkerOptions options = {});
  // Finishes the posted jobs, then stops.
  ~DiskWorker();
  DiskWorker(const DiskWorker&) = delete;
  DiskWorker& operator=(const DiskWorker&) = delete;

  // False if too many jobs wait: the job is not accepted. For an accepted job, either its result or
  // `failed` is run, unless the worker stops.
  bool Post(Job job, Failed failed);
  // For a start, which may need a file before the loop runs: the result of `read`. Nothing if the
  // disk does not respond within start_patience, which all calls share.
  template <typename T>
  std::optional<T> Await(std::function<T()> read) {
    const auto result = std::make_shared<std::promise<T>>();
    std::future<T> future = result->get_future();
    const auto begun = std::chrono::steady_clock::now();
    const bool is_there = Post(
                              [result, read = std::move(read)] {
                                result->set_value(read());
                                return Done();
                              },
                              [](const Status&) {}) &&
                          future.wait_for(start_patience_) == std::future_status::ready;
    start_patience_ -= std::chrono::steady_clock::now() - begun;
    return is_there ? std::optional<T>(future.get()) : std::nullopt;
  }
  // The deadline to stop, instead of `stop_limit` after the request.
  void StopBy(SteadyTime deadline);
  // For people: that a job takes too long; empty: none does.
  std::string problem() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
  std::chrono::nanoseconds start_patience_;  // left
};

}  // namespace kgpu::sys
