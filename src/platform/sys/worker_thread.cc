#include "src/platform/sys/worker_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::sys {
namespace {

constexpr int kStuckExitCode = 1;

}  // namespace

WorkerThread::WorkerThread(const Clock& clock, WorkerThreadOptions options)
    : clock_(clock), options_(std::move(options)), thread_([this] { Work(); }) {
  pthread_setname_np(thread_.native_handle(), options_.name);
}

WorkerThread::~WorkerThread() {
  Stop();
}

bool WorkerThread::Post(Task task) {
  const MutexLock lock(mutex_);
  if (is_stopping_ || tasks_.size() >= options_.max_tasks) {
    return false;
  }
  tasks_.push_back(std::move(task));
  wake_.NotifyAll();
  return true;
}

std::optional<SteadyTime> WorkerThread::busy_since() const {
  const MutexLock lock(mutex_);
  return busy_since_;
}

void WorkerThread::Stop() {
  bool has_ended = false;
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    wake_.NotifyAll();
    const SteadyTime deadline = stop_by_.value_or(clock_.Now() + options_.stop_limit);
    while (!has_ended_ && ended_.WaitFor(mutex_, std::chrono::ceil<std::chrono::milliseconds>(
                                                     deadline - clock_.Now()))) {
    }
    has_ended = has_ended_;
  }
  if (!has_ended) {
    KGPU_LOG(kError, options_.stuck, {"effect", "the process exits without waiting for it"});
    _exit(kStuckExitCode);
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::optional<WorkerThread::Task> WorkerThread::Next() {
  const MutexLock lock(mutex_);
  busy_since_.reset();
  while (!is_stopping_ && tasks_.empty()) {
    wake_.Wait(mutex_);
  }
  if (tasks_.empty()) {
    return std::nullopt;
  }
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  busy_since_ = clock_.Now();
  return task;
}

void WorkerThread::Work() {
  while (const std::optional<Task> task = Next()) {
    (*task)();
  }
  const MutexLock lock(mutex_);
  has_ended_ = true;
  ended_.NotifyAll();
}

}  // namespace kgpu::sys
