// What is wrong with a command line, and what the user probably meant.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
class ParseError;
}  // namespace CLI

namespace kgpu::commands {

// Words that people try because other programs have them, and the commands of this program that do
// the same: "install": "kgpu node up or kgpu cluster install".
using UsualWords = std::map<std::string_view, std::string_view>;

// A sentence about the word of a parsed line that is no command where one is expected: `kgpu:
// unknown command "devcies": did you mean devices?`. Empty if there is none. `usual`: of the
// program's first word.
std::string UnknownCommand(const CLI::App& app, const UsualWords& usual = {});

// The same for whatever made the parse fail. Of arguments and values: what is missing or wrong,
// what is allowed, and a line with the command's usage. The parser's own words appear nowhere.
std::string UsageError(const CLI::App& app, const CLI::ParseError& error,
                       const UsualWords& usual = {});

}  // namespace kgpu::commands
