// What kgpu keeps of the settings of the software that it replaces: NodeConfigs, and what is lost.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/adopt/settings.h"
#include "src/node/config/foreign.h"
#include "src/node/config/node_config.h"

namespace kgpu::adopt {

// ConfigMaps that settings name: key → text.
using MapTexts = std::map<MapKey, std::map<std::string, std::string>>;  // MapKey without a key

struct Foreign {
  std::vector<PluginSettings> plugins{};
  std::vector<ExporterSettings> exporters{};
  std::optional<PolicySettings> policy{};
  MapTexts maps{};
};

// The ConfigMaps to read for Foreign::maps, without keys.
std::vector<MapKey> MapsOf(const Foreign& foreign);

struct Carried {
  config::NodeConfig config = config::DefaultNodeConfig();  // of nodes without a label
  // By the value of the node label nvidia.com/device-plugin.config.
  std::map<std::string, config::NodeConfig> named{};
  // Configurations that kgpu cannot express, with the reason: nodes that use them are left alone.
  // The key "" is that of nodes without a label.
  std::map<std::string, std::string> refused{};
  std::string driver_root{};  // on the host; empty: the host's own
  std::vector<config::Note> notes{};
  bool operator==(const Carried&) const = default;
};

Carried Carry(const Foreign& foreign);

}  // namespace kgpu::adopt
