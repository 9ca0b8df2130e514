// What the cluster calls this node.
#pragma once

#include <string>

namespace kgpu::cli {

// The name given, else this host's in lower case, as the kubelet does it; empty when it has none.
std::string NodeName(const std::string& given);

}  // namespace kgpu::cli
