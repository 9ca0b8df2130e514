// kgpu as a plugin of kubectl: the same program, called as kubectl-kgpu by `kubectl kgpu …`, and as
// kubectl_complete-kgpu for completion. Source: kubernetes.io, "Extend kubectl with plugins".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cli/base/exit_code.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

enum class CalledAs : uint8_t { kProgram, kPlugin, kCompletion };

// By the name of the program's file: argv[0].
CalledAs CalledAsOf(std::string_view program);

// The words of kgpu for those after `kubectl kgpu`: commands of `kgpu cluster` need no "cluster".
// Nothing at all asks for the help of `kgpu cluster`.
std::vector<std::string> PluginWords(std::vector<std::string> words);

// Prints candidates for the last word as kubectl's completion expects them.
StatusOr<ExitCode> CompleteForKubectl(std::vector<std::string> words);

}  // namespace kgpu::cli
