// NVIDIA's single-file installers: the driver's, and CUDA's, which contains a driver; and packages
// that are a repository.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::driver {

enum class FileKind : uint8_t { kDriverRun, kCudaRun, kLocalDeb, kLocalRpm };

struct DriverFile {
  FileKind kind = FileKind::kDriverRun;
  std::string path;     // by the host's path
  std::string version;  // of the driver in it
  std::string arch;     // "x86_64", "aarch64"; empty: unknown
  std::string package;  // of a local repository: its name as a package
  bool operator==(const DriverFile&) const = default;
};

// How much of a file's beginning is needed to recognise it.
inline constexpr size_t kFileHeadLimit = size_t{64} << 10;

// From the file's first bytes and its name, which has the version of CUDA installers and
// repositories. Errors: InvalidArgument (not an installer of NVIDIA's; no version).
StatusOr<DriverFile> ParseDriverFile(std::string_view path, std::string_view head);

}  // namespace kgpu::driver
