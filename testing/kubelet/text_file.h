// Whole files of the kubelet's own folders.
#pragma once

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// Errors: NotFound, OutOfRange (more than `limit` bytes), as ErrnoStatus.
StatusOr<std::string> ReadTextFile(const std::string& path, size_t limit);

}  // namespace kgpu::kubelet
