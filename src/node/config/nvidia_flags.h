// The section "flags" of NVIDIA's configuration.
#pragma once

#include "src/node/config/foreign_reader.h"
#include "src/node/config/node_config.h"

namespace kgpu::config {

struct NvidiaFlags {
  MigStrategy mig = MigStrategy::kNone;
  PluginConfig plugin;
};

// Reports errors to the node's problems.
NvidiaFlags ReadNvidiaFlags(const Node& node, ForeignNotes& notes);

}  // namespace kgpu::config
