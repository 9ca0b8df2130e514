// Reads the commands from the parser, so that nothing generated from them goes out of date.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/commands/command.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::commands {

using Offers = std::map<const CLI::App*, std::vector<FlagWords>>;

// `offers`: values of flags and arguments whose types do not list them. A type lists them as
// "table|json|yaml".
Command TreeOf(const CLI::App& app, const Offers& offers = {});

// The command that a parsed line selects, with its full name: "kgpu driver plan".
struct Reached {
  const CLI::App* app = nullptr;
  std::string words;
};
Reached ReachedBy(const CLI::App& app);

// The words that a type lists, "a|b" or CLI11's "TEXT:{a,b}"; empty if it lists none.
std::vector<std::string> WordsOfType(std::string_view type);

}  // namespace kgpu::commands
