// The unit that goes on with `kgpu node up` at the next boot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::bringup {

inline constexpr std::string_view kResumeUnit = "/etc/systemd/system/kgpu-node-up.service";

// `command`: the program's path on the host and its words.
std::string ResumeUnitText(const std::vector<std::string>& command);

// Errors: those of writing.
Status PutResumeUnit(engine::Disk& disk, const sys::Root& host,
                     const std::vector<std::string>& command);
// One that is not there is no error.
Status RemoveResumeUnit(engine::Disk& disk);

}  // namespace kgpu::bringup
