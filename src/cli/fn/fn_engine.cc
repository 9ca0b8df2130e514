#include "src/cli/fn/fn_engine.h"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "src/cli/base/environment.h"
#include "src/cli/base/options.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::cli {

void AddEngineOptions(CLI::App& command, FnEngineOptions& options) {
  AddValue(command, "--engine-flag", options.flags, "FLAG",
           "Global flag passed to buildah and podman, as --engine-flag=--root=DIR (repeatable)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->envname("KGPU_FN_ENGINE_FLAGS");
}

void SetProcessLimits(functions::EngineSettings& engine) {
  rlimit files{};
  rlimit processes{};
  constexpr rlim_t kMaxProcesses = 4096;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max != RLIM_INFINITY) {
    engine.max_open_files = files.rlim_max;
  }
  if (getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_max != RLIM_INFINITY) {
    engine.max_processes = std::min(kMaxProcesses, processes.rlim_max / 2);
  }
}

StatusOr<functions::EngineSettings> ContainerEngine(const FnEngineOptions& options,
                                                    const sys::Root& root) {
  functions::EngineSettings engine{.podman = sys::FindProgram(root, "podman"),
                                   .flags = options.flags};
  if (engine.podman.empty()) {
    return FailedPrecondition("podman is missing: install it (apt-get install podman)");
  }
  SetProcessLimits(engine);
  return engine;
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
