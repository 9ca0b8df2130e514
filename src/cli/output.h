// Where verbs print to, and in which of the three forms.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace kgpu::cli {

enum class OutputFormat { kTable, kJson, kYaml };

// Errors: InvalidArgument naming the three.
StatusOr<OutputFormat> ParseOutputFormat(std::string_view text);

// JSON or YAML of `value`; never called with kTable.
std::string Render(const boost::json::value& value, OutputFormat format);

// Writes to standard output at once. Errors: as errno (a closed pipe: Unavailable).
Status PrintOut(std::string_view text);
// A remark for people on standard error: never part of a verb's result.
void PrintNote(std::string_view text);

}  // namespace kgpu::cli
