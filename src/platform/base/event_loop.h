// A daemon's only event loop: descriptors, timers and posted tasks, run on the thread that calls
// Run. That thread owns all mutable state of the daemon; other threads only call Post.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu {

// Identifies a timer or a watch until it is cancelled; ids are never reused.
enum class TimerId : uint64_t { kNone = 0 };
enum class WatchId : uint64_t { kNone = 0 };

class EventLoop {
 public:
  using Task = std::function<void()>;

  virtual ~EventLoop() = default;

  // Runs `task` on the loop's thread, after the tasks posted before. Thread: any.
  virtual void Post(Task task) = 0;

  // Runs `task` once, after at least `delay`. Tasks that are already due run first, so a task that
  // re-arms itself with a delay of 0 or less cannot starve others. Loop thread only.
  virtual TimerId After(std::chrono::nanoseconds delay, Task task) = 0;
  // Does nothing for a timer that has already run or been cancelled. Loop thread only.
  virtual void CancelTimer(TimerId timer) = 0;

  // Calls `task` whenever `fd` is readable or closed by its peer (level-triggered), until
  // Unwatch. The caller keeps `fd` open while it is watched. Loop thread only.
  // Errors: ResourceExhausted, Internal (fd cannot be polled: a regular file).
  virtual StatusOr<WatchId> WatchReadable(int fd, Task task) = 0;
  // The same for writing: runs `task` while `fd` accepts bytes, or will never accept any again.
  // Watch only while there is something to write: an idle socket is always writable. A descriptor
  // can have one watch only, of either kind.
  virtual StatusOr<WatchId> WatchWritable(int fd, Task task) = 0;
  // Safe inside the watch's own task. An unknown id is ignored. Loop thread only.
  virtual void Unwatch(WatchId watch) = 0;

  virtual const Clock& clock() const = 0;
};

// The production loop. Source: epoll(7), eventfd(2), timerfd_create(2).
class EpollLoop final : public EventLoop {
 public:
  // Errors: ResourceExhausted (no descriptors left).
  static StatusOr<std::unique_ptr<EpollLoop>> Create();
  ~EpollLoop() override;

  void Post(Task task) override;
  TimerId After(std::chrono::nanoseconds delay, Task task) override;
  void CancelTimer(TimerId timer) override;
  StatusOr<WatchId> WatchReadable(int fd, Task task) override;
  StatusOr<WatchId> WatchWritable(int fd, Task task) override;
  void Unwatch(WatchId watch) override;
  const Clock& clock() const override;

  // Runs until Quit. Called once at a time, on the thread that then owns the loop.
  void Run();
  // Makes Run return after the task in progress. Thread: any.
  void Quit();

 private:
  struct State;
  explicit EpollLoop(std::unique_ptr<State> state);
  void RunWatches(uint64_t descriptor, uint32_t events);
  void RunPosted();
  void RunTimers();
  void ArmTimer();

  std::unique_ptr<State> state_;
};

}  // namespace kgpu
