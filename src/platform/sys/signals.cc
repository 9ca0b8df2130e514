#include "src/platform/sys/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "src/platform/base/status_macros.h"

namespace kgpu::sys {

namespace {

sigset_t SetOf(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

Status BlockSignals(std::initializer_list<int> signals) {
  const sigset_t set = SetOf(signals);
  const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return error == 0 ? OkStatus() : ErrnoStatus(error, "block signals");
}

StatusOr<UniqueFd> TakeSignals(std::initializer_list<int> signals) {
  RETURN_IF_ERROR(BlockSignals(signals));
  const sigset_t set = SetOf(signals);
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
