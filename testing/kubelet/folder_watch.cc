#include "testing/kubelet/folder_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {

namespace fs = std::filesystem;

StatusOr<std::unique_ptr<FolderWatch>> FolderWatch::Create(EventLoop& loop,
                                                           const std::string& folder,
                                                           Handlers handlers) {
  std::unique_ptr<FolderWatch> watch(new FolderWatch(std::move(handlers)));
  ASSIGN_OR_RETURN(watch->inotify_,
                   sys::Inotify::Create(loop, [raw = watch.get()](const auto& events) {
                     std::ranges::for_each(events, [raw](const auto& e) { raw->OnEvent(e); });
                   }));
  RETURN_IF_ERROR(watch->Add(folder));
  return watch;
}

Status FolderWatch::Add(const std::string& folder) {
  constexpr uint32_t kChanges = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR;
  ASSIGN_OR_RETURN(const int id, inotify_->Watch(folder, kChanges));
  folders_[id] = folder;
  // After the watch, so that nothing slips between.
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    Look(entry->path().string());
  }
  return OkStatus();
}

void FolderWatch::Look(const std::string& path) {
  struct stat file = {};
  if (fs::path(path).filename().string().starts_with('.') || lstat(path.c_str(), &file) != 0) {
    return;
  }
  if (S_ISDIR(file.st_mode)) {
    if (const Status status = Add(path); !status.ok()) {
      KGPU_LOG(kWarning, "folder not watched", {"reason", Message(status)});
    }
  } else if (S_ISSOCK(file.st_mode)) {
    handlers_.on_socket(path);
  }
}

void FolderWatch::OnEvent(const sys::Inotify::Event& event) {
  const auto folder = folders_.find(event.watch);
  if (folder == folders_.end()) {
    return;
  }
  if ((event.mask & IN_IGNORED) != 0) {
    folders_.erase(folder);
    return;
  }
  const std::string path = fmt::format("{}/{}", folder->second, event.name);
  if ((event.mask & IN_DELETE) != 0) {
    handlers_.on_removed(path);
  } else if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
    Look(path);
  }
}

}  // namespace kgpu::kubelet
