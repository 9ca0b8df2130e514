// Templates of TOML files, in the language of Go's text/template.
#pragma once

#include <string>
#include <string_view>

namespace kgpu::edit {

// The text with the template's actions covered, so that it may be read as TOML: a line that begins
// with {{ becomes a comment, {{ … }} in the place of a value a string. As long as `text`, and each
// byte that is no brace of an action stays where it is.
std::string CoverActions(std::string_view text);

}  // namespace kgpu::edit
