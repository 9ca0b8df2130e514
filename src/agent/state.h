// The agent at one moment, for display and for the gate: what no part shows by itself
// (node::Part::ShowStatus).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/agent/privileges.h"
#include "src/container/cri/runtime_facts.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/choice/config_source.h"
#include "src/node/object/node_view.h"
#include "src/node/plugin/answer_cache.h"
#include "src/node/plugin/endpoint.h"
#include "src/node/pools/assignment.h"
#include "src/node/telemetry/metrics_front.h"
#include "src/platform/base/clock.h"

namespace kgpu::agent {

struct AgentState {
  WallTime started;
  std::string config_file;     // empty: none
  std::string config_problem;  // empty: the file is in effect
  bool has_config = false;
  choice::ConfigPtr config;      // that is in force; null: none
  choice::Report config_report;  // which it is, and why
  device::SnapshotPtr snapshot;
  pools::Assignment assignment;
  std::vector<plugin::EndpointStatus> endpoints;  // by resource
  std::optional<plugin::Delivery> delivery;       // nothing: not decided yet
  std::string injection_problem;                  // why containers get nothing; empty: they do
  std::string cdi_problem;  // why our CDI specs are missing; empty: they are there
  std::vector<telemetry::MetricsEndpoint> metrics_endpoints;  // where probes and metrics are served
  node::NodeReport node;                                      // the cluster's view of this node
  std::vector<std::string> label_problems;                    // with the fix
  std::string memory_problem;  // why the agent's state is not saved; empty: it is
  MissingPrivileges missing_privileges;
  std::string plugin_owner;  // whose plugin serves this kubelet's GPUs; empty: ours
};

// Whether pods can get GPUs now: configured, the driver answers, every resource is registered.
// `why` receives the first obstacle.
bool IsReady(const AgentState& state, std::string* why);

// The resources of claims, which one driver serves: registered unless there is a problem.
void AddClaimEndpoints(const std::string& problem, AgentState& state);

// Why the driver does not answer: the privilege that this process lacks for it, or what the driver
// reports.
std::string DriverProblem(const AgentState& state);

}  // namespace kgpu::agent
