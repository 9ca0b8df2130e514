// Text that nobody can guess, for tokens.
#pragma once

#include <cstddef>
#include <string>

#include "src/platform/base/status.h"

namespace kgpu {

inline constexpr size_t kMaxRandomBytes = 256;

// Two hexadecimal digits for each of up to kMaxRandomBytes bytes of the kernel's generator.
// Errors: Internal and the like (there is none); InvalidArgument (too many).
StatusOr<std::string> RandomHex(size_t bytes);

}  // namespace kgpu
