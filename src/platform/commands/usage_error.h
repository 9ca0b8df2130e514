// What is wrong with a command line, and what was probably meant.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
class ParseError;
}  // namespace CLI

namespace kgpu::commands {

// The word of a parsed line that stands where a command should, in a sentence: `kgpu: unknown
// command "devcies": did you mean devices?`. Empty where there is none.
std::string UnknownCommand(const CLI::App& app);

// The same for whatever made the parse fail. Of arguments and values: what is missing or wrong,
// what is allowed, and a line with the command's usage. The parser's own words appear nowhere.
std::string UsageError(const CLI::App& app, const CLI::ParseError& error);

}  // namespace kgpu::commands
