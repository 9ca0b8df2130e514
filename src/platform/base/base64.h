// Base64 with padding. Source: RFC 4648, section 4.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu {

std::string EncodeBase64(std::string_view bytes);
// Skips line ends and blanks. Errors: InvalidArgument; the message never quotes the text.
StatusOr<std::string> DecodeBase64(std::string_view text);

}  // namespace kgpu
