// Which drivers by kgpu lie one upon another on a host, for `kgpu node up` and `down`.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/bringup/stage.h"
#include "src/sys/root.h"

namespace kgpu::cli {

// `install`: the command that puts the driver there which is asked for. Errors: of reading the
// journal.
StatusOr<bringup::Levels> DriverLevels(const sys::Root& host, const std::string& install);

}  // namespace kgpu::cli
