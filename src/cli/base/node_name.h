// The cluster's name for this node.
#pragma once

#include <string>

namespace kgpu::cli {

// The given name, else this host's in lower case, as in the kubelet; empty if it has none.
std::string NodeName(const std::string& given);

}  // namespace kgpu::cli
