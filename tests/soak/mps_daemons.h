// The control daemons of MPS that an agent has started, found in /proc without its help: they run
// on when it ends.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace kgpu::soak {

// By device, of the agent with this folder for its run time. A process that has ended, and waits
// for its parent, does not count.
std::map<std::string, std::vector<pid_t>> FindMpsDaemons(const std::string& run_dir);

}  // namespace kgpu::soak
