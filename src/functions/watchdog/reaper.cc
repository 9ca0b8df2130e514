#include "src/functions/watchdog/reaper.h"

#include <sys/prctl.h>
#include <sys/wait.h>

namespace kgpu::watchdog {

void AdoptOrphans() {
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void ReapOrphans(const std::function<bool(pid_t)>& is_ours) {
  while (true) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
      return;
    }
    // The kernel always shows the same one first: what lies behind ours waits until it is reaped.
    if (is_ours(info.si_pid)) {
      return;
    }
    (void)waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
  }
}

}  // namespace kgpu::watchdog
