#include "src/node/slices/kill_processes.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "src/node/pods/cgroup.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::slices {
namespace {

// Whether it was signalled.
StatusOr<bool> KillOne(uint32_t pid, const std::function<bool(uint32_t pid)>& is_meant) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.is_valid()) {
    return errno == ESRCH ? StatusOr<bool>(false)
                          : ErrnoStatus(errno, fmt::format("open process {}", pid));
  }
  if (!is_meant(pid)) {
    return false;
  }
  if (syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) != 0) {
    return errno == ESRCH ? StatusOr<bool>(false)
                          : ErrnoStatus(errno, fmt::format("kill process {}", pid));
  }
  return true;
}

}  // namespace

Status CheckPidNamespace(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::string status, host.ReadFile("/proc/self/status"));
  constexpr std::string_view kKey = "NSpid:";
  for (const std::string_view line : Split(status, '\n')) {
    // One number for each namespace, from that of /proc to the process's own.
    if (line.starts_with(kKey) && Split(Trim(line.substr(kKey.size())), '\t').size() == 1) {
      return OkStatus();
    }
  }
  return FailedPrecondition(
      "kgpu agent runs in another PID namespace than the host: set hostPID: true in its pod");
}

StatusOr<unsigned> KillProcesses(std::span<const uint32_t> pids,
                                 const std::function<bool(uint32_t pid)>& is_meant) {
  Status first;
  unsigned killed = 0;
  for (const uint32_t pid : pids) {
    const StatusOr<bool> is_killed = KillOne(pid, is_meant);
    first.Update(is_killed.status());
    killed += is_killed.value_or(false) ? 1 : 0;
  }
  RETURN_IF_ERROR(first);
  return killed;
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

}  // namespace kgpu::slices
