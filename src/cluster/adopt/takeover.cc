#include "src/cluster/adopt/takeover.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/cluster/adopt/changes.h"
#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr kube::Resource kSets{"apps", "v1", "daemonsets"};
constexpr kube::Resource kMaps{"", "v1", "configmaps"};
constexpr kube::Resource kNamespaces{"", "v1", "namespaces"};
constexpr std::string_view kMadeBy = "kgpu.dev/made-by";
constexpr std::string_view kAdopt = "adopt";
constexpr int kMostConflicts = 10;

// That of `kgpu node adopt`: a person's decision, which outlives the agents.
const kube::WriteOptions kWrites{.field_manager = "kgpu-verb"};

bool IsMissing(const Status& status) {
  return status.code() == StatusCode::kNotFound;
}

// Containers of GPU pods that were running then and are not the same now. Pods that ended are fine.
std::string Restarted(const NodeRecord& record, const std::vector<SeenPod>& pods) {
  std::vector<std::string> names;
  for (const SeenPod& pod : pods) {
    const auto before = record.pods.find(pod.uid);
    const bool was_there = before != record.pods.end();
    if (was_there && pod.has_gpus && pod.is_running && pod.ids != before->second) {
      names.push_back(fmt::format("{}/{}", pod.space, pod.name));
    }
  }
  return Join(names, ", ");
}

// The resources of which fewer are allocatable than before.
std::string Fewer(const NodeRecord& record, const SeenNode& node) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : record.gpus) {
    const auto now = node.gpus.find(name);
    const int64_t has = now == node.gpus.end() ? 0 : now->second;
    if (has < count) {
      texts.push_back(fmt::format("{} of {} {} allocatable", has, count, name));
    }
  }
  return Join(texts, ", ");
}

NodeOutcome OutcomeOf(const std::string& name, const Status& status, std::string_view done) {
  return {name, status.ok(), status.ok() ? std::string(done) : std::string(Message(status))};
}

}  // namespace

struct Takeover::NodeNow {
  SeenNode node{};
  std::vector<SeenPod> pods{};

  const SeenPod* Agent(std::string_view space) const {
    const auto found = std::ranges::find_if(pods, [space](const SeenPod& pod) {
      return pod.space == space && pod.daemon_set == kAgentName;
    });
    return found == pods.end() ? nullptr : &*found;
  }
  std::vector<const SeenPod*> Of(std::string_view space, std::string_view set) const {
    std::vector<const SeenPod*> found;
    for (const SeenPod& pod : pods) {
      if (pod.space == space && pod.daemon_set == set) {
        found.push_back(&pod);
      }
    }
    return found;
  }
};

Takeover::Takeover(const Deps& deps, TakeoverOptions options)
    : deps_(deps), options_(std::move(options)) {
}

Outcome Takeover::Adopt(const Plan& plan) {
  Outcome outcome;
  if (!plan.problems.empty()) {
    outcome.status = FailedPrecondition("{}", Join(plan.problems, "\n"));
    return outcome;
  }
  outcome.status = Begin(plan);
  for (const NodePlan& node : plan.nodes) {
    if (!outcome.status.ok()) {
      return outcome;
    }
    if (!node.skipped.empty() || node.parts.empty()) {
      continue;
    }
    const Status taken = TakeNode(node);
    outcome.nodes.push_back(OutcomeOf(node.name, taken, "taken over"));
    if (taken.ok()) {
      continue;
    }
    outcome.status = Annotate(taken, "node {}", node.name);
    // What cannot be reached cannot be handed back: the next run continues.
    if (taken.code() != StatusCode::kUnavailable && taken.code() != StatusCode::kDeadlineExceeded) {
      deps_.say(fmt::format("{}: handed back, since {}", node.name, Message(taken)));
      if (const Status given = GiveNode(node.name); !given.ok()) {
        outcome.nodes.back().message += fmt::format("; and handing back: {}", Message(given));
      }
    }
  }
  return outcome;
}

Outcome Takeover::HandBack() {
  Outcome outcome;
  const auto names = TakenNodes();
  // Before the first node: half of it handed back would be worse than none.
  const auto is_ours = InstalledByUs();
  outcome.status = names.ok() ? is_ours.status() : names.status();
  if (outcome.status.ok() && *is_ours) {
    outcome.status = deps_.check_uninstall();
  }
  for (const std::string& name : outcome.status.ok() ? *names : std::vector<std::string>()) {
    const Status given = GiveNode(name);
    outcome.nodes.push_back(OutcomeOf(name, given, "handed back"));
    // One node that cannot be handed back keeps no other one.
    if (!given.ok() && outcome.status.ok()) {
      outcome.status = Annotate(given, "node {}", name);
    }
  }
  const auto finish = [&]() -> Status {
    RETURN_IF_ERROR(RestoreSets());
    if (*is_ours) {
      deps_.say("removing kgpu");
      RETURN_IF_ERROR(deps_.uninstall());
    } else if (!names->empty()) {
      deps_.say("waiting until the agents stand back by themselves");
      deps_.pause(options_.agent_notice);
    }
    RETURN_IF_ERROR(ForgetNodes(false));
    return RemoveState();
  };
  if (outcome.status.ok()) {
    outcome.status = finish();
  }
  return outcome;
}

Outcome Takeover::Finish(const Plan& plan) {
  Outcome outcome;
  std::vector<std::string> left;
  for (const PlannedWorkload& one : plan.workloads) {
    if (one.fate == Fate::kReplaced) {
      left.push_back(fmt::format("{} {}/{}: {}", one.workload.kind, one.workload.space,
                                 one.workload.name, one.removal));
    }
  }
  if (!left.empty()) {
    outcome.status =
        FailedPrecondition("remove what kgpu has replaced, then finish:\n{}", Join(left, "\n"));
    return outcome;
  }
  const auto names = TakenNodes();
  outcome.status = names.ok() ? ForgetNodes(true) : names.status();
  if (outcome.status.ok()) {
    for (const std::string& name : *names) {
      outcome.nodes.push_back({name, true, "finished"});
    }
    outcome.status = RemoveState();
  }
  return outcome;
}

Status Takeover::Begin(const Plan& plan) {
  const auto agent = deps_.ask({.path = kSets.Object(options_.space, kAgentName)});
  if (!agent.ok() && !IsMissing(agent.status())) {
    return agent.status();
  }
  ASSIGN_OR_RETURN(const bool was_ours, InstalledByUs());
  RETURN_IF_ERROR(deps_.check(!agent.ok() || was_ours));
  RETURN_IF_ERROR(MakeNamespace());
  RETURN_IF_ERROR(SaveState(!agent.ok()));
  // What an earlier run has saved counts.
  ASSIGN_OR_RETURN(const bool is_ours, InstalledByUs());
  if (is_ours) {
    deps_.say("installing kgpu, which stands back until the others leave");
    RETURN_IF_ERROR(deps_.install(plan.carried));
  }
  return ExcludeSets(plan);
}

Status Takeover::MakeNamespace() {
  const json::value object = json::object{
      {"apiVersion", "v1"},
      {"kind", "Namespace"},
      {"metadata",
       {{"name", options_.space}, {"annotations", {{doc::View(kMadeBy), doc::View(kAdopt)}}}}}};
  const auto made = deps_.ask(kube::CreateRequest(kNamespaces.Collection(), object, kWrites));
  return made.status().code() == StatusCode::kAlreadyExists ? OkStatus() : made.status();
}

// Written once, before anything of kgpu is installed: what a later run may remove.
Status Takeover::SaveState(bool installs) {
  const json::value object =
      json::object{{"apiVersion", "v1"},
                   {"kind", "ConfigMap"},
                   {"metadata",
                    {{"name", doc::View(kStateName)},
                     {"namespace", options_.space},
                     {"labels",
                      {{"app.kubernetes.io/name", doc::View(kStateName)},
                       {"app.kubernetes.io/part-of", "kgpu"},
                       {"app.kubernetes.io/managed-by", doc::View(kStateName)}}}}},
                   {"data", {{doc::View(kInstalledKey), installs ? "true" : "false"}}}};
  const auto made =
      deps_.ask(kube::CreateRequest(kMaps.Collection(options_.space), object, kWrites));
  return made.status().code() == StatusCode::kAlreadyExists ? OkStatus() : made.status();
}

StatusOr<bool> Takeover::InstalledByUs() {
  const auto state = deps_.ask({.path = kMaps.Object(options_.space, kStateName)});
  if (IsMissing(state.status())) {
    return false;
  }
  RETURN_IF_ERROR(state.status());
  return kube::TextField(*state, {"data", kInstalledKey}) == "true";
}

Status Takeover::RemoveState() {
  Status removed =
      deps_.ask(kube::DeleteRequest(kMaps.Object(options_.space, kStateName))).status();
  if (!removed.ok() && !IsMissing(removed)) {
    return removed;
  }
  const auto space = deps_.ask({.path = kNamespaces.Object("", options_.space)});
  if (IsMissing(space.status())) {
    return OkStatus();
  }
  RETURN_IF_ERROR(space.status());
  Status agent = deps_.ask({.path = kSets.Object(options_.space, kAgentName)}).status();
  if (!agent.ok() && !IsMissing(agent)) {
    return agent;
  }
  if (agent.ok() || kube::TextField(*space, {"metadata", "annotations", kMadeBy}) != kAdopt) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> others, deps_.find_others());
  if (!others.empty()) {
    deps_.say(fmt::format("namespace {} stays: it holds {}", options_.space, Join(others, ", ")));
    return OkStatus();
  }
  const Status gone = deps_
                          .ask(kube::DeleteRequest(
                              kNamespaces.Object("", options_.space),
                              {.uid = std::string(kube::TextField(*space, {"metadata", "uid"}))}))
                          .status();
  return IsMissing(gone) ? OkStatus() : gone;
}

Status Takeover::ExcludeSets(const Plan& plan) {
  std::set<std::pair<std::string, std::string>> sets;
  for (const NodePlan& node : plan.nodes) {
    for (const Part& part : node.skipped.empty() ? node.parts : std::vector<Part>()) {
      if (part.deploy_label.empty()) {
        sets.emplace(part.space, part.daemon_set);
      }
    }
  }
  for (const auto& [space, name] : sets) {
    RETURN_IF_ERROR(PatchSet(space, name, "will leave nodes that are taken over",
                             [](const json::value& set) { return ExcludePatch(set); }));
  }
  return OkStatus();
}

Status Takeover::PatchSet(std::string_view space, std::string_view name, std::string_view what,
                          const std::function<StatusOr<Patch>(const json::value&)>& plan) {
  const std::string path = kSets.Object(space, name);
  for (int tries = 0;; ++tries) {
    ASSIGN_OR_RETURN(const json::value set, deps_.ask({.path = path}));
    ASSIGN_OR_RETURN(const Patch patch, plan(set));
    if (!patch) {
      return OkStatus();
    }
    const Status status =
        deps_.ask(kube::PatchRequest(path, kube::PatchType::kMerge, *patch, kWrites)).status();
    if (status.ok()) {
      deps_.say(fmt::format("DaemonSet {}/{}: {}", space, name, what));
    }
    // Its controller was faster.
    if (status.code() != StatusCode::kAborted || tries == kMostConflicts) {
      return status;
    }
  }
}

Status Takeover::RestoreSets() {
  ASSIGN_OR_RETURN(const std::vector<json::value> sets, ListAll(deps_.ask, kSets.Collection()));
  for (const json::value& set : sets) {
    ASSIGN_OR_RETURN(const Patch patch, RestorePatch(set));
    if (patch) {
      RETURN_IF_ERROR(PatchSet(kube::NamespaceOf(set), kube::NameOf(set), "as it was",
                               [](const json::value& now) { return RestorePatch(now); }));
    }
  }
  return OkStatus();
}

Status Takeover::TakeNode(const NodePlan& plan) {
  // Before anything changes: an agent that cannot serve this node must not take it over.
  RETURN_IF_ERROR(
      WaitUntil(plan.name, seconds(0), [&](const NodeNow& now) -> StatusOr<std::string> {
        const SeenPod* agent = now.Agent(options_.space);
        if (agent == nullptr || !agent->is_ready) {
          return "kgpu's agent is not ready there: see its log";
        }
        // On a node whose takeover was interrupted, maybe nobody serves.
        return now.node.is_ready || IsTaken(now.node)
                   ? std::string()
                   : fmt::format("the condition GPUReady is not True ({})",
                                 now.node.problem.empty() ? "not set" : now.node.problem);
      }));
  deps_.say(fmt::format("{}: the others leave", plan.name));
  RETURN_IF_ERROR(PatchNode(
      plan.name, [&plan](const NodeNow& now) { return LeavePatch(now.node, plan, now.pods); }));
  RETURN_IF_ERROR(
      WaitUntil(plan.name, seconds(0), [&plan](const NodeNow& now) -> StatusOr<std::string> {
        for (const Part& part : plan.parts) {
          if (!now.Of(part.space, part.daemon_set).empty()) {
            return fmt::format("the pod of DaemonSet {}/{} is still there", part.space,
                               part.daemon_set);
          }
        }
        return std::string();
      }));
  deps_.say(fmt::format("{}: kgpu serves its GPUs", plan.name));
  RETURN_IF_ERROR(
      PatchNode(plan.name, [&plan](const NodeNow& now) { return ServePatch(now.node, plan); }));
  return WaitUntil(plan.name, options_.settle, [&](const NodeNow& now) -> StatusOr<std::string> {
    ASSIGN_OR_RETURN(const NodeRecord record, RecordOf(now.node));
    if (const std::string pods = Restarted(record, now.pods); !pods.empty()) {
      return FailedPrecondition("containers of GPU pods were restarted: {}", pods);
    }
    if (std::string fewer = Fewer(record, now.node); !fewer.empty()) {
      return fewer;
    }
    return now.node.is_ready ? std::string()
                             : fmt::format("GPUReady is not True ({})", now.node.problem);
  });
}

Status Takeover::GiveNode(const std::string& name) {
  const auto now = ReadNow(name);
  if (IsMissing(now.status())) {
    return OkStatus();  // the node is gone
  }
  RETURN_IF_ERROR(now.status());
  ASSIGN_OR_RETURN(const NodeRecord record, RecordOf(now->node));
  const auto is_back = [&](const NodeNow& seen) {
    return std::ranges::all_of(record.labels, [&](const auto& label) {
      const auto found = seen.node.labels.find(label.first);
      return found == seen.node.labels.end() ? !label.second : found->second == label.second;
    });
  };
  if (!is_back(*now)) {
    deps_.say(fmt::format("{}: kgpu leaves", name));
    RETURN_IF_ERROR(PatchNode(name, [](const NodeNow& seen) { return StandBackPatch(seen.node); }));
    // Two plugins of one resource disturb each other: ours goes before the other comes.
    if (now->Agent(options_.space) != nullptr) {
      deps_.pause(options_.settle);
    }
    RETURN_IF_ERROR(
        PatchNode(name, [&record](const NodeNow& seen) { return ReturnPatch(seen.node, record); }));
  }
  deps_.say(fmt::format("{}: the others come back", name));
  // A container that was restarted is no reason to stop: there is no other way back.
  NodeRecord running;
  for (const SeenPod& pod : now->pods) {
    running.pods[pod.uid] = pod.ids;
  }
  std::string restarted;
  RETURN_IF_ERROR(
      WaitUntil(name, options_.settle, [&](const NodeNow& seen) -> StatusOr<std::string> {
        restarted = Restarted(running, seen.pods);
        return Fewer(record, seen.node);
      }));
  if (!restarted.empty()) {
    deps_.say(fmt::format("{}: containers of GPU pods were restarted: {}", name, restarted));
  }
  return PatchNode(name, [](const NodeNow& seen) { return ReleasePatch(seen.node); });
}

Status Takeover::ForgetNodes(bool keeps_owner) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, TakenNodes());
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const NodeNow now, ReadNow(name));
    ASSIGN_OR_RETURN(const NodeRecord record, RecordOf(now.node));
    RETURN_IF_ERROR(PatchNode(name, [&](const NodeNow& seen) {
      return IsTaken(seen.node) ? ForgetPatch(seen.node, record, keeps_owner) : Patch();
    }));
  }
  return OkStatus();
}

StatusOr<std::vector<std::string>> Takeover::TakenNodes() {
  ASSIGN_OR_RETURN(const std::vector<json::value> nodes,
                   ListAll(deps_.ask, kube::kNodes.Collection()));
  std::vector<std::string> names;
  for (const json::value& node : nodes) {
    if (SeenNode seen = ReadNode(node); IsTaken(seen)) {
      names.push_back(std::move(seen.name));
    }
  }
  std::ranges::sort(names);
  return names;
}

StatusOr<Takeover::NodeNow> Takeover::ReadNow(const std::string& name) {
  NodeNow now;
  ASSIGN_OR_RETURN(const json::value node, deps_.ask({.path = kube::kNodes.Object("", name)}));
  now.node = ReadNode(node);
  ASSIGN_OR_RETURN(now.pods, ReadPodsOf(deps_.ask, name));
  return now;
}

Status Takeover::PatchNode(const std::string& name,
                           const std::function<Patch(const NodeNow&)>& plan) {
  for (int tries = 0;; ++tries) {
    ASSIGN_OR_RETURN(const NodeNow now, ReadNow(name));
    const Patch patch = plan(now);
    if (!patch) {
      return OkStatus();
    }
    const Status status = deps_
                              .ask(kube::PatchRequest(kube::kNodes.Object("", name),
                                                      kube::PatchType::kMerge, *patch, kWrites))
                              .status();
    // The agent or the kubelet was faster.
    if (status.code() != StatusCode::kAborted || tries == kMostConflicts) {
      return status;
    }
  }
}

Status Takeover::WaitUntil(const std::string& name, seconds settle,
                           const std::function<StatusOr<std::string>(const NodeNow&)>& missing) {
  const SteadyTime start = deps_.clock.Now();
  std::optional<SteadyTime> holds_since;
  for (;;) {
    // Reads may take minutes: the time limit is not a number of pauses.
    const SteadyTime asked = deps_.clock.Now();
    ASSIGN_OR_RETURN(const NodeNow now, ReadNow(name));
    ASSIGN_OR_RETURN(const std::string problem, missing(now));
    const SteadyTime read = deps_.clock.Now();
    if (!problem.empty()) {
      holds_since.reset();
    } else if (const SteadyTime since = holds_since.value_or(read); asked - since >= settle) {
      return OkStatus();
    } else {
      holds_since = since;
    }
    if (read - start >= options_.node_limit + settle) {
      return FailedPrecondition("{} after {} s; `kgpu node status --node {}` shows why",
                                problem.empty() ? "it does not hold" : problem,
                                std::chrono::floor<seconds>(read - start).count(), name);
    }
    deps_.pause(options_.poll);
  }
}

}  // namespace kgpu::adopt
