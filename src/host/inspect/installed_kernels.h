// The kernels that are installed on a host, and which of them have NVIDIA's module: the next start
// may be into another one than the one that runs.
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

// Numbers count as numbers: 6.1.0-9 is older than 6.1.0-56. Pure.
bool IsOlderKernel(std::string_view left, std::string_view right);

// "updates/dkms/nvidia-drm.ko.xz" → "nvidia_drm": underscores stand for hyphens, as modprobe takes
// them. Pure.
std::string ModuleNameOf(std::string_view path);
// Whether a module of this name is the driver itself, under any of the names that distributions
// give it: "nvidia", "nvidia_current", "nvidia_tesla_470". Pure.
bool IsDriverModule(std::string_view name);

// The release of the kernel that runs: "6.1.0-56-amd64"; empty: there is no procfs.
std::string RunningKernel(const sys::Root& host);

// Releases that have a folder in /lib/modules, the oldest first.
std::vector<std::string> KernelsWithModules(const sys::Root& host);

// By age, the oldest first. What only modules of other packages left in /lib/modules is no kernel.
// Reads the modules.dep of each, half a megabyte.
std::vector<InstalledKernel> ReadInstalledKernels(const sys::Root& host);

// The newest kernel, which the next start takes by default, when it is newer than `running` and has
// no module while `running` has one; null: there is none.
const InstalledKernel* NextWithoutDriver(const std::vector<InstalledKernel>& kernels,
                                         std::string_view running);

}  // namespace kgpu::host
