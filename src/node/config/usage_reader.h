// Reads the section "usage" of a NodeConfig.
#pragma once

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

void ReadUsage(const Node& node, UsageConfig& usage);

}  // namespace kgpu::config
