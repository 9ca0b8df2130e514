// Tells which sockets lie in a folder and below, as the kubelet's plugin watcher sees them.
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

// Lives on the loop's thread. Names that begin with a dot are not seen; a socket that is renamed
// away is not missed.
class FolderWatch {
 public:
  struct Handlers {
    std::function<void(const std::string& path)> on_socket;   // appeared, or was there already
    std::function<void(const std::string& path)> on_removed;  // whatever it was
  };

  // Calls `on_socket` for what is there before it returns. `loop` outlives the watch. Errors: as
  // ErrnoStatus.
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
