// Reads and prints the section "health" of a NodeConfig.
#pragma once

#include <boost/json/object.hpp>

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

void ReadHealth(const Node& node, Problems& problems, HealthConfig& health);
boost::json::object HealthTree(const HealthConfig& health);

}  // namespace kgpu::config
