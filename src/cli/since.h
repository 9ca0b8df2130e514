// "--since 24h": how far back a verb looks. kgpu::ParseSince reads it.
#pragma once

#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

// --since. `since` outlives the parse. `note` ends the help's line.
void AddSinceOption(CLI::App& verb, std::string& since, std::string_view note = "");

}  // namespace kgpu::cli
