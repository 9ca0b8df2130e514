// Base64 with padding, as JSON files carry bytes. Source: RFC 4648, section 4.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

std::string ToBase64(std::string_view bytes);
// Errors: InvalidArgument (other characters, wrong length).
StatusOr<std::string> FromBase64(std::string_view text);

}  // namespace kgpu::kubelet
