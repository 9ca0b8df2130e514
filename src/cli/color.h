// Colors, on terminals that take them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cli {

enum class ColorChoice { kAuto, kAlways, kNever };

// Of --color. Errors: InvalidArgument.
StatusOr<ColorChoice> ParseColorChoice(std::string_view text);

// Whether to print colors: kAuto means on a terminal, unless NO_COLOR is set or TERM=dumb.
// `environment` has entries "NAME=VALUE".
bool IsColored(ColorChoice choice, bool is_terminal, const std::vector<std::string>& environment);

// What --color says, for the whole program. Only main sets it, once, before a command runs.
void SetColorChoice(ColorChoice choice);

// Whether to print colors to `fd`.
bool TakesColor(int fd);

// `text` with the lines of the unified diffs in it in colors; everything else stays as it is.
std::string WithDiffColors(std::string_view text);

// The same where standard output takes colors.
std::string DiffForOutput(std::string text);

}  // namespace kgpu::cli
