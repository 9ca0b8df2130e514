#include "testing/fake_loop.h"

#include <poll.h>

#include <algorithm>
#include <iterator>

namespace kgpu {

void FakeLoop::Post(Task task) {
  const MutexLock lock(mutex_);
  posted_.push_back(std::move(task));
}

std::vector<EventLoop::Task> FakeLoop::TakePosted() {
  const MutexLock lock(mutex_);
  return std::exchange(posted_, {});
}

TimerId FakeLoop::After(std::chrono::nanoseconds delay, Task task) {
  const uint64_t id = next_id_++;
  // One for the past has its turn after those that wait, as in the real loop.
  const SteadyTime due = clock_.Now() + std::max(delay, std::chrono::nanoseconds(0));
  timers_.emplace(std::pair{due, id}, std::move(task));
  due_.emplace(id, due);
  return TimerId{id};
}

void FakeLoop::CancelTimer(TimerId timer) {
  if (const auto found = due_.find(static_cast<uint64_t>(timer)); found != due_.end()) {
    timers_.erase({found->second, found->first});
    due_.erase(found);
  }
}

StatusOr<WatchId> FakeLoop::WatchReadable(int fd, Task task) {
  return Add(fd, POLLIN, std::move(task));
}

StatusOr<WatchId> FakeLoop::WatchWritable(int fd, Task task) {
  return Add(fd, POLLOUT, std::move(task));
}

StatusOr<WatchId> FakeLoop::Add(int fd, short events, Task task) {
  if (fd < 0) {
    return InvalidArgument("watch descriptor {}", fd);
  }
  if (refused_watches_ > 0) {
    --refused_watches_;
    return ResourceExhausted("watch descriptor {}: out of memory", fd);
  }
  const uint64_t id = next_id_++;
  watches_.emplace(
      id, Watch{.fd = fd, .events = events, .task = std::make_shared<Task>(std::move(task))});
  return WatchId{id};
}

void FakeLoop::Unwatch(WatchId watch) {
  watches_.erase(static_cast<uint64_t>(watch));
}

bool FakeLoop::RunReady(int timeout_ms) {
  if (watches_.empty() && timeout_ms == 0) {
    return false;
  }
  std::vector<pollfd> polled;
  std::vector<uint64_t> ids;
  for (const auto& [id, watch] : watches_) {
    polled.push_back({.fd = watch.fd, .events = watch.events, .revents = 0});
    ids.push_back(id);
  }
  if (poll(polled.data(), polled.size(), timeout_ms) <= 0) {
    return false;
  }
  for (size_t i = 0; i < polled.size(); ++i) {
    // An earlier task may have removed this watch.
    const auto found = watches_.find(ids[i]);
    if (polled[i].revents != 0 && found != watches_.end()) {
      const std::shared_ptr<Task> task = found->second.task;
      (*task)();
    }
  }
  return true;
}

void FakeLoop::RunUntilIdle() {
  do {
    for (std::vector<Task> tasks = TakePosted(); !tasks.empty(); tasks = TakePosted()) {
      std::ranges::for_each(tasks, [](const Task& task) { task(); });
    }
  } while (RunReady(0));
}

void FakeLoop::Advance(std::chrono::nanoseconds by) {
  const SteadyTime end = clock_.Now() + by;
  RunUntilIdle();
  while (!timers_.empty() && timers_.begin()->first.first <= end) {
    auto node = timers_.extract(timers_.begin());
    due_.erase(node.key().second);
    clock_.Advance(node.key().first - clock_.Now());
    node.mapped()();
    RunUntilIdle();
  }
  clock_.Advance(end - clock_.Now());
}

bool FakeLoop::WaitForDescriptor(std::chrono::milliseconds limit) {
  const bool is_ready = RunReady(static_cast<int>(limit.count()));
  RunUntilIdle();
  return is_ready;
}

}  // namespace kgpu
