#include "src/platform/sys/inotify.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::sys {

StatusOr<std::unique_ptr<Inotify>> Inotify::Create(EventLoop& loop, Handler handler) {
  UniqueFd fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "create an inotify descriptor");
  }
  std::unique_ptr<Inotify> self(new Inotify(loop, std::move(fd), std::move(handler)));
  ASSIGN_OR_RETURN(self->readable_,
                   loop.WatchReadable(self->fd_.get(), [raw = self.get()] { raw->OnReadable(); }));
  return self;
}

Inotify::Inotify(EventLoop& loop, UniqueFd fd, Handler handler)
    : loop_(loop), fd_(std::move(fd)), handler_(std::move(handler)) {
}

Inotify::~Inotify() {
  loop_.Unwatch(readable_);
}

StatusOr<int> Inotify::Watch(const std::string& path, uint32_t mask) {
  const int watch = inotify_add_watch(fd_.get(), path.c_str(), mask);
  if (watch < 0) {
    return ErrnoStatus(errno, fmt::format("watch {}", path));
  }
  watches_.insert(watch);
  return watch;
}

void Inotify::RemoveWatches() {
  for (const int watch : std::exchange(watches_, {})) {
    (void)inotify_rm_watch(fd_.get(), watch);  // its file may be gone, and the watch with it
  }
}

void Inotify::OnReadable() {
  std::vector<Event> events;
  alignas(inotify_event) std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = read(fd_.get(), buffer.data(), buffer.size())) > 0) {
    size_t offset = 0;
    while (offset + sizeof(inotify_event) <= static_cast<size_t>(size)) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + offset, sizeof(event));
      const char* name = buffer.data() + offset + offsetof(inotify_event, name);
      events.push_back({event.wd, event.mask, event.len > 0 ? name : ""});
      offset += sizeof(event) + event.len;
    }
  }
  handler_(events);
}

}  // namespace kgpu::sys
