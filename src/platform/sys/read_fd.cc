#include "src/platform/sys/read_fd.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace kgpu::sys {
namespace {

constexpr size_t kUsualPiece = 4096;

// How much to read first. The file's size is only a hint: procfs says 0.
size_t FirstPiece(int fd) {
  struct stat info{};
  const bool has_size = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  // With one byte more the end shows without another piece.
  return has_size ? static_cast<size_t>(info.st_size) + 1 : kUsualPiece;
}

}  // namespace

StatusOr<std::string> ReadAll(int fd, size_t limit) {
  // One byte past the limit tells a file that fits from one that does not.
  const size_t most = limit + 1;
  std::string bytes(std::min(FirstPiece(fd), most), '\0');
  size_t used = 0;
  while (true) {
    if (used == bytes.size()) {
      bytes.resize(std::min(std::max(2 * used, kUsualPiece), most));
    }
    const ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
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
      return OutOfRange("exceeds the limit of {} bytes", limit);
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
