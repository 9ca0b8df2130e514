// What the cluster calls this node.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

// --node, or $NODE_NAME. `name` outlives the parse.
void AddNodeNameOption(CLI::App& app, std::string& name);

// The name given, else this host's in lower case, as the kubelet does it; empty when it has none.
std::string NodeName(const std::string& given);

}  // namespace kgpu::cli
