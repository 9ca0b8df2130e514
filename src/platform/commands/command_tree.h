// Reads the commands of a parser: nothing that is made from them can go out of date.
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

// `offers`: the values of flags and arguments that their types do not say. A type says them as
// "table|json|yaml".
Command TreeOf(const CLI::App& app, const Offers& offers = {});

// The command that a parsed line leads to, with the words to it: "kgpu driver plan".
struct Reached {
  const CLI::App* app = nullptr;
  std::string words;
};
Reached ReachedBy(const CLI::App& app);

// The words of a type that lists them, "a|b" or CLI11's "TEXT:{a,b}"; empty where it lists none.
std::vector<std::string> WordsOfType(std::string_view type);

}  // namespace kgpu::commands
