#include "src/cli/fn_engine.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "src/cli/environment.h"
#include "src/cli/options.h"

namespace kgpu::cli {

void AddEngineOptions(CLI::App& command, FnEngineOptions& options) {
  AddValue(command, "--engine-option", options.flags, "OPTION",
           "Global option of buildah and podman, such as --root=/data/images; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->envname("KGPU_FN_ENGINE_OPTIONS");
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
