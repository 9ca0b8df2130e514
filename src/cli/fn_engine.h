// How the commands of `kgpu fn` call buildah and podman.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

struct FnEngineOptions {
  std::vector<std::string> flags;  // before the command of buildah and of podman
};

// --engine-flag, or $KGPU_FN_ENGINE_FLAGS.
void AddEngineOptions(CLI::App& command, FnEngineOptions& options);

// Our environment, for programs whose messages we read.
std::vector<std::string> EngineEnvironment();

}  // namespace kgpu::cli
