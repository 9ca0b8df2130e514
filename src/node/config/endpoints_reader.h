// Reads the parts of the section "metrics" about listen addresses and access.
#pragma once

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

void ReadListen(const Node& node, MetricsListen& listen);
void ReadTls(const Node& node, MetricsTls& tls);
void ReadAuth(const Node& node, MetricsAuth& auth);

}  // namespace kgpu::config
