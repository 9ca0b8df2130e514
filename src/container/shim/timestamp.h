// Timestamps for logs. fmt's own formatting would link locales and streams into the program.
#pragma once

#include <string>

#include "src/platform/base/clock.h"

namespace kgpu::shim {

// "2026-11-21T15:04:05Z"
std::string Timestamp(WallTime time);

}  // namespace kgpu::shim
