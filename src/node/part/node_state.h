// The node at one moment, as every part of the agent sees it: immutable values, cheap to copy.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/injection/injector.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pods/watch.h"
#include "src/node/pools/assignment.h"

namespace kgpu::node {

struct NodeState {
  device::SnapshotPtr snapshot{};                      // null: the driver has not answered yet
  std::shared_ptr<const config::NodeConfig> config{};  // in force; null: no good one yet
  // As the kubelet was shown it.
  std::shared_ptr<const pools::Assignment> assignment = std::make_shared<pools::Assignment>();
  std::shared_ptr<const injection::Injection> injection{};  // null: not decided yet
  pods::PodMapPtr pods = std::make_shared<pods::PodMap>();
  pods::ListState pod_list{};
  // Of the Node object; null: not known.
  std::shared_ptr<const std::map<std::string, std::string>> labels{};
  std::string plugin_owner{};  // whose plugin serves this kubelet's GPUs; empty: ours

  bool stands_back() const { return !plugin_owner.empty(); }
  // The length of a round for code that counts rounds, however often slices of a GPU's time make
  // us measure.
  std::chrono::milliseconds round() const {
    return config && config->metrics.every.count() > 0 ? config->metrics.every
                                                       : config::MetricsConfig::kUsualEvery;
  }
};

}  // namespace kgpu::node
