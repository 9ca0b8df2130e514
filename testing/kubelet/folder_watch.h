// Reports the sockets in a folder and below, like the kubelet's plugin watcher.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/inotify.h"

namespace kgpu::kubelet {

// Lives on the loop's thread. Ignores names that begin with a dot, and does not report a socket
// that is renamed away.
class FolderWatch {
 public:
  struct Handlers {
    std::function<void(const std::string& path)> on_socket;   // appeared, or existed already
    std::function<void(const std::string& path)> on_removed;  // whatever it was
  };

  // Calls `on_socket` for existing sockets before it returns. `loop` must outlive the watch.
  // Errors: as ErrnoStatus.
  static StatusOr<std::unique_ptr<FolderWatch>> Create(EventLoop& loop, const std::string& folder,
                                                       Handlers handlers);
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

 private:
  explicit FolderWatch(Handlers handlers) : handlers_(std::move(handlers)) {}
  Status Add(const std::string& folder);
  void Look(const std::string& path);
  void OnEvent(const sys::Inotify::Event& event);

  Handlers handlers_;
  std::unique_ptr<sys::Inotify> inotify_;
  std::map<int, std::string> folders_;  // by watch descriptor
};

}  // namespace kgpu::kubelet
