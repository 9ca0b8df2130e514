// Words of a shell's command lines.
#pragma once

#include <string>
#include <string_view>

namespace kgpu {

// `text` as one word, quoted where a shell would take any of it for more than a character; bytes
// that are not printable come out as of Printable. For commands that people copy: names in them may
// be from whoever wrote the file.
std::string ShellWord(std::string_view text);

}  // namespace kgpu
