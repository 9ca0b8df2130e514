// What a takeover would do: what replaces what, on which nodes, in which order. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/cluster/adopt/carry.h"
#include "src/cluster/adopt/component.h"
#include "src/cluster/adopt/world.h"

namespace kgpu::adopt {

struct PlannedWorkload {
  Workload workload{};
  Fate fate = Fate::kStays;
  std::string by{};       // what replaces it, or why it stays
  size_t nodes = 0;       // that run it
  std::string removal{};  // the command that removes it at the end; empty: nothing to remove
};

// A part of a takeover on one node: the component leaves by a label of the GPU operator, or since
// its DaemonSet is told to avoid the node.
struct Part {
  Component component = Component::kPlugin;
  std::string space{};
  std::string daemon_set{};
  std::string deploy_label{};  // "nvidia.com/gpu.deploy.device-plugin"; empty: by the DaemonSet
  bool operator==(const Part&) const = default;
};

struct NodePlan {
  std::string name{};
  std::vector<Part> parts{};
  std::string skipped{};  // why the node is left alone; empty: it is taken over
  size_t gpu_pods = 0;    // running on it; they keep running
  std::map<std::string, int64_t> gpus{};
  bool is_taken = false;  // by an earlier run
};

struct Plan {
  std::vector<PlannedWorkload> workloads{};
  std::vector<NodePlan> nodes{};  // in the order of the takeover: fewest running GPU pods first
  Carried carried{};
  std::vector<std::string> problems{};  // that forbid to begin
  std::vector<std::string> warnings{};

  bool HasWork() const;  // a node to take over
};

struct PlanOptions {
  std::vector<std::string> nodes{};  // only these; empty: all with GPUs
};

// `world.nodes` that do not exist in PlanOptions are reported in `problems`.
Plan MakePlan(const World& world, const PlanOptions& options = {});

std::string PlanText(const Plan& plan);
boost::json::value PlanJson(const Plan& plan);

}  // namespace kgpu::adopt
