// File and folder changes as the kernel reports them. Source: inotify(7).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// Lives on the loop's thread.
class Inotify {
 public:
  struct Event {
    int watch = -1;  // from Watch; -1 for IN_Q_OVERFLOW (events were lost)
    uint32_t mask = 0;
    std::string name;  // of the entry in a watched folder, else empty
  };
  using Handler = std::function<void(const std::vector<Event>&)>;

  // `handler` gets all pending events, in order; it may destroy this object. `loop` must outlive
  // it. Errors: ResourceExhausted (fs.inotify.max_user_instances).
  static StatusOr<std::unique_ptr<Inotify>> Create(EventLoop& loop, Handler handler);
  ~Inotify();
  Inotify(const Inotify&) = delete;
  Inotify& operator=(const Inotify&) = delete;

  // Returns the same number for a file that is already watched. Errors: as ErrnoStatus.
  StatusOr<int> Watch(const std::string& path, uint32_t mask);
  // Removes all watches, for the end. Closing a descriptor waits until the kernel has forgotten its
  // watches, about 10 ms. So an owner of several removes all watches before it closes any, and
  // waits once.
  void RemoveWatches();

 private:
  Inotify(EventLoop& loop, UniqueFd fd, Handler handler);
  void OnReadable();

  EventLoop& loop_;
  UniqueFd fd_;
  Handler handler_;
  std::set<int> watches_;
  WatchId readable_ = WatchId::kNone;
};

}  // namespace kgpu::sys
