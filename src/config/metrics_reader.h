// Reads the section "metrics" of a NodeConfig.
#pragma once

#include "src/config/node_config.h"
#include "src/config/tree_reader.h"

namespace kgpu::config {

void ReadMetrics(const Node& node, Problems& problems, MetricsConfig& metrics);

}  // namespace kgpu::config
