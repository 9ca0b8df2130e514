// What a parser says of a command line, in plain sentences: the one place that knows CLI11's texts.
#pragma once

#include <string>

#include "src/platform/commands/command_tree.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
class ParseError;
}  // namespace CLI

namespace kgpu::commands {

// What is missing or wrong and what is allowed: `CODE: "9999" must be a number from 1 to 999`.
// `app` is the command that the line leads to.
std::string ParseProblem(const CLI::App& app, const CLI::ParseError& error);

// "kgpu sim xid DIR GPU CODE [flags]".
std::string UsageLine(const Reached& reached);

}  // namespace kgpu::commands
