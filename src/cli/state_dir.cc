#include "src/cli/state_dir.h"

#include <CLI/CLI.hpp>

namespace kgpu::cli {

void AddStateDirOption(CLI::App& verb, std::string& state_dir) {
  verb.add_option("--state-dir", state_dir, "Folder of what the agent keeps over reboots")
      ->envname("KGPU_STATE_DIR")
      ->type_name("DIR")
      ->capture_default_str();
}

}  // namespace kgpu::cli
