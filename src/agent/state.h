// Everything the agent knows at one moment, for display: the status page, metrics, the
// CLI.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/agent/config_source.h"
#include "src/agent/metrics_front.h"
#include "src/agent/mig_changes.h"
#include "src/agent/privileges.h"
#include "src/container/cri/runtime_facts.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/loans/ledger.h"
#include "src/node/object/node_view.h"
#include "src/node/plugin/answer_cache.h"
#include "src/node/plugin/endpoint.h"
#include "src/node/pools/assignment.h"
#include "src/node/telemetry/page_input.h"
#include "src/platform/base/clock.h"

namespace kgpu::agent {

struct AgentState {
  WallTime started;
  std::string config_file;     // empty: none
  std::string config_problem;  // empty: the file is in effect
  bool has_config = false;
  ConfigPtr config;              // that is in force; null: none
  choice::Report config_report;  // which it is, and why
  device::SnapshotPtr snapshot;
  pools::Assignment assignment;
  std::vector<loans::Loan> loans;                 // oldest first
  std::vector<plugin::EndpointStatus> endpoints;  // by resource
  std::optional<plugin::Delivery> delivery;       // nothing: not decided yet
  std::string injection_problem;                  // why containers get nothing; empty: they do
  std::string cdi_problem;  // why our CDI specs are missing; empty: they are there
  std::vector<MetricsEndpoint> metrics_endpoints;  // where probes and metrics are served
  node::NodeReport node;                           // the cluster's view of this node
  std::vector<std::string> label_problems;         // with the fix
  std::string journal_problem;                     // why health events are not kept; empty: ok
  std::string usage_problem;                       // the same for usage
  std::string loan_problem;                        // why nothing can be lent; empty: it can
  std::vector<std::string> slice_problems;         // of lent memory slices
  telemetry::SliceFiguresPtr slices;               // of containers; null: none, or unknown
  std::string memory_problem;                      // the same for what a restart of the agent needs
  std::string kernel_problem;                      // what the next boot loses; empty: nothing
  MissingPrivileges missing_privileges;
  std::vector<MigGoalReport> mig;  // the layouts that GPUs are to have
  std::string mig_problem;         // why the node's label is not followed; empty: it is
  std::string plugin_owner;        // whose plugin serves this kubelet's GPUs; empty: ours
};

// Whether pods can get GPUs now: configured, the driver answers, every resource is registered.
// `why` receives the first obstacle.
bool IsReady(const AgentState& state, std::string* why);

// Why the driver does not answer: the privilege that this process lacks for it, or what the driver
// reports.
std::string DriverProblem(const AgentState& state);

}  // namespace kgpu::agent
