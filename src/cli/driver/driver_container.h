// `kgpu driver install --container`: installs a host's driver from a container on it.
#pragma once

#include <string>

#include "src/cli/base/exit_code.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/driver/driver_request.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct ContainerOptions {
  bool is_container = false;
  bool is_dry_run = false;
  std::string driver_dir = "/run/nvidia/driver";
  std::string container_root = "/";
};

// `options` must outlive the parse.
void AddContainerFlags(CLI::App& command, ContainerOptions& options);

// Errors: InvalidArgument (a flag is missing, or not allowed with --container), and those of
// driver_install::InstallFromContainer.
StatusOr<ExitCode> RunInContainer(const DriverOptions& request, const ContainerOptions& options,
                                  OutputFormat format);

}  // namespace kgpu::cli
