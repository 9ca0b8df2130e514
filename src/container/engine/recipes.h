// GPUs in clusters that other tools set up: settings for minikube and Kubespray, so that nobody has
// to edit engine files on their nodes by hand.
#pragma once

#include <string>
#include <string_view>

#include "src/container/engine/config_edit.h"
#include "src/platform/base/status.h"

namespace kgpu::engine {

// Text for "minikube" (start flags, as a script) or "kubespray" (group variables, YAML), with
// comments. Uses runtime, set_default, cdi and registries of the settings. Errors: InvalidArgument
// (no such tool; lists the known ones).
StatusOr<std::string> Recipe(std::string_view tool, const Settings& settings);

}  // namespace kgpu::engine
