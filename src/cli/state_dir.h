// Where the agent keeps what outlives a reboot.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

inline constexpr char kStateDir[] = "/var/lib/kgpu";

// --state-dir, or $KGPU_STATE_DIR. `state_dir` holds the default and outlives the parse.
void AddStateDirOption(CLI::App& verb, std::string& state_dir);

}  // namespace kgpu::cli
