// TOML values that are written without quotes or brackets.
#pragma once

#include <string_view>

namespace kgpu::edit {

// Whether `text` is a number, boolean, date or time of TOML 1.0 within the range of int64 and the
// calendar. Call it before toml++ sees a text: some invalid scalars cause undefined behaviour in
// toml++ instead of an error.
bool IsTomlScalar(std::string_view text);

}  // namespace kgpu::edit
