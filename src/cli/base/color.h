// Colors, on terminals that support them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cli {

enum class ColorChoice { kAuto, kAlways, kNever };

// The value of --color. Errors: InvalidArgument.
StatusOr<ColorChoice> ParseColorChoice(std::string_view text);

// Whether to print colors: kAuto means on a terminal, unless NO_COLOR is set or TERM=dumb.
// `environment` has entries "NAME=VALUE".
bool IsColored(ColorChoice choice, bool is_terminal, const std::vector<std::string>& environment);

// The choice by --color, for the whole program. Only main sets it, once, before a command runs.
void SetColorChoice(ColorChoice choice);

// Whether to print colors to `fd`.
bool TakesColor(int fd);

// `text` with colors in the lines of its unified diffs; everything else stays as it is.
std::string WithDiffColors(std::string_view text);

// The same if standard output supports colors.
std::string DiffForOutput(std::string text);

}  // namespace kgpu::cli
