#include "src/sys/read_fd.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace kgpu::sys {

StatusOr<std::string> ReadAll(int fd, size_t limit) {
  std::string bytes;
  size_t used = 0;
  while (true) {
    // One byte past the limit tells a file that fits from one that does not.
    const size_t want = std::min(std::max<size_t>(used, 4096), limit + 1 - used);
    bytes.resize(used + want);
    const ssize_t got = ::read(fd, bytes.data() + used, want);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return ErrnoStatus(errno, "read");
    }
    used += static_cast<size_t>(got);
    if (got == 0) {
      bytes.resize(used);
      return bytes;
    }
    if (used > limit) {
      return OutOfRange("larger than the {} bytes allowed here", limit);
    }
  }
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done < 0) {
      return ErrnoStatus(errno, "write");
    }
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return OkStatus();
}

}  // namespace kgpu::sys
