#include "src/cli/host_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "src/platform/base/status_macros.h"

namespace kgpu::cli {

void AddHostOptions(CLI::App& app, HostOptions& options) {
  const std::string group = "Where the host is";
  app.add_option("--host-root", options.host_root,
                 "Folder where the host's /proc, /sys and /dev are seen (default /)")
      ->envname("KGPU_HOST_ROOT")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--driver-root", options.driver_root,
                 "Folder where the driver's files are seen, e.g. /run/nvidia/driver "
                 "(default: the host root)")
      ->envname("KGPU_DRIVER_ROOT")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--engine-root", options.engine_root,
                 "What the container engine calls /, as seen from here (default: the host root)")
      ->envname("KGPU_ENGINE_ROOT")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--nvml-library", options.nvml_library,
                 "Any library with NVML's ABI (default: libnvidia-ml.so.1 of the driver root)")
      ->envname("KGPU_NVML_LIBRARY")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--probe", options.probe, "The kgpu-probe program (default: the one beside kgpu)")
      ->envname("KGPU_PROBE")
      ->type_name("FILE")
      ->group(group);
}

StatusOr<host::DriverRoot> OpenRoots(const HostOptions& options) {
  return host::OpenDriverRoot(options.host_root, options.driver_root, options.engine_root);
}

StatusOr<std::string> ProgramFolder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length < 0) {
    return ErrnoStatus(errno, "read /proc/self/exe");
  }
  return std::filesystem::path(std::string(path.data(), static_cast<size_t>(length)))
      .parent_path()
      .string();
}

StatusOr<std::string> FindProbe(const HostOptions& options) {
  std::string path = options.probe;
  if (path.empty()) {
    ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
    path = (std::filesystem::path(folder) / "kgpu-probe").string();
  }
  if (access(path.c_str(), X_OK) != 0) {
    return NotFound("{}: no such program: install kgpu-probe beside kgpu, or name it with --probe",
                    path);
  }
  return path;
}

}  // namespace kgpu::cli
