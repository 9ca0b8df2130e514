// Makes folders for services and providers.
#pragma once

#include <sys/types.h>

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::functions {

inline constexpr mode_t kOursAlone = 0700;

// With those above it; sets the mode of one that exists. Errors: those of mkdir(2) and chmod(2).
Status MakeFolder(const std::string& path, mode_t mode);

}  // namespace kgpu::functions
