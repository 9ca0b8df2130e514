// How the commands of `kgpu fn` call buildah and podman.
#pragma once

#include <string>
#include <vector>

#include "src/functions/provider/container_command.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

struct FnEngineOptions {
  std::vector<std::string> flags;  // before the command of buildah and of podman
};

// --engine-flag, or $KGPU_FN_ENGINE_FLAGS.
void AddEngineOptions(CLI::App& command, FnEngineOptions& options);

// podman asks for more than some machines allow, and may not ask for as many processes as allowed.
void SetProcessLimits(functions::EngineSettings& engine);
// podman, with limits that this machine lets it set. Errors: FailedPrecondition (no podman).
StatusOr<functions::EngineSettings> ContainerEngine(const FnEngineOptions& options,
                                                    const sys::Root& root);

// Our environment, for programs whose messages we read.
std::vector<std::string> EngineEnvironment();

}  // namespace kgpu::cli
