#include "src/platform/sys/folder_watch.h"

#include <sys/inotify.h>

#include <algorithm>
#include <filesystem>

#include "src/platform/base/status_macros.h"

namespace kgpu::sys {
namespace {

constexpr uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
constexpr uint32_t kFolder = kNames | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

StatusOr<std::unique_ptr<FolderWatch>> FolderWatch::Create(EventLoop& loop, std::string folder,
                                                           std::function<void()> changed) {
  while (folder.size() > 1 && folder.ends_with('/')) {
    folder.pop_back();
  }
  std::unique_ptr<FolderWatch> self(new FolderWatch(std::move(folder), std::move(changed)));
  ASSIGN_OR_RETURN(self->inotify_, Inotify::Create(loop, [raw = self.get()](const auto& events) {
                     raw->OnEvents(events);
                   }));
  const std::string parent = std::filesystem::path(self->folder_).parent_path().string();
  ASSIGN_OR_RETURN(self->parent_, self->inotify_->Watch(parent.empty() ? "." : parent, kNames));
  self->WatchFolder();
  return self;
}

void FolderWatch::WatchFolder() {
  // A folder that does not exist now is found later, when its parent reports it.
  self_ = inotify_->Watch(folder_, kFolder).value_or(-1);
}

bool FolderWatch::Concerns(const Inotify::Event& event) const {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    return true;
  }
  if (event.watch == self_) {
    return (event.mask & IN_IGNORED) == 0;
  }
  return event.watch == parent_ && event.name == std::filesystem::path(folder_).filename().string();
}

void FolderWatch::OnEvents(const std::vector<Inotify::Event>& events) {
  if (std::ranges::any_of(events, [this](const auto& event) { return Concerns(event); })) {
    // The folder may be another one by the same name now; watching one twice changes nothing.
    WatchFolder();
    changed_();
  }
}

}  // namespace kgpu::sys
