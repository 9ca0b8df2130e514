// Tells when names come and go in a folder, also when the folder itself is removed and made again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// Lives on the loop's thread. Source: inotify(7).
class FolderWatch {
 public:
  // `changed` is called after one or more names in `folder` were made, removed, moved or written
  // and closed, or the folder itself came or went. The folder need not be there, the one above it
  // must. `loop` outlives the watch. Errors: NotFound, PermissionDenied, ResourceExhausted (too
  // many watches: fs.inotify.max_user_instances).
  static StatusOr<std::unique_ptr<FolderWatch>> Create(EventLoop& loop, std::string folder,
                                                       std::function<void()> changed);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

 private:
  FolderWatch(EventLoop& loop, std::string folder, UniqueFd inotify, std::function<void()> changed);
  Status WatchParent();
  void WatchFolder();
  void OnReadable();
  // Whether the event of `mask` and `name` from watch `descriptor` concerns the folder.
  bool Concerns(int descriptor, uint32_t mask, std::string_view name);

  EventLoop& loop_;
  std::string folder_;
  UniqueFd inotify_;
  std::function<void()> changed_;
  WatchId watch_ = WatchId::kNone;
  int parent_descriptor_ = -1;
  int folder_descriptor_ = -1;
};

}  // namespace kgpu::sys
