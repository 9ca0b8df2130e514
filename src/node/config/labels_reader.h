// Reads the parts of a NodeConfig about the Node object.
#pragma once

#include <chrono>
#include <optional>

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

// A duration with its unit, "60s".
std::optional<std::chrono::milliseconds> ReadDuration(const Node& node, Problems& problems);

void ReadLabels(const Node& node, Problems& problems, LabelsConfig& labels);
void ReadGate(const Node& node, GateConfig& gate);

}  // namespace kgpu::config
