// The flags with which every command finds the host, the driver and the probe.
#pragma once

#include <string>
#include <string_view>

#include "src/cli/base/options.h"
#include "src/host/inspect/driver_root.h"
#include "src/node/inventory/inventory.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct HostOptions {
  std::string host_root;     // empty: "/"
  std::string driver_root;   // empty: the host root
  std::string engine_root;   // empty: the host root
  std::string nvml_library;  // empty: found below the driver root
  std::string probe;         // empty: searched below the driver root
};

// Adds the flags of the three roots to `app`; `options` must outlive the parse.
void AddRootOptions(CLI::App& app, HostOptions& options);
// Adds the same, and the flags that find the driver's library and the probe.
void AddHostOptions(CLI::App& app, HostOptions& options);

// Whether the agent below the host root can be queried: no other driver is named.
bool IsAgentsHost(const HostOptions& options);

// Errors: those of host::OpenDriverRoot.
StatusOr<host::DriverRoot> OpenRoots(const HostOptions& options);

// The probe's path. Errors: NotFound (no kgpu-probe beside this program).
StatusOr<std::string> FindProbe(const HostOptions& options);

// `named`, which is the value of `flag`; if it is empty, the program `name` beside this one.
// Errors: NotFound.
StatusOr<std::string> FindCompanion(std::string_view name, std::string_view flag,
                                    const std::string& named);

// `named`, or libkgpu-share.so in ../lib/kgpu or beside this program; empty: this installation has
// none, and memory limits are unavailable. Errors: NotFound (the named file).
StatusOr<std::string> FindShareLibrary(const std::string& named);

// The folder of the running program. Source: /proc/self/exe.
StatusOr<std::string> ProgramFolder();

}  // namespace kgpu::cli
