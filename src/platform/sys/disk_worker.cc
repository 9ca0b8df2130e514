#include "src/platform/sys/disk_worker.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/sys/worker_thread.h"

namespace kgpu::sys {
namespace {

// A job, and who is notified when it throws.
struct Task {
  DiskWorker::Job job;
  DiskWorker::Failed failed;
};

// The last catch of the thread: an exception of a library must neither end the process nor leave a
// caller waiting for ever.
DiskWorker::Done RunSafely(const Task& task) {
  try {
    return task.job();
  } catch (const std::exception& error) {
    KGPU_LOG(kError, "internal: disk job ended early", {"reason", error.what()});
    return [failed = task.failed, status = Internal("disk job ended early: {}", error.what())] {
      failed(status);
    };
  }
}

}  // namespace

class DiskWorker::Impl : public std::enable_shared_from_this<DiskWorker::Impl> {
 public:
  Impl(EventLoop& loop, const DiskWorkerOptions& options)
      : loop_(loop),
        slow_(options.slow),
        thread_(loop.clock(), {.name = "kgpu-disk",
                               .stuck = "disk not responding",
                               .max_tasks = options.max_jobs,
                               .stop_limit = options.stop_limit}) {}

  void Stop() {
    is_open_ = false;
    thread_.Stop();
  }

  void StopBy(SteadyTime deadline) { thread_.StopBy(deadline); }

  bool Post(Job job, Failed failed) {
    auto task = std::make_shared<Task>(Task{std::move(job), std::move(failed)});
    return thread_.Post([this, task] { Do(*task); });
  }

  std::string problem() const {
    const auto since = thread_.busy_since();
    if (!since || loop_.clock().Now() - *since < slow_) {
      return {};
    }
    return fmt::format(
        "the disk has not responded for {} s: check dmesg",
        std::chrono::duration_cast<std::chrono::seconds>(loop_.clock().Now() - *since).count());
  }

 private:
  // On the worker's thread.
  void Do(Task& task) {
    Done done = RunSafely(task);
    // The task goes with it: what it holds may be the loop's.
    loop_.Post([weak = weak_from_this(), task = std::move(task), done = std::move(done)] {
      if (const auto self = weak.lock(); done && self && self->is_open_) {
        done();
      }
    });
  }

  EventLoop& loop_;
  const std::chrono::milliseconds slow_;
  bool is_open_ = true;  // loop thread only
  WorkerThread thread_;
};

DiskWorker::DiskWorker(EventLoop& loop, DiskWorkerOptions options)
    : impl_(std::make_shared<Impl>(loop, options)), start_patience_(options.start_patience) {
}

DiskWorker::~DiskWorker() {
  impl_->Stop();
}

void DiskWorker::StopBy(SteadyTime deadline) {
  impl_->StopBy(deadline);
}

bool DiskWorker::Post(Job job, Failed failed) {
  return impl_->Post(std::move(job), std::move(failed));
}

std::string DiskWorker::problem() const {
  return impl_->problem();
}

}  // namespace kgpu::sys
