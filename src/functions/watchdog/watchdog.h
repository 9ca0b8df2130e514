// kgpu-fnwatch: the first process of a function's container.
#pragma once

#include <span>
#include <string>

namespace kgpu::watchdog {

// Runs until SIGTERM or SIGINT. Exit codes: 0 stopped as asked, 1 it cannot run, 2 wrong settings.
int Main(std::span<const std::string> arguments, char** environment);

}  // namespace kgpu::watchdog
