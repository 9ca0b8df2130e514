// Reads the section "metrics" of a NodeConfig.
#pragma once

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

void ReadMetrics(const Node& node, Problems& problems, MetricsConfig& metrics);

}  // namespace kgpu::config
