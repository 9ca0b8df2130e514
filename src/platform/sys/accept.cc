#include "src/platform/sys/accept.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace kgpu::sys {

StatusOr<std::optional<UniqueFd>> AcceptOn(int listener, std::string_view name) {
  for (;;) {
    UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.is_valid()) {
      return std::optional<UniqueFd>(std::move(fd));
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return std::optional<UniqueFd>();
    }
    // A peer that is already gone does not count; accept(2) says to take the next.
    if (errno != EINTR && errno != ECONNABORTED) {
      return ErrnoStatus(errno, fmt::format("accept on {}", name));
    }
  }
}

}  // namespace kgpu::sys
