// Where verbs print to.
#pragma once

#include <string_view>

#include "src/base/status.h"
#include "src/report/format.h"

namespace kgpu::cli {

using report::OutputFormat;
using report::ParseOutputFormat;
using report::Render;

// Writes to standard output at once. Errors: as errno (a closed pipe: Unavailable).
Status PrintOut(std::string_view text);
// A remark for people on standard error: never part of a verb's result.
void PrintNote(std::string_view text);

}  // namespace kgpu::cli
