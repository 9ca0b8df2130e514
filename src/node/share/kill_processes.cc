#include "src/node/share/kill_processes.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "src/node/pods/cgroup.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::share {
namespace {

Status KillOne(uint32_t pid, const std::function<bool(uint32_t pid)>& is_meant) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.is_valid()) {
    return errno == ESRCH ? OkStatus() : ErrnoStatus(errno, fmt::format("open process {}", pid));
  }
  if (!is_meant(pid)) {
    return OkStatus();
  }
  if (syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH) {
    return ErrnoStatus(errno, fmt::format("kill process {}", pid));
  }
  return OkStatus();
}

}  // namespace

Status CheckPidNamespace(const sys::Root& host, const sys::Root& own) {
  const StatusOr<std::string> first = host.ReadLink("/proc/1/ns/pid");
  const StatusOr<std::string> ours = own.ReadLink("/proc/self/ns/pid");
  if (first.ok() && ours.ok() && *first == *ours) {
    return OkStatus();
  }
  return FailedPrecondition(
      "kgpu agent runs in another PID namespace than the host: set hostPID: true in its pod");
}

Status KillProcesses(std::span<const uint32_t> pids,
                     const std::function<bool(uint32_t pid)>& is_meant) {
  Status first;
  for (const uint32_t pid : pids) {
    first.Update(KillOne(pid, is_meant));
  }
  return first;
}

bool IsInPod(const sys::Root& host, uint32_t pid, const std::string& pod_uid) {
  const StatusOr<std::string> text = host.ReadFile(fmt::format("/proc/{}/cgroup", pid));
  if (!text.ok() || pod_uid.empty()) {
    return false;
  }
  return std::ranges::any_of(pods::PlacesOf(*text), [&](const pods::CgroupPlace& place) {
    return place.pod_uid == pod_uid;
  });
}

}  // namespace kgpu::share
