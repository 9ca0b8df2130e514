// Where verbs print to.
#pragma once

#include <string>
#include <string_view>

#include "src/node/report/format.h"
#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

using report::OutputFormat;
using report::ParseOutputFormat;
using report::Render;

// --output, or $KGPU_OUTPUT: table, json or yaml. `output` holds the default and outlives the
// parse.
void AddOutputOption(CLI::App& verb, std::string& output);

// Writes to standard output at once. Errors: as errno (a closed pipe: Unavailable).
Status PrintOut(std::string_view text);
// A remark for people on standard error: never part of a verb's result.
void PrintNote(std::string_view text);

}  // namespace kgpu::cli
