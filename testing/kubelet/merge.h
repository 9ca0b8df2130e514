// Merges several Allocate replies for one container into one set of options.
#pragma once

#include <string>
#include <vector>

#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// Adds `from` to `into`. If both have a value for an environment variable, container path or
// annotation, the first stays; a different one is dropped and named in the result.
std::vector<std::string> MergeInto(ContainerOptions& into, const ContainerOptions& from);

}  // namespace kgpu::kubelet
