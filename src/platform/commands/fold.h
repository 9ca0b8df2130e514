// Folds help for narrow terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kgpu::commands {

// `help` with its long lines broken at blanks, so that none has more than `width` characters where
// that is possible. What continues a line stands below its description, which begins after two
// blanks or more; without one, below its first word. Lines that fit stay as they are.
std::string FoldHelp(std::string_view help, size_t width);

}  // namespace kgpu::commands
