#include "src/platform/sys/openat2.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace kgpu::sys {

// It has no wrapper in glibc.
int OpenAt2(int folder, const char* path, int flags, uint64_t resolve) {
  constexpr int kMostTries = 100;
  open_how how{};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.resolve = resolve;
  long fd = -1;
  for (int tries = 0; tries < kMostTries; ++tries) {
    fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN)) {
      break;
    }
  }
  return fd < 0 ? -errno : static_cast<int>(fd);
}

}  // namespace kgpu::sys
