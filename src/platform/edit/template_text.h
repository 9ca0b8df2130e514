// TOML files that are templates of Go's text/template.
#pragma once

#include <string>
#include <string_view>

namespace kgpu::edit {

// Masks the template's actions so that the text parses as TOML: a line that begins with {{ becomes
// a comment, {{ … }} instead of a value becomes a string. The result is as long as `text`, and
// bytes other than the braces of actions keep their positions.
std::string CoverActions(std::string_view text);

}  // namespace kgpu::edit
