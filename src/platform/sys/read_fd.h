// Reads a descriptor to its end, with a limit: size fields of procfs lie, so none is believed.
#pragma once

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::sys {

// Everything from the current position to the end. Errors: OutOfRange (more than `limit` bytes), as
// ErrnoStatus otherwise. Survives EINTR and short reads.
StatusOr<std::string> ReadAll(int fd, size_t limit);

// Writes every byte. Survives EINTR and short writes. Errors: as ErrnoStatus.
Status WriteAll(int fd, std::string_view bytes);

}  // namespace kgpu::sys
