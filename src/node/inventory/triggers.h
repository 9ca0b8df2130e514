// When to read the driver again without an event from it: device nodes that come and go, signs of a
// change in /proc, and the slow poll.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/inotify.h"
#include "src/platform/sys/root.h"

namespace kgpu::inventory {

struct TriggerOptions {
  std::chrono::milliseconds quick_poll{2000};
  std::chrono::milliseconds slow_poll{30000};
};

// Owned by the inventory, lives on the loop's thread.
class Triggers {
 public:
  // Calls `changed` when something may have changed, and `poll` after each slow_poll. `loop` and
  // `host` must outlive the triggers.
  Triggers(EventLoop& loop, const sys::Root& host, const TriggerOptions& options,
           std::function<void()> changed, std::function<void()> poll);
  ~Triggers();
  Triggers(const Triggers&) = delete;
  Triggers& operator=(const Triggers&) = delete;

  // A full read starts: from now on, changes are relative to this moment. Otherwise a full read
  // might see a change that came and went between two quick looks, and keep showing it.
  void OnFullLook();
  // Something has begun to change: checks now, and again while the kernel may still be at it.
  void LookRepeatedly();
  // See sys::Inotify::RemoveWatches.
  void StopWatching();

 private:
  void ArmQuickPoll();
  void ArmSlowPoll();

  EventLoop& loop_;
  const sys::Root& host_;
  const TriggerOptions options_;
  std::function<void()> changed_;
  std::function<void()> poll_;
  std::unique_ptr<sys::Inotify> dev_watch_;
  std::vector<TimerId> change_timers_;
  Timer quick_timer_{loop_};
  Timer slow_timer_{loop_};
  std::string quick_look_;  // the last one, or that of the last full read
};

}  // namespace kgpu::inventory
