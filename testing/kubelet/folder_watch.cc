#include "testing/kubelet/folder_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {

namespace fs = std::filesystem;

StatusOr<std::unique_ptr<FolderWatch>> FolderWatch::Create(EventLoop& loop,
                                                           const std::string& folder,
                                                           Handlers handlers) {
  UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.is_valid()) {
    return ErrnoStatus(errno, "watch folders");
  }
  std::unique_ptr<FolderWatch> watch(
      new FolderWatch(loop, std::move(inotify), std::move(handlers)));
  ASSIGN_OR_RETURN(watch->watch_, loop.WatchReadable(watch->inotify_.get(),
                                                     [raw = watch.get()] { raw->OnReadable(); }));
  RETURN_IF_ERROR(watch->Add(folder));
  return watch;
}

FolderWatch::~FolderWatch() {
  loop_.Unwatch(watch_);
}

Status FolderWatch::Add(const std::string& folder) {
  const int id = inotify_add_watch(inotify_.get(), folder.c_str(),
                                   IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR);
  if (id < 0) {
    return ErrnoStatus(errno, fmt::format("watch {}", folder));
  }
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

void FolderWatch::OnReadable() {
  alignas(inotify_event) std::array<char, 16384> buffer{};
  const ssize_t got = read(inotify_.get(), buffer.data(), buffer.size());
  for (ssize_t at = 0; at < got;) {
    inotify_event event = {};
    std::memcpy(&event, buffer.data() + at, sizeof(event));
    const char* name = buffer.data() + at + sizeof(event);
    at += static_cast<ssize_t>(sizeof(event) + event.len);
    const auto folder = folders_.find(event.wd);
    if (folder == folders_.end()) {
      continue;
    }
    if ((event.mask & IN_IGNORED) != 0) {
      folders_.erase(folder);
      continue;
    }
    const std::string path = fmt::format("{}/{}", folder->second, event.len > 0 ? name : "");
    if ((event.mask & IN_DELETE) != 0) {
      handlers_.on_removed(path);
    } else if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
      Look(path);
    }
  }
}

}  // namespace kgpu::kubelet
