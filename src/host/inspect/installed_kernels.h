// The kernels that are installed on a host, and which of them have NVIDIA's module: the next boot
// may start another kernel than the running one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::host {

struct InstalledKernel {
  std::string release;      // "6.1.0-56-amd64"
  std::string nvidia_file;  // "/lib/modules/…/nvidia.ko.xz"; empty: no module of NVIDIA's driver
  bool has_headers = false;
  bool operator==(const InstalledKernel&) const = default;
};

// Compares numbers as numbers: 6.1.0-9 is older than 6.1.0-56. Pure function.
bool IsOlderKernel(std::string_view left, std::string_view right);

// "updates/dkms/nvidia-drm.ko.xz" → "nvidia_drm": underscores replace hyphens, as in modprobe. Pure
// function.
std::string ModuleNameOf(std::string_view path);
// Whether a module of this name is the driver itself, under any name that distributions give it:
// "nvidia", "nvidia_current", "nvidia_tesla_470". Pure function.
bool IsDriverModule(std::string_view name);

// The release of the running kernel: "6.1.0-56-amd64"; empty: there is no procfs.
std::string RunningKernel(const sys::Root& host);

// Releases that have a folder in /lib/modules, oldest first.
std::vector<std::string> KernelsWithModules(const sys::Root& host);

// Oldest first. Skips folders in /lib/modules that only hold modules of other packages. Reads each
// kernel's modules.dep, half a megabyte.
std::vector<InstalledKernel> ReadInstalledKernels(const sys::Root& host);

// The newest kernel, which boots next by default, if it is newer than `running` and lacks the
// module while `running` has one; else null.
const InstalledKernel* NextWithoutDriver(const std::vector<InstalledKernel>& kernels,
                                         std::string_view running);

}  // namespace kgpu::host
