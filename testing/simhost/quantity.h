// Parses amounts and reasons that people type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::simhost {

// "512", "512Mi", "20Gi" as MiB. Errors: InvalidArgument, naming `flag`.
StatusOr<uint64_t> ParseMebi(std::string_view text, std::string_view flag);

// nvmlClocksEventReason* bits of words such as "sw-thermal", or of numbers; "off" is 0.
// Errors: InvalidArgument, with the nearest word.
StatusOr<uint64_t> ThrottleBits(const std::vector<std::string>& reasons);

}  // namespace kgpu::simhost
