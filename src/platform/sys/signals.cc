#include "src/platform/sys/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace kgpu::sys {

StatusOr<UniqueFd> TakeSignals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    sigaddset(&set, signal);
  }
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) {
    return ErrnoStatus(errno, "block signals");
  }
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "make a signal descriptor");
  }
  return fd;
}

RestoredSignalMask::RestoredSignalMask() {
  pthread_sigmask(SIG_BLOCK, nullptr, &before_);
}

RestoredSignalMask::~RestoredSignalMask() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int NextSignal(int fd) {
  signalfd_siginfo info = {};
  return read(fd, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace kgpu::sys
