#include "src/node/inventory/dev_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "src/host/inspect/companion_nodes.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::inventory {
namespace {

// Of what lies in folders, the folder alone: the quick look sees what changes in it.
bool IsOurs(std::string_view name) {
  constexpr std::string_view kDev = "/dev/";
  return name.starts_with("nvidia") || name == host::kGdrcopyName ||
         name == host::kInfinibandFolder.substr(kDev.size());
}

}  // namespace

StatusOr<std::unique_ptr<DevWatch>> DevWatch::Create(EventLoop& loop, const sys::Root& host,
                                                     std::function<void()> changed) {
  // Through the descriptor of the folder, so that a link in the root can not lead out of it.
  ASSIGN_OR_RETURN(const UniqueFd dev, host.OpenFile("dev", O_PATH | O_DIRECTORY));
  UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.is_valid()) {
    return ErrnoStatus(errno, "make an inotify descriptor");
  }
  const std::string path = fmt::format("/proc/self/fd/{}", dev.get());
  // Not IN_ATTRIB: nvidia-modprobe, which the driver's library runs, sets permissions each time.
  constexpr uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
  if (inotify_add_watch(inotify.get(), path.c_str(), kChanges) < 0) {
    return ErrnoStatus(errno, fmt::format("watch {}", host.At("dev")));
  }
  std::unique_ptr<DevWatch> watch(new DevWatch(loop, std::move(inotify), std::move(changed)));
  ASSIGN_OR_RETURN(watch->watch_, loop.WatchReadable(watch->inotify_.get(),
                                                     [self = watch.get()] { self->OnReadable(); }));
  return watch;
}

DevWatch::~DevWatch() {
  loop_.Unwatch(watch_);
}

void DevWatch::OnReadable() {
  bool is_ours = false;
  alignas(inotify_event) std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    size_t offset = 0;
    while (offset + sizeof(inotify_event) <= static_cast<size_t>(size)) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + offset, sizeof(event));
      const char* name = buffer.data() + offset + offsetof(inotify_event, name);
      is_ours = is_ours || (event.mask & IN_Q_OVERFLOW) != 0 || (event.len > 0 && IsOurs(name));
      offset += sizeof(event) + event.len;
    }
  }
  if (is_ours) {
    changed_();
  }
}

}  // namespace kgpu::inventory
