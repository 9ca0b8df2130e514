#include "src/agent/disk_worker.h"

#include <pthread.h>
#include <unistd.h>

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "src/base/log.h"

namespace kgpu::agent {
namespace {

constexpr int kStuckExitCode = 1;

// A job, and who is told when it throws.
struct Task {
  DiskWorker::Job job;
  DiskWorker::Failed failed;
};

// A thread's last word: what a library throws must not end the process, nor leave anybody waiting
// for ever.
DiskWorker::Done RunSafely(const Task& task) {
  try {
    return task.job();
  } catch (const std::exception& error) {
    KGPU_LOG(kError, "internal: a disk job ends early", {"reason", error.what()});
    return [failed = task.failed, status = Internal("a disk job ends early: {}", error.what())] {
      failed(status);
    };
  }
}

}  // namespace

class DiskWorker::Impl : public std::enable_shared_from_this<DiskWorker::Impl> {
 public:
  Impl(EventLoop& loop, DiskWorkerOptions options) : loop_(loop), options_(options) {}

  void Start() {
    thread_ = std::jthread([this] { Work(); });
    pthread_setname_np(thread_.native_handle(), "kgpu-disk");
  }

  void Stop() {
    is_open_ = false;
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    wake_.notify_all();
    if (ended_.wait_for(lock, options_.stop_limit, [this] { return has_ended_; })) {
      lock.unlock();
      thread_.join();
      return;
    }
    lock.unlock();
    KGPU_LOG(kError, "the disk hangs", {"effect", "the process ends without waiting for it"});
    _exit(kStuckExitCode);
  }

  bool Post(Job job, Failed failed) {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= options_.max_jobs) {
      return false;
    }
    tasks_.push_back({std::move(job), std::move(failed)});
    wake_.notify_all();
    return true;
  }

  std::string problem() const {
    const std::lock_guard lock(mutex_);
    if (!busy_since_ || loop_.clock().Now() - *busy_since_ < options_.slow) {
      return {};
    }
    return fmt::format(
        "the disk has not answered for {} s: look at dmesg",
        std::chrono::duration_cast<std::chrono::seconds>(loop_.clock().Now() - *busy_since_)
            .count());
  }

 private:
  std::optional<Task> NextTask() {
    std::unique_lock lock(mutex_);
    busy_since_.reset();
    wake_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return std::nullopt;
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_since_ = loop_.clock().Now();
    return task;
  }

  void Work() {
    while (std::optional<Task> task = NextTask()) {
      Done done = RunSafely(*task);
      // The task goes with it: what it holds may be the loop's.
      loop_.Post([weak = weak_from_this(), task = *std::move(task), done = std::move(done)] {
        if (const auto self = weak.lock(); done && self && self->is_open_) {
          done();
        }
      });
    }
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
  }

  EventLoop& loop_;
  const DiskWorkerOptions options_;
  bool is_open_ = true;  // of the loop's thread

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::deque<Task> tasks_;
  std::optional<SteadyTime> busy_since_;
  bool is_stopping_ = false;
  bool has_ended_ = false;

  std::jthread thread_;
};

DiskWorker::DiskWorker(EventLoop& loop, DiskWorkerOptions options)
    : impl_(std::make_shared<Impl>(loop, options)) {
  impl_->Start();
}

DiskWorker::~DiskWorker() {
  impl_->Stop();
}

bool DiskWorker::Post(Job job, Failed failed) {
  return impl_->Post(std::move(job), std::move(failed));
}

std::string DiskWorker::problem() const {
  return impl_->problem();
}

}  // namespace kgpu::agent
