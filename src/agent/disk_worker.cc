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

// A thread's last word: what a library throws must not end the process.
DiskWorker::Done RunSafely(const DiskWorker::Job& job) {
  try {
    return job();
  } catch (const std::exception& error) {
    KGPU_LOG(kError, "internal: a disk job ends early", {"reason", error.what()});
    return {};
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

  bool Post(Job job) {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= options_.max_jobs) {
      return false;
    }
    jobs_.push_back(std::move(job));
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
  std::optional<Job> NextJob() {
    std::unique_lock lock(mutex_);
    busy_since_.reset();
    wake_.wait(lock, [this] { return is_stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) {
      return std::nullopt;
    }
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_since_ = loop_.clock().Now();
    return job;
  }

  void Work() {
    while (std::optional<Job> job = NextJob()) {
      Done done = RunSafely(*job);
      // The job goes with it: what it holds may be the loop's.
      loop_.Post([weak = weak_from_this(), job = *std::move(job), done = std::move(done)] {
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
  std::deque<Job> jobs_;
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

bool DiskWorker::Post(Job job) {
  return impl_->Post(std::move(job));
}

std::string DiskWorker::problem() const {
  return impl_->problem();
}

}  // namespace kgpu::agent
