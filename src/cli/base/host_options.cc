#include "src/cli/base/host_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "src/cli/base/options.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {

namespace {

constexpr char kHostGroup[] = "Host location";

}  // namespace

void AddRootOptions(CLI::App& app, HostOptions& options) {
  AddHostRootOption(app, options.host_root,
                    "Folder with the host's /proc, /sys and /dev (default: /)")
      ->group(kHostGroup);
  AsPath(AddValue(app, "--driver-root", options.driver_root, "DIR",
                  "Folder with the driver's files, e.g. /run/nvidia/driver (default: the host "
                  "root)"))
      ->envname("KGPU_DRIVER_ROOT")
      ->group(kHostGroup);
  AsPath(AddValue(app, "--engine-root", options.engine_root, "DIR",
                  "Path of the container engine's / as seen from here (default: the host root)"))
      ->envname("KGPU_ENGINE_ROOT")
      ->group(kHostGroup);
}

void AddHostOptions(CLI::App& app, HostOptions& options) {
  AddRootOptions(app, options);
  AsPath(AddValue(app, "--nvml-library", options.nvml_library, "FILE",
                  "NVML library (default: libnvidia-ml.so.1 in the driver root)"))
      ->envname("KGPU_NVML_LIBRARY")
      ->group(kHostGroup);
  AsPath(AddValue(app, "--probe", options.probe, "FILE",
                  "kgpu-probe program (default: the one beside kgpu)"))
      ->envname("KGPU_PROBE")
      ->group(kHostGroup);
}

bool IsAgentsHost(const HostOptions& options) {
  return options.driver_root.empty() && options.nvml_library.empty();
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

StatusOr<std::string> FindCompanion(std::string_view name, std::string_view flag,
                                    const std::string& named) {
  std::string path = named;
  if (path.empty()) {
    ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
    path = (std::filesystem::path(folder) / name).string();
  }
  if (access(path.c_str(), X_OK) != 0) {
    return NotFound("{}: not found: install {} beside kgpu, or set its path with {}", path, name,
                    flag);
  }
  return path;
}

StatusOr<std::string> FindShareLibrary(const std::string& named) {
  if (!named.empty()) {
    return access(named.c_str(), R_OK) == 0
               ? StatusOr<std::string>(named)
               : NotFound("{}: not found: correct --share-library", named);
  }
  ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
  // As installed, as built.
  for (const char* place : {"../lib/kgpu", "../lib", "."}) {
    const auto path = std::filesystem::path(folder) / place / "libkgpu-share.so";
    if (access(path.c_str(), R_OK) == 0) {
      return path.lexically_normal().string();
    }
  }
  return std::string();
}

StatusOr<std::string> FindProbe(const HostOptions& options) {
  return FindCompanion("kgpu-probe", "--probe", options.probe);
}

}  // namespace kgpu::cli
