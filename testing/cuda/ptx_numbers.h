// Numbers of PTX: 12, -3, 0x1f, and 0f3f800000 for the bits of a float.
#pragma once

#include <cstdint>

#include "testing/cuda/ptx.h"
#include "testing/cuda/ptx_scanner.h"

namespace kgpu::ptx {

// False if the token is no number, or does not fit into `type`.
bool ParseNumber(const Token& token, bool is_negative, Type type, uint64_t* bits);
// A small decimal number of a directive.
bool ParseCount(const Token& token, uint32_t limit, uint32_t* value);

}  // namespace kgpu::ptx
