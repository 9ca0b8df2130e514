// systemctl of a host.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::bringup {

// Errors: FailedPrecondition (no systemctl here, or what it says).
Status Systemctl(const sys::Root& host, sys::ProgramRunner& runner, std::vector<std::string> words);

}  // namespace kgpu::bringup
