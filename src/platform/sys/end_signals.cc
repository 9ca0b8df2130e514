#include "src/platform/sys/end_signals.h"

#include <sys/signalfd.h>

namespace kgpu::sys {

EndSignals::EndSignals() {
  sigset_t set = {};
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      sigaddset(&set, signal);
    }
  }
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  fd_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

EndSignals::~EndSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace kgpu::sys
