// Everything the agent knows at one moment, for those who show it: the status page, metrics, the
// CLI.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/agent/metrics_front.h"
#include "src/container/cri/runtime_facts.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/object/node_view.h"
#include "src/node/plugin/answer_cache.h"
#include "src/node/plugin/endpoint.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/clock.h"

namespace kgpu::agent {

struct AgentState {
  WallTime started;
  std::string config_file;     // empty: none
  std::string config_problem;  // empty: the file is what is in force
  bool has_config = false;
  device::SnapshotPtr snapshot;
  pools::Assignment assignment;
  std::vector<plugin::EndpointStatus> endpoints;  // by resource
  std::optional<plugin::Delivery> delivery;       // nothing: not decided yet
  std::string injection_problem;                  // why containers can get nothing; empty: they can
  std::string cdi_problem;  // why our CDI specs are not there; empty: they are
  std::vector<MetricsEndpoint> metrics_endpoints;  // where probes and metrics are served
  node::NodeReport node;                           // what the cluster knows about this node
  std::vector<std::string> label_problems;         // with the fix
  std::string journal_problem;                     // why events of health is not kept; empty: it is
  std::string usage_problem;                       // the same of usage
  std::string memory_problem;                      // the same of what a restart of the agent needs
  std::string kernel_problem;                      // what the next start loses; empty: nothing
  std::string plugin_owner;  // whose plugin serves this kubelet's GPUs; empty: ours
};

// Whether pods can get GPUs now: configured, the driver answers, every resource registered. `why`
// gets the first obstacle in words.
bool IsReady(const AgentState& state, std::string* why);

}  // namespace kgpu::agent
