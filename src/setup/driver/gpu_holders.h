// Who uses the GPUs: processes that have a device node of NVIDIA's driver open, and units.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::driver {

struct GpuHolder {
  pid_t pid = 0;
  std::string name;    // "python3", as the kernel has it
  std::string cgroup;  // "/system.slice/nvidia-persistenced.service"; empty: not readable
  bool operator==(const GpuHolder&) const = default;

  bool is_in_pod() const { return cgroup.find("kubepods") != std::string::npos; }
  // Whether the process belongs to one of these units.
  bool IsOf(const std::vector<std::string>& units) const;
};

// Sorted by pid. Only root sees the open files of other users' processes: those that are unreadable
// are left out. Source: proc(5), /proc/pid/fd and /proc/pid/cgroup.
std::vector<GpuHolder> FindGpuHolders(const sys::Root& host);

// Running units that keep the kernel module in use, in the order in which to stop them; units that
// are already stopped are left out, since we must not start them. `systemctl` is the program's
// path. Errors: those of the runner.
StatusOr<std::vector<std::string>> FindGpuUnits(const sys::Root& host, const std::string& systemctl,
                                                sys::ProgramRunner& runner);

}  // namespace kgpu::driver
