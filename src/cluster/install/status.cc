#include "src/cluster/install/status.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
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
constexpr std::string_view kPartSelector = "app.kubernetes.io/part-of=kgpu";
constexpr kube::Resource kAgentSets{"apps", "v1", "daemonsets"};
constexpr std::string_view kAgentSet = "kgpu-agent";  // a DaemonSet

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
    status.steps.fill(StepState::kUnknown);  // the condition is of the past
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

// Reports about a node without a kubelet are old, those of its agent's pod included.
void SetNodeReady(NodeStatus& status, const json::value& node) {
  const auto ready = kube::FindCondition(node, "Ready");
  if (!ready || ready->status == "True") {
    return;
  }
  status.is_ready = false;
  status.steps.fill(StepState::kUnknown);
  status.problem = fmt::format(
      "the node is not ready: {}: {} Look at the kubelet there: systemctl status kubelet",
      ready->reason, ready->message);
}

NodeStatus StatusOfNode(const json::value& node, const AgentPod* agent) {
  NodeStatus status{.name = std::string(kube::NameOf(node)), .gpus = GpusOf(node)};
  if (const auto ready = kube::FindCondition(node, node::kConditionType)) {
    SetSteps(status, *ready);
  } else {
    status.has_gpus = status.gpus != "0";  // an agent writes none where no GPU is
    const bool is_running = agent != nullptr && agent->state == "ready";
    status.is_awaited = is_running && status.has_gpus;
    status.is_ready = is_running && !status.has_gpus;
    if (!status.is_ready) {
      status.problem = "the agent has not reported yet: look again in some seconds";
    }
  }
  const auto healthy = kube::FindCondition(node, node::kHealthConditionType);
  if (healthy && healthy->status == "False" && status.problem.empty()) {
    status.problem = fmt::format("{}: {}", healthy->reason, healthy->message);
  }
  SetAgent(status, agent);
  SetNodeReady(status, node);
  return status;
}

bool IsAgentSet(const json::value& daemon_set) {
  return kube::NameOf(daemon_set) == kAgentSet;
}

// Of an installation by helm or kubectl: the workloads that carry the chart's labels.
StatusOr<std::vector<kube::ObjectRef>> FindWorkloads(kube::BlockingClient& client,
                                                     const std::string& space) {
  std::vector<kube::ObjectRef> workloads;
  const auto add = [&](const kube::Resource& resource, const char* kind) {
    return kube::ForEachObject(
        client, resource.Collection(space), std::string(kPartSelector),
        [&](const json::value& object) {
          workloads.push_back({"apps/v1", kind, space, std::string(kube::NameOf(object))});
        });
  };
  RETURN_IF_ERROR(add(kAgentSets, "DaemonSet"));
  RETURN_IF_ERROR(add({"apps", "v1", "deployments"}, "Deployment"));
  return workloads;
}

// Where else it may be.
StatusOr<std::string> OtherSpace(kube::BlockingClient& client) {
  std::string space;
  RETURN_IF_ERROR(kube::ForEachObject(client, kAgentSets.Collection(), std::string(kPartSelector),
                                      [&space](const json::value& object) {
                                        if (IsAgentSet(object)) {
                                          space = kube::NamespaceOf(object);
                                        }
                                      }));
  return space;
}

Status NotInstalled(kube::BlockingClient& client, const std::string& space) {
  const StatusOr<std::string> other = OtherSpace(client);
  return other.ok() && !other->empty()
             ? NotFound("kgpu is not installed in namespace {}, but in {}: set --namespace {}",
                        space, *other, *other)
             : NotFound(
                   "kgpu is not installed in namespace {}: run kgpu cluster install, or set "
                   "--namespace",
                   space);
}

StatusOr<std::vector<WorkloadStatus>> ReadWorkloads(kube::BlockingClient& client,
                                                    kube::Kinds& kinds,
                                                    const std::vector<kube::ObjectRef>& refs) {
  std::vector<WorkloadStatus> workloads;
  for (const kube::ObjectRef& ref : refs) {
    if (ref.kind != "DaemonSet" && ref.kind != "Deployment") {
      continue;
    }
    WorkloadStatus workload{.name = kube::TextOf(ref)};
    ASSIGN_OR_RETURN(const std::string path, kinds.PathOf(ref));
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
  ClusterStatus status{.space = space, .is_complete = true};
  std::vector<kube::ObjectRef> refs;
  if (record) {
    status.version = record->version;
    status.is_complete = record->is_complete;
    std::ranges::transform(record->objects, std::back_inserter(refs), &InstalledObject::ref);
  } else {
    ASSIGN_OR_RETURN(refs, FindWorkloads(client, space));
    if (std::ranges::find(refs, kAgentSet, &kube::ObjectRef::name) == refs.end()) {
      return NotInstalled(client, space);
    }
  }
  ASSIGN_OR_RETURN(status.workloads, ReadWorkloads(client, kinds, refs));
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
  std::string text =
      status.version.empty()
          ? fmt::format("kgpu in namespace {}, not installed by kgpu cluster install\n",
                        status.space)
          : fmt::format("kgpu {} in namespace {}{}\n", status.version, status.space,
                        status.is_complete ? ""
                                           : ": not complete: run the last kgpu cluster command "
                                             "again");
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
