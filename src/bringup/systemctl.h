// systemctl of a host.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/sys/root.h"
#include "src/sys/run.h"

namespace kgpu::bringup {

// Errors: FailedPrecondition (no systemctl here, or what it says).
Status Systemctl(const sys::Root& host, sys::ProgramRunner& runner, std::vector<std::string> words);

}  // namespace kgpu::bringup
