// What is wrong with a command line, and what was probably meant.
#pragma once

#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::commands {

// The word of a parsed line that stands where a command should, in a sentence: `kgpu: unknown
// command "devcies": did you mean devices?`. Empty where there is none.
std::string UnknownCommand(const CLI::App& app);

// The same for whatever made the parse fail; `problem` is what the parser says of it.
std::string UsageError(const CLI::App& app, std::string_view problem);

}  // namespace kgpu::commands
