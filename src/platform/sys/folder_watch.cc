#include "src/platform/sys/folder_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

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
  UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.is_valid()) {
    return ErrnoStatus(errno, "make an inotify descriptor");
  }
  std::unique_ptr<FolderWatch> self(
      new FolderWatch(loop, std::move(folder), std::move(inotify), std::move(changed)));
  RETURN_IF_ERROR(self->WatchParent());
  self->WatchFolder();
  ASSIGN_OR_RETURN(self->watch_, loop.WatchReadable(self->inotify_.get(),
                                                    [watch = self.get()] { watch->OnReadable(); }));
  return self;
}

FolderWatch::FolderWatch(EventLoop& loop, std::string folder, UniqueFd inotify,
                         std::function<void()> changed)
    : loop_(loop),
      folder_(std::move(folder)),
      inotify_(std::move(inotify)),
      changed_(std::move(changed)) {
}

FolderWatch::~FolderWatch() {
  loop_.Unwatch(watch_);
}

Status FolderWatch::WatchParent() {
  const std::string parent = std::filesystem::path(folder_).parent_path().string();
  parent_descriptor_ =
      inotify_add_watch(inotify_.get(), parent.empty() ? "." : parent.c_str(), kNames);
  if (parent_descriptor_ < 0) {
    return ErrnoStatus(errno, fmt::format("watch {}", parent));
  }
  return OkStatus();
}

void FolderWatch::WatchFolder() {
  // A folder that is not there now is met again when its parent tells of it.
  folder_descriptor_ = inotify_add_watch(inotify_.get(), folder_.c_str(), kFolder);
}

bool FolderWatch::Concerns(int descriptor, uint32_t mask, std::string_view name) {
  if ((mask & IN_Q_OVERFLOW) != 0) {
    return true;
  }
  if (descriptor == folder_descriptor_) {
    return (mask & IN_IGNORED) == 0;
  }
  return descriptor == parent_descriptor_ &&
         name == std::filesystem::path(folder_).filename().string();
}

void FolderWatch::OnReadable() {
  bool is_concerned = false;
  alignas(inotify_event) std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    size_t offset = 0;
    while (offset + sizeof(inotify_event) <= static_cast<size_t>(size)) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + offset, sizeof(event));
      const char* name = buffer.data() + offset + offsetof(inotify_event, name);
      is_concerned |= Concerns(event.wd, event.mask, event.len > 0 ? name : "");
      offset += sizeof(event) + event.len;
    }
  }
  if (is_concerned) {
    // The folder may be another one by the same name now; watching one twice changes nothing.
    WatchFolder();
    changed_();
  }
}

}  // namespace kgpu::sys
