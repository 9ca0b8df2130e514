#include "src/cli/fn_engine.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "src/cli/environment.h"
#include "src/cli/options.h"

namespace kgpu::cli {

void AddEngineOptions(CLI::App& command, FnEngineOptions& options) {
  AddValue(command, "--engine-flag", options.flags, "FLAG",
           "Flag before the command of buildah and podman, as --engine-flag=--root=DIR (repeatable)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->envname("KGPU_FN_ENGINE_FLAGS");
}

std::vector<std::string> EngineEnvironment() {
  std::vector<std::string> environment = Environment();
  std::erase_if(environment, [](const std::string& entry) {
    return entry.starts_with("LC_ALL=") || entry.starts_with("LANGUAGE=");
  });
  environment.emplace_back("LC_ALL=C");
  return environment;
}

}  // namespace kgpu::cli
