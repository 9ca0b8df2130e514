// The MIG layouts that are requested for the GPUs of a node: by the pools with share.by: mig, and
// by the label nvidia.com/mig.config. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/mig/helper.h"

namespace kgpu::layouts {

// The labels of NVIDIA's MIG manager. Source: the README of mig-parted, deployments/container.
inline constexpr char kMigConfigLabel[] = "nvidia.com/mig.config";
inline constexpr char kMigStateLabel[] = "nvidia.com/mig.config.state";
// "true" on nodes where NVIDIA's GPU operator runs its MIG manager.
inline constexpr char kMigManagerLabel[] = "nvidia.com/gpu.deploy.mig-manager";

// The layout that is requested for some GPUs.
struct MigGoal {
  std::string name{};  // for people: "nvidia.com/mig.config=all-balanced", "pools[0] (all)"
  bool is_label = false;
  bool is_new = false;  // requested while the agent runs
  mig::LayoutChoice layout{};
  // Their UUIDs, in the snapshot's order; may be empty for a label.
  std::vector<std::string> gpus{};
  // The same goal, whether it is still new or not.
  bool operator==(const MigGoal& other) const {
    return name == other.name && is_label == other.is_label && layout == other.layout &&
           gpus == other.gpus;
  }
};

struct MigGoalInput {
  const device::Snapshot& snapshot;
  const config::NodeConfig& config;
  std::string_view label{};         // the value of kMigConfigLabel; empty: none
  std::string_view configs_file{};  // named configurations of the admin; empty: the built-in ones
  bool is_label_new = false;
};

// Each GPU with MIG that the driver answers for, that is not excluded and in no local pool nor in
// one with mig: dynamic is in one goal at most: that of its pool, if its first pool has share.by:
// mig, else that of the label.
std::vector<MigGoal> MigGoalsOf(const MigGoalInput& input);

// Changes whenever MIG modes or MIG devices do.
std::string MigMarksOf(const device::Snapshot& snapshot);

// Whether NVIDIA's MIG manager changes this node's layouts.
bool HasMigManager(const std::map<std::string, std::string>& labels);

}  // namespace kgpu::layouts
