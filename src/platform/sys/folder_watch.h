// Reports names that come and go in a folder, even if the folder is removed and created again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/inotify.h"

namespace kgpu::sys {

// Lives on the loop's thread.
class FolderWatch {
 public:
  // `changed` is called after one or more names in `folder` were created, removed, moved or written
  // and closed, or the folder itself appeared or vanished. The folder need not exist, its parent
  // must. `loop` must outlive the watch. Errors: NotFound, PermissionDenied, ResourceExhausted (too
  // many watches: fs.inotify.max_user_instances).
  static StatusOr<std::unique_ptr<FolderWatch>> Create(EventLoop& loop, std::string folder,
                                                       std::function<void()> changed);
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // See Inotify::RemoveWatches.
  void StopWatching() { inotify_->RemoveWatches(); }

 private:
  FolderWatch(std::string folder, std::function<void()> changed)
      : folder_(std::move(folder)), changed_(std::move(changed)) {}
  void WatchFolder();
  void OnEvents(const std::vector<Inotify::Event>& events);
  // Whether the event concerns the folder.
  bool Concerns(const Inotify::Event& event) const;

  const std::string folder_;
  std::function<void()> changed_;
  std::unique_ptr<Inotify> inotify_;
  int parent_ = -1;
  int self_ = -1;
};

}  // namespace kgpu::sys
