// Base64 with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kgpu::apiserver {

std::string Base64(std::string_view bytes);
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace kgpu::apiserver
