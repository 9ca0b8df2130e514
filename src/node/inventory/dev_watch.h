// Tells when a device node of NVIDIA's or of a companion comes or goes: the cheapest sign of a GPU
// that was added or removed and of a driver that was loaded. Source: inotify(7).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::inventory {

// Lives on the loop's thread.
class DevWatch {
 public:
  // Watches /dev below `host`. `changed` is called once for each batch of changes.
  // Errors: those of inotify (ResourceExhausted: too many watches); NotFound (no /dev).
  static StatusOr<std::unique_ptr<DevWatch>> Create(EventLoop& loop, const sys::Root& host,
                                                    std::function<void()> changed);
  ~DevWatch();
  DevWatch(const DevWatch&) = delete;
  DevWatch& operator=(const DevWatch&) = delete;

 private:
  DevWatch(EventLoop& loop, UniqueFd inotify, std::function<void()> changed)
      : loop_(loop), inotify_(std::move(inotify)), changed_(std::move(changed)) {}
  void OnReadable();

  EventLoop& loop_;
  UniqueFd inotify_;
  std::function<void()> changed_;
  WatchId watch_ = WatchId::kNone;
};

}  // namespace kgpu::inventory
