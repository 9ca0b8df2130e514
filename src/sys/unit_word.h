// Words of the commands in systemd's units.
#pragma once

#include <string>
#include <vector>

namespace kgpu::sys {

// The value of ExecStart that runs exactly these words. Source: systemd.service(5) "COMMAND LINES",
// systemd.unit(5) "SPECIFIERS".
std::string UnitCommand(const std::vector<std::string>& words);

}  // namespace kgpu::sys
