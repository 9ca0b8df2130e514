#include "src/cluster/install/status.h"

#include <boost/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "src/kube/api/conditions.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/objects/readiness.h"
#include "src/node/object/seen_node.h"
#include "src/node/report/table.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kStatusTime{30'000};
constexpr std::string_view kAgentSelector = "app.kubernetes.io/name=kgpu-agent";

struct ReasonPrefix {
  std::string_view prefix;
  size_t step;
};

// Reasons of docs/reference/gating.md by how they begin.
constexpr std::array<ReasonPrefix, 8> kReasons = {{{"Driver", 0},
                                                   {"Runtime", 1},
                                                   {"Cdi", 2},
                                                   {"Plugin", 3},
                                                   {"NothingAdvertised", 3},
                                                   {"Kubelet", 3},
                                                   {"NothingAllocatable", 3},
                                                   {"Handle", 4}}};

std::string_view WordOf(StepState state) {
  static constexpr std::array<std::string_view, 3> kWords = {"ok", "wrong", "unknown"};
  return kWords.at(static_cast<size_t>(state));
}

// In a table, where most cells say the same.
std::string CellOf(StepState state) {
  return state == StepState::kUnknown ? "" : std::string(WordOf(state));
}

void SetSteps(NodeStatus& status, const kube::Condition& ready) {
  status.is_ready = ready.status == "True";
  status.has_gpus = ready.reason != "NoGpu";
  if (status.is_ready) {
    status.steps.fill(StepState::kOk);
    return;
  }
  const size_t wrong = StepOfReason(ready.reason);
  for (size_t i = 0; i < wrong && wrong < kSteps.size(); ++i) {
    status.steps.at(i) = StepState::kOk;
  }
  if (wrong < kSteps.size()) {
    status.steps.at(wrong) = StepState::kWrong;
  }
  status.problem = fmt::format("{}: {}", ready.reason, ready.message);
}

// Devices that the kubelet offers, of every resource for GPUs.
std::string GpusOf(const json::value& node) {
  uint64_t sum = 0;
  const json::value* amounts = kube::FindField(node, {"status", "allocatable"});
  for (const auto& [name, amount] :
       amounts != nullptr && amounts->is_object() ? amounts->get_object() : json::object()) {
    const std::string_view resource(name);
    if (amount.is_string() &&
        (resource.starts_with("nvidia.com/") || resource.starts_with("kgpu.dev/"))) {
      sum += ParseUint(std::string_view(amount.get_string())).value_or(0);
    }
  }
  return fmt::format("{}", sum);
}

bool IsPodReady(const json::value& pod) {
  const auto ready = kube::FindCondition(pod, "Ready");
  return ready && ready->status == "True";
}

// What a node's agent does.
struct AgentPod {
  std::string image;
  std::string state;    // "ready", "failing", "Pending"
  std::string problem;  // empty: none
};

AgentPod ReadAgent(const json::value& pod) {
  AgentPod agent;
  const json::value* containers = kube::FindField(pod, {"spec", "containers"});
  if (containers != nullptr && containers->is_array() && !containers->get_array().empty()) {
    agent.image = kube::TextField(containers->get_array().front(), {"image"});
  }
  agent.problem = kube::ProblemOfPod(pod);
  const std::string_view phase = kube::TextField(pod, {"status", "phase"});
  agent.state = !agent.problem.empty() ? "failing"
                : IsPodReady(pod)      ? "ready"
                                       : std::string(phase.empty() ? "Pending" : phase);
  return agent;
}

void SetAgent(NodeStatus& status, const AgentPod* agent) {
  if (agent == nullptr) {
    status.agent = "none";
    if (status.problem.empty()) {
      status.problem =
          "no agent runs on the node: compare its labels and taints with agent.nodeSelector and "
          "agent.tolerations";
    }
    status.is_ready = false;
    return;
  }
  status.image = agent->image;
  status.agent = agent->state;
  if (!agent->problem.empty()) {
    // Without an agent, the node's conditions are of the past.
    status.problem = fmt::format("agent: {}", agent->problem);
    status.is_ready = false;
  }
}

NodeStatus StatusOfNode(const json::value& node, const AgentPod* agent) {
  NodeStatus status{.name = std::string(kube::NameOf(node)), .gpus = GpusOf(node)};
  if (const auto ready = kube::FindCondition(node, node::kConditionType)) {
    SetSteps(status, *ready);
  } else {
    status.has_gpus = false;  // an agent writes none where no GPU is
    status.is_ready = agent != nullptr && agent->state == "ready";
    if (!status.is_ready) {
      status.problem = "the agent has not reported yet";
    }
  }
  const auto healthy = kube::FindCondition(node, node::kHealthConditionType);
  if (healthy && healthy->status == "False" && status.problem.empty()) {
    status.problem = fmt::format("{}: {}", healthy->reason, healthy->message);
  }
  SetAgent(status, agent);
  return status;
}

StatusOr<std::vector<WorkloadStatus>> ReadWorkloads(kube::BlockingClient& client,
                                                    kube::Kinds& kinds, const Record& record) {
  std::vector<WorkloadStatus> workloads;
  for (const InstalledObject& object : record.objects) {
    if (object.ref.kind != "DaemonSet" && object.ref.kind != "Deployment") {
      continue;
    }
    WorkloadStatus workload{.name = kube::TextOf(object.ref)};
    ASSIGN_OR_RETURN(const std::string path, kinds.PathOf(object.ref));
    const auto live = kube::SendUntilReached(client, {.path = path}, kStatusTime);
    if (live.status().code() == StatusCode::kNotFound) {
      workload.text = "is missing: run kgpu cluster install again";
    } else {
      RETURN_IF_ERROR(live.status());
      const kube::Readiness readiness = kube::ReadinessOf(*live);
      workload.is_ready = readiness.is_ready;
      workload.text = readiness.text;
      if (!workload.is_ready) {
        const StatusOr<std::string> problem = kube::FindProblem(client, *live);
        workload.text += problem.ok() && !problem->empty() ? ": " + *problem : "";
      }
    }
    workloads.push_back(std::move(workload));
  }
  return workloads;
}

}  // namespace

bool ClusterStatus::IsHealthy() const {
  return is_complete && std::ranges::all_of(workloads, &WorkloadStatus::is_ready) &&
         std::ranges::all_of(nodes, [](const NodeStatus& node) { return node.problem.empty(); });
}

size_t StepOfReason(std::string_view reason) {
  const auto* const found = std::ranges::find_if(
      kReasons, [&](const ReasonPrefix& known) { return reason.starts_with(known.prefix); });
  return found == kReasons.end() ? kSteps.size() : found->step;
}

StatusOr<ClusterStatus> ReadStatus(kube::BlockingClient& client, kube::Kinds& kinds,
                                   const std::string& space) {
  ASSIGN_OR_RETURN(const std::optional<Record> record, ReadRecord(client, space));
  if (!record) {
    return NotFound(
        "kgpu is not installed in namespace {}: run kgpu cluster install, or set --namespace",
        space);
  }
  ClusterStatus status{
      .space = space, .version = record->version, .is_complete = record->is_complete};
  ASSIGN_OR_RETURN(status.workloads, ReadWorkloads(client, kinds, *record));
  std::map<std::string, AgentPod, std::less<>> agents;  // by node
  RETURN_IF_ERROR(kube::ForEachObject(
      client, kube::kPods.Collection(space), std::string(kAgentSelector),
      [&](const json::value& pod) {
        const std::string_view node = kube::TextField(pod, {"spec", "nodeName"});
        // While one replaces another, the one that is not being deleted counts.
        if (!node.empty() && kube::FindField(pod, {"metadata", "deletionTimestamp"}) == nullptr) {
          agents[std::string(node)] = ReadAgent(pod);
        }
      }));
  RETURN_IF_ERROR(
      kube::ForEachObject(client, kube::kNodes.Collection(), "", [&](const json::value& node) {
        const auto agent = agents.find(kube::NameOf(node));
        const AgentPod* of_node = agent == agents.end() ? nullptr : &agent->second;
        if (of_node != nullptr || kube::FindCondition(node, node::kConditionType)) {
          status.nodes.push_back(StatusOfNode(node, of_node));
        }
      }));
  std::ranges::sort(status.nodes, {}, &NodeStatus::name);
  return status;
}

std::string StatusTable(const ClusterStatus& status) {
  std::string text = fmt::format("kgpu {} in namespace {}{}\n", status.version, status.space,
                                 status.is_complete ? ""
                                                    : ": not complete: run the last kgpu cluster "
                                                      "command again");
  for (const WorkloadStatus& workload : status.workloads) {
    text += fmt::format("{}: {}\n", workload.name, workload.text);
  }
  report::Table table({"NODE", "DRIVER", "RUNTIME", "CDI", "PLUGIN", "VALIDATED", "GPUS", "AGENT"});
  std::string problems;
  for (const NodeStatus& node : status.nodes) {
    std::vector<std::string> row = {node.name};
    for (const StepState step : node.steps) {
      row.push_back(CellOf(step));
    }
    row.push_back(node.gpus);
    row.push_back(node.agent);
    table.AddRow(std::move(row));
    if (!node.problem.empty()) {
      problems += fmt::format("{}: {}\n", node.name, node.problem);
    }
  }
  if (status.nodes.empty()) {
    return text + "No agent runs on any node yet.\n";
  }
  return text + "\n" + table.Render() + (problems.empty() ? "" : "\n" + problems);
}

json::object StatusJson(const ClusterStatus& status) {
  json::array workloads;
  for (const WorkloadStatus& workload : status.workloads) {
    workloads.push_back(
        {{"name", workload.name}, {"ready", workload.is_ready}, {"text", workload.text}});
  }
  json::array nodes;
  for (const NodeStatus& node : status.nodes) {
    json::object steps;
    for (size_t i = 0; i < kSteps.size(); ++i) {
      steps[json::string(kSteps.at(i))] = json::string(WordOf(node.steps.at(i)));
    }
    nodes.push_back({{"name", node.name},
                     {"ready", node.is_ready},
                     {"hasGpus", node.has_gpus},
                     {"steps", std::move(steps)},
                     {"gpus", node.gpus},
                     {"agent", node.agent},
                     {"image", node.image},
                     {"problem", node.problem}});
  }
  return {{"namespace", status.space},         {"version", status.version},
          {"complete", status.is_complete},    {"healthy", status.IsHealthy()},
          {"workloads", std::move(workloads)}, {"nodes", std::move(nodes)}};
}

}  // namespace kgpu::install
