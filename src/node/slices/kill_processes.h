// Ends processes of a container from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::slices {

// Whether this process knows processes by the same PIDs as the host. Errors: FailedPrecondition.
// Source: proc_pid_status(5), NSpid.
Status CheckPidNamespace(const sys::Root& host);

// Sends SIGKILL to those of `pids` for which `is_meant` holds after the PID is pinned, so that a
// PID that has been reused meets nobody else. Returns how many were signalled. Errors:
// PermissionDenied (CAP_KILL is missing); the others are signalled nevertheless. Source:
// pidfd_open(2), pidfd_send_signal(2).
StatusOr<unsigned> KillProcesses(std::span<const uint32_t> pids,
                                 const std::function<bool(uint32_t pid)>& is_meant);

// Whether the process is in this pod, by its cgroup.
bool IsInPod(const sys::Root& host, uint32_t pid, const std::string& pod_uid);

}  // namespace kgpu::slices
