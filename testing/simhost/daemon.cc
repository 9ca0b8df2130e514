#include "testing/simhost/daemon.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "src/platform/base/log.h"

namespace kgpu::simhost {

StatusOr<UniqueFd> BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) {
    return Internal("cannot block SIGTERM");
  }
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "signalfd");
  }
  return fd;
}

Status WritePid(const UniqueFd& lock) {
  const std::string text = fmt::format("{}\n", getpid());
  if (ftruncate(lock.get(), 0) != 0 ||
      pwrite(lock.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, "write the pid file");
  }
  return OkStatus();
}

void ReportReady(int ready_fd) {
  if (ready_fd < 0) {
    return;
  }
  const UniqueFd fd(ready_fd);
  if (write(fd.get(), "r", 1) != 1) {
    KGPU_LOG(kWarning, "no process waits for this server", {"errno", errno});
  }
}

}  // namespace kgpu::simhost
