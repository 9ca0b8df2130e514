// Reports errors where engines look for them: on stderr, and in the file of --log.
#pragma once

#include <string>
#include <string_view>

#include "src/container/shim/command_line.h"
#include "src/platform/base/clock.h"

namespace kgpu::shim {

// A line in runc's format, with a newline; engines show people the last one. Source: configLogrus
// of runc's main.go, go-runc's reading of log.json.
std::string RuntimeLogLine(std::string_view message, bool is_json, WallTime now);

// Appends to the log that `line` names, if any. Ignores write errors: the text is on stderr as
// well.
void WriteRuntimeLog(const CommandLine& line, std::string_view message, WallTime now);

}  // namespace kgpu::shim
