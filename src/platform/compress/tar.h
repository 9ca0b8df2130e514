// Tar archives in memory. Source: POSIX.1-2017, pax, "ustar Interchange Format".
#pragma once

#include <span>
#include <string>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::compress {

struct TarFile {
  std::string path{};  // "kgpu-n1/status.json": relative, at most 100 bytes
  std::string text{};
};

// An archive of regular files with mode 0600. Errors: InvalidArgument naming the path.
StatusOr<std::string> Tar(std::span<const TarFile> files, WallTime when);

}  // namespace kgpu::compress
