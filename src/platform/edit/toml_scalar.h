// Values of TOML that are written without quotes or brackets.
#pragma once

#include <string_view>

namespace kgpu::edit {

// Whether `text` is a number, a boolean, a date or a time as TOML 1.0 has them, in the ranges that
// int64 and the calendar have. Asked before toml++ sees a text: of some that are none it makes
// undefined behaviour, not an error.
bool IsTomlScalar(std::string_view text);

}  // namespace kgpu::edit
