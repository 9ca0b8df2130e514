// Reads a descriptor to its end, with a limit: sizes of procfs files are wrong, so none is trusted.
#pragma once

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::sys {

// Everything from the current position to the end. Handles EINTR and short reads. Errors:
// OutOfRange (more than `limit` bytes), otherwise as ErrnoStatus.
StatusOr<std::string> ReadAll(int fd, size_t limit);

// Writes every byte. Handles EINTR and short writes. Errors: as ErrnoStatus.
Status WriteAll(int fd, std::string_view bytes);

}  // namespace kgpu::sys
