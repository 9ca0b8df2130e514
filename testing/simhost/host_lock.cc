#include "testing/simhost/host_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "testing/simhost/settings.h"

namespace kgpu::simhost {
namespace {

struct flock WholeFile() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string LockPath(const std::string& folder) {
  return fmt::format("{}/{}", folder, kLockFile);
}

}  // namespace

StatusOr<UniqueFd> LockHost(const std::string& folder) {
  const std::string path = LockPath(folder);
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "open " + path);
  }
  struct flock lock = WholeFile();
  if (fcntl(fd.get(), F_SETLK, &lock) == 0) {
    return fd;
  }
  if (errno != EACCES && errno != EAGAIN) {
    return ErrnoStatus(errno, "lock " + path);
  }
  return FailedPrecondition("{}: process {} is using this host: run kgpu sim stop {}", folder,
                            LockHolder(folder).value_or(0), folder);
}

std::optional<pid_t> LockHolder(const std::string& folder) {
  const UniqueFd fd(open(LockPath(folder).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock lock = WholeFile();
  if (!fd.is_valid() || fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
    return std::nullopt;
  }
  return lock.l_pid;
}

}  // namespace kgpu::simhost
