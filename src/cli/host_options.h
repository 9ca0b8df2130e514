// The flags by which every verb finds the host, the driver and the probe.
#pragma once

#include <string>

#include "src/host/inspect/driver_root.h"
#include "src/node/inventory/inventory.h"
#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

struct HostOptions {
  std::string host_root;     // empty: "/"
  std::string driver_root;   // empty: the host root
  std::string engine_root;   // empty: the host root
  std::string nvml_library;  // empty: found below the driver root
  std::string probe;         // empty: kgpu-probe beside this program
};

// Adds the flags to `app`; `options` outlives the parse.
void AddHostOptions(CLI::App& app, HostOptions& options);

// Errors: those of host::OpenDriverRoot.
StatusOr<host::DriverRoot> OpenRoots(const HostOptions& options);

// Where the probe is. Errors: NotFound (no kgpu-probe beside this program).
StatusOr<std::string> FindProbe(const HostOptions& options);

// The folder of the running program. Source: /proc/self/exe.
StatusOr<std::string> ProgramFolder();

}  // namespace kgpu::cli
