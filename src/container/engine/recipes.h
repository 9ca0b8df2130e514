// GPUs in clusters that other tools set up: what to give minikube and Kubespray, so that nobody
// edits an engine's files on their nodes by hand.
#pragma once

#include <string>
#include <string_view>

#include "src/container/engine/config_edit.h"
#include "src/platform/base/status.h"

namespace kgpu::engine {

// Text for "minikube" (start flags, as a script) or "kubespray" (group variables, YAML), with
// comments. Of the request counts: runtime, set_default, cdi, registries. Errors: InvalidArgument
// (no such tool), with those there are.
StatusOr<std::string> Recipe(std::string_view tool, const Settings& settings);

}  // namespace kgpu::engine
