// What is wrong with a command line, and what the user probably meant.
#pragma once

#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::commands {

// A sentence about the word of a parsed line that is no command where one is expected: `kgpu:
// unknown command "devcies": did you mean devices?`. Empty if there is none.
std::string UnknownCommand(const CLI::App& app);

// The same for any parse error; `problem` is the parser's description of it.
std::string UsageError(const CLI::App& app, std::string_view problem);

}  // namespace kgpu::commands
