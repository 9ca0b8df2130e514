// Several Allocate replies for one container become one set of options.
#pragma once

#include <string>
#include <vector>

#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// Adds `from` to `into`. Of two values for one environment variable, container path or annotation
// the first stays; each other value that differs is dropped and named in the result.
std::vector<std::string> MergeInto(ContainerOptions& into, const ContainerOptions& from);

}  // namespace kgpu::kubelet
