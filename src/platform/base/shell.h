// Quoting of words for shell command lines.
#pragma once

#include <string>
#include <string_view>

namespace kgpu {

// `text` as one shell word, quoted if it has characters that are special to a shell; bytes that are
// not printable are escaped as Printable does. For commands that people copy: the names in them may
// come from an untrusted author.
std::string ShellWord(std::string_view text);

}  // namespace kgpu
