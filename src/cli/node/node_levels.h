// The stack of kgpu's drivers on a host, for `kgpu node up` and `down`.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/setup/bringup/stage.h"

namespace kgpu::cli {

// `install`: the command that installs the requested driver. Errors: those of reading the
// journal.
StatusOr<bringup::Levels> DriverLevels(const sys::Root& host, const std::string& install);

}  // namespace kgpu::cli
