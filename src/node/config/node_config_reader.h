// Private to the module: the reader behind ParseNodeConfig.
#pragma once

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

// Reports errors to `problems`, which must be those of `root`.
NodeConfig ReadNodeConfig(const Node& root, Problems& problems);

}  // namespace kgpu::config
