// An event loop whose time the test controls: timers only run in Advance, descriptors are real. As
// with the real one, any thread may call Post.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/mutex.h"
#include "testing/fake_clock.h"

namespace kgpu {

class FakeLoop final : public EventLoop {
 public:
  void Post(Task task) override;
  TimerId After(std::chrono::nanoseconds delay, Task task) override;
  void CancelTimer(TimerId timer) override;
  StatusOr<WatchId> WatchReadable(int fd, Task task) override;
  StatusOr<WatchId> WatchWritable(int fd, Task task) override;
  void Unwatch(WatchId watch) override;
  const Clock& clock() const override { return clock_; }

  // Runs posted tasks and watches of ready descriptors until none are left. Does not wait.
  void RunUntilIdle();
  // Advances time, running each timer at its own due time, followed by RunUntilIdle.
  void Advance(std::chrono::nanoseconds by);
  // Waits in real time, up to `limit`, for a watched descriptor, then runs until idle. False if
  // none became ready.
  bool WaitForDescriptor(std::chrono::milliseconds limit);

  // The next `count` watches are refused, as without memory. Source: epoll_ctl(2), ENOMEM.
  void RefuseWatches(size_t count) { refused_watches_ = count; }

  size_t timers() const { return timers_.size(); }
  size_t watches() const { return watches_.size(); }

 private:
  struct Watch {
    int fd = -1;
    short events = 0;  // of poll(2)
    std::shared_ptr<Task> task;
  };

  StatusOr<WatchId> Add(int fd, short events, Task task);
  bool RunReady(int timeout_ms);
  std::vector<Task> TakePosted();

  FakeClock clock_;
  Mutex mutex_;
  std::vector<Task> posted_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<SteadyTime, uint64_t>, Task> timers_;
  std::unordered_map<uint64_t, SteadyTime> due_;  // of each timer: thousands are cancelled
  std::map<uint64_t, Watch> watches_;
  uint64_t next_id_ = 1;
  size_t refused_watches_ = 0;
};

}  // namespace kgpu
