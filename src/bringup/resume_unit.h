// The unit that goes on with `kgpu node up` at the next boot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/engine/disk.h"
#include "src/sys/root.h"
#include "src/sys/run.h"

namespace kgpu::bringup {

inline constexpr std::string_view kResumeUnit = "/etc/systemd/system/kgpu-node-up.service";

// `command`: the program's path on the host and its words.
std::string ResumeUnitText(const std::vector<std::string>& command);

struct Host {
  const sys::Root& root;
  engine::Disk& disk;
  sys::ProgramRunner& runner;
};

// Errors: those of writing and of systemctl.
Status PutResumeUnit(const Host& host, const std::vector<std::string>& command);
// One that is not there is no error.
Status RemoveResumeUnit(const Host& host);

}  // namespace kgpu::bringup
