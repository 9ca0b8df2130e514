#include "src/cluster/controller/planner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/cluster/controller/config_map.h"
#include "src/cluster/controller/status.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/strings.h"

namespace kgpu::controller {
namespace {

using fleet::FenceStepKind;
using fleet::NodeFacts;
using fleet::PodFacts;
using fleet::StepKind;
using fleet::UpgradeGoal;
using fleet::UpgradeRecord;
using policy::DriverSource;

constexpr size_t kMaxNamed = 5;
constexpr char kUpgrading[] = "UpgradingDriver";
constexpr char kFencing[] = "Quarantining";

void NameOne(std::vector<std::string>& list, std::string text) {
  if (list.size() < kMaxNamed) {
    list.push_back(std::move(text));
  }
}

std::optional<UpgradeGoal> GoalOf(const policy::Group* group) {
  if (group == nullptr || group->driver.from == DriverSource::kHost ||
      group->driver.target().empty()) {
    return std::nullopt;
  }
  return UpgradeGoal{.from = group->driver.from, .driver = group->driver.target()};
}

// A node with what was derived of it.
struct Member {
  const NodeEntry* entry;
  std::optional<UpgradeRecord> record{};
};

class Planner {
 public:
  Planner(const Model& model, const PodSettings& pods, WallTime now, bool may_start)
      : model_(model), pods_(pods), now_(now), may_start_(may_start) {}

  Plan Make() {
    Collect();
    for (const auto& [name, entry] : model_.policies()) {
      if (entry.policy) {
        PlanPolicy(entry);
      }
    }
    for (const auto& [name, entry] : model_.nodes()) {
      PlanNode(entry);
    }
    CleanPods();
    for (const auto& [name, entry] : model_.policies()) {
      AddStatus(entry);
    }
    AddConfigMap(model_, pods_.space, plan_.work);
    std::ranges::stable_sort(plan_.work, {}, &Work::order);
    return std::move(plan_);
  }

 private:
  // The members of every group.
  void Collect() {
    for (const auto& [name, entry] : model_.nodes()) {
      if (!entry.member || !entry.facts.has_gpus) {
        continue;
      }
      Member member{.entry = &entry};
      if (!entry.facts.upgrade.empty()) {
        if (auto record = fleet::ParseUpgradeRecord(entry.facts.upgrade); record.ok()) {
          member.record = *std::move(record);
        }
      }
      members_[{entry.member->policy, entry.member->group}].push_back(std::move(member));
    }
  }

  void PlanPolicy(const PolicyEntry& entry) {
    PolicySummary& summary = plan_.policies[entry.name];
    for (size_t i = 0; i < entry.policy->groups.size(); ++i) {
      summary.groups.push_back(PlanGroup(entry, i));
      summary.starting.merge(std::set<std::string>(summary.groups.back().starting));
    }
    if (entry.problem.empty() && summary.starting != entry.starting) {
      Reserve(entry, summary);
    }
  }

  GroupSummary PlanGroup(const PolicyEntry& entry, size_t index) {
    const policy::Group& group = entry.policy->groups[index];
    GroupSummary summary{.name = group.name};
    const std::vector<Member>& members = members_[{entry.name, index}];
    for (const Member& member : members) {
      Count(member, group, summary);
    }
    const std::optional<UpgradeGoal> goal = GoalOf(&group);
    if (goal) {
      PlanStartsOf(entry, members, *goal, summary);
    }
    return summary;
  }

  void Count(const Member& member, const policy::Group& group, GroupSummary& summary) {
    const NodeFacts& node = member.entry->facts;
    ++summary.nodes;
    const bool is_ready = node.gpu_ready.status == "True" && !fleet::IsUnavailable(node);
    summary.ready += is_ready ? 1 : 0;
    summary.quarantined += node.is_tainted ? 1 : 0;
    summary.unavailable += fleet::IsUnavailable(node) ? 1 : 0;
    const bool is_failed = !node.upgrade.empty() &&
                           (!member.record || member.record->state == fleet::UpgradeState::kFailed);
    summary.failed += is_failed ? 1 : 0;
    summary.upgrading += !node.upgrade.empty() && !is_failed ? 1 : 0;
    const std::string& target = group.driver.target();
    const bool is_current = target.empty() || policy::IsDriver(node.driver, target);
    summary.up_to_date += is_current ? 1 : 0;
    if (!member.entry->member->also.empty()) {
      NameOne(summary.overlaps, fmt::format("{} ({})", node.name, member.entry->member->also));
    }
    if (is_failed) {
      NameOne(summary.problems, member.record
                                    ? fmt::format("{}: {}: {}", node.name, member.record->reason,
                                                  member.record->message)
                                    : fmt::format("{}: annotation {} is unreadable: remove it",
                                                  node.name, fleet::kUpgradeAnnotation));
    } else if (!is_current && group.driver.from == DriverSource::kHost) {
      NameOne(summary.problems, fmt::format("{}: driver {} is not {}", node.name,
                                            node.driver.empty() ? "none" : node.driver, target));
    } else if (!is_ready && node.upgrade.empty()) {
      NameOne(summary.problems, fmt::format("{}: {}", node.name, WhyNot(node)));
    }
  }

  static std::string WhyNot(const NodeFacts& node) {
    if (!node.is_ready) {
      return "the kubelet is not ready";
    }
    if (node.is_tainted) {
      const auto record = fleet::ParseFenceRecord(node.quarantine);
      return fmt::format("in quarantine: {}{}",
                         record.ok() ? record->reason : node.gpu_healthy.reason,
                         node.gpu_healthy.status == "True"
                             ? ", healthy again: waits for pods to end, then for its validation"
                             : "");
    }
    if (node.is_unschedulable) {
      return "cordoned";
    }
    return node.gpu_ready.status.empty()
               ? "no agent reports"
               : fmt::format("{}: {}", node.gpu_ready.reason, node.gpu_ready.message);
  }

  // Nodes are cordoned only once the policy's status says so: the status has one version for all
  // nodes, so that two leaders cannot both spend the budget.
  void PlanStartsOf(const PolicyEntry& entry, const std::vector<Member>& members,
                    const UpgradeGoal& goal, GroupSummary& summary) {
    std::vector<fleet::GroupNode> nodes;
    std::set<std::string> starting;
    std::vector<const NodeFacts*> reserved;
    for (const Member& member : members) {
      const NodeFacts& node = member.entry->facts;
      nodes.push_back({.node = &node, .record = member.record});
      if (entry.starting.contains(node.name) && node.upgrade.empty() &&
          fleet::IsOutdated(node, goal)) {
        starting.insert(node.name);
        reserved.push_back(&node);
      }
    }
    const policy::Upgrade& settings = entry.policy->upgrade;
    const bool is_shadowed = model_.IsShadowed(entry.name);
    const bool may_start = may_start_ && !is_shadowed;
    fleet::StartPlan starts = fleet::PlanStarts(
        {.nodes = nodes, .starting = starting, .goal = goal, .settings = settings});
    const bool is_stopped = settings.is_paused || settings.is_aborted ||
                            starts.failed > settings.failure_budget.Of(members.size(), false);
    if (may_start && !is_stopped) {
      StartReserved(entry, members, reserved, goal, summary.name);
    }
    summary.hold = starts.hold;
    if (is_shadowed && (!starts.starts.empty() || !starts.hold.empty())) {
      summary.hold = "EarlierPolicyInvalid";
    }
    if (goal.from == DriverSource::kContainer && starts.outdated > 0) {
      summary.driver_problem = model_.DriverSetProblem(goal.driver);
    }
    if (may_start && entry.problem.empty() && summary.driver_problem.empty()) {
      starting.insert(starts.starts.begin(), starts.starts.end());
    }
    summary.starting = std::move(starting);
  }

  // Once more, just before: nodes may have become unavailable since the decision, reserved ones
  // too.
  void StartReserved(const PolicyEntry& entry, const std::vector<Member>& members,
                     const std::vector<const NodeFacts*>& reserved, const UpgradeGoal& goal,
                     const std::string& group) {
    size_t unavailable = 0;
    for (const Member& member : members) {
      unavailable += fleet::IsUnavailable(member.entry->facts) ? 1 : 0;
    }
    const size_t most = entry.policy->upgrade.max_unavailable.Of(members.size(), true);
    for (const NodeFacts* node : reserved) {
      const bool is_out = fleet::IsUnavailable(*node);
      if (node->is_ready && !node->is_tainted && (is_out || unavailable < most)) {
        unavailable += is_out ? 0 : 1;
        Start(entry, goal, group, *node);
      }
    }
  }

  void Start(const PolicyEntry& entry, const UpgradeGoal& goal, const std::string& group,
             const NodeFacts& node) {
    Work work = WriteUpgrade(node, fleet::FirstRecord(node, goal, entry.name, group, now_));
    work.order = Work::Order::kStart;
    work.events.push_back(
        NodeEvent(node, false, "UpgradeStarted", kUpgrading,
                  fmt::format("driver {} is replaced by {}",
                              node.driver.empty() ? "none" : node.driver, goal.driver)));
    Push(std::move(work));
  }

  void Reserve(const PolicyEntry& entry, const PolicySummary& summary) {
    Work work = WriteStatus(entry, StatusOf(entry, summary, now_));
    work.order = Work::Order::kReserve;
    Push(std::move(work));
  }

  void AddStatus(const PolicyEntry& entry) {
    const auto found = plan_.policies.find(entry.name);
    const boost::json::value status =
        StatusOf(entry, found == plan_.policies.end() ? PolicySummary{} : found->second, now_);
    if (!IsSameStatus(status, entry.status)) {
      Push(WriteStatus(entry, status));
    }
  }

  // The first work for an object is the one: others follow from its result.
  void Push(Work work) {
    if (keys_.insert(work.key).second) {
      plan_.work.push_back(std::move(work));
    }
  }

  void PlanNode(const NodeEntry& entry) {
    const NodeFacts& node = entry.facts;
    std::vector<PodFacts> pods;
    if (!node.upgrade.empty() || !node.quarantine.empty() || node.is_tainted ||
        node.gpu_healthy.status == "False") {
      pods = model_.PodsOn(node.name);
    }
    if (!node.upgrade.empty()) {
      PlanUpgrade(entry, pods);
    } else {
      PlanFence(entry, pods);
    }
    PlanLabels(entry);
  }

  void PlanUpgrade(const NodeEntry& entry, const std::vector<PodFacts>& pods) {
    const NodeFacts& node = entry.facts;
    const auto record = fleet::ParseUpgradeRecord(node.upgrade);
    if (!record.ok()) {
      unreadable_.insert(node.name);
      return;  // it counts as failed, and only a person can tell
    }
    ExpectPods(node, *record);
    if (!model_.IsUnknown(record->policy)) {
      Do(node, *record, NextStep(entry, *record, pods));
    }
  }

  fleet::Step NextStep(const NodeEntry& entry, const UpgradeRecord& record,
                       const std::vector<PodFacts>& pods) const {
    const policy::GpuPolicy* policy = model_.PolicyOf(entry);
    const std::optional<UpgradeGoal> goal = GoalOf(model_.GroupOf(entry));
    return fleet::NextUpgradeStep({.node = entry.facts,
                                   .record = record,
                                   .goal = goal,
                                   .settings = policy == nullptr ? defaults_ : policy->upgrade,
                                   .pods = pods,
                                   .validates = pods_.validates,
                                   .pod_problem = model_.PodProblem(entry.facts.name),
                                   .now = now_});
  }

  void Do(const NodeFacts& node, const UpgradeRecord& record, const fleet::Step& step) {
    std::vector<Work> all;
    switch (step.kind) {
      case StepKind::kWait:
        return;
      case StepKind::kWrite:
        all.push_back(WriteUpgrade(node, step.record));
        break;
      case StepKind::kFinish:
        all.push_back(FinishUpgrade(node, record.is_cordoned));
        break;
      case StepKind::kEvict:
        for (const PodFacts& pod : step.pods) {
          all.push_back(EvictPod(pod));
          all.back().events.push_back(
              PodEvent(pod, "EvictedForUpgrade", kUpgrading,
                       fmt::format("driver {} of node {} is replaced", record.from, node.name)));
        }
        break;
      case StepKind::kRunPod:
        all.push_back(step.role == fleet::kInstallRole
                          ? RunInstaller(pods_, node, record, step.pod)
                          : RunValidation(pods_, node, step.pod, step.gpus));
        break;
      case StepKind::kDeletePod:
        all.push_back(DeletePod(step.pods.front()));
        break;
    }
    if (!step.reason.empty()) {
      all.front().events.push_back(
          NodeEvent(node, step.reason == "UpgradeFailed", step.reason, kUpgrading, step.message));
    }
    std::ranges::for_each(all, [this](Work& work) { Push(std::move(work)); });
  }

  void PlanFence(const NodeEntry& entry, const std::vector<PodFacts>& pods) {
    const NodeFacts& node = entry.facts;
    const auto record = fleet::ParseFenceRecord(node.quarantine);
    if (record.ok()) {
      expected_.insert(fmt::format(
          "{}/{}", pods_.space,
          fleet::PodName(fleet::kValidateRole, node.uid, record->since, record->attempt)));
    } else if (!node.quarantine.empty()) {
      unreadable_.insert(node.name);
    }
    if (record.ok() && model_.IsUnknown(record->policy)) {
      return;
    }
    if (node.quarantine.empty() && !node.is_tainted && IsShadowed(entry)) {
      return;
    }
    const policy::GpuPolicy* policy = model_.PolicyOf(entry);
    const fleet::FenceStep step = fleet::NextFenceStep(
        {.node = node,
         .settings = policy == nullptr ? nullptr : &policy->quarantine,
         .policy = entry.member ? entry.member->policy : "",
         .group = policy == nullptr ? "" : policy->groups.at(entry.member->group).name,
         .pods = pods,
         .has_room = HasRoom(entry),
         .validates = pods_.validates,
         .pod_problem = model_.PodProblem(node.name),
         .now = now_});
    if (step.kind == FenceStepKind::kWait) {
      return;
    }
    Work work = step.kind == FenceStepKind::kRunPod
                    ? RunValidation(pods_, node, step.pod, step.gpus)
                : step.kind == FenceStepKind::kRelease ? WriteFence(node, std::nullopt)
                                                       : WriteFence(node, step.record);
    if (!step.reason.empty()) {
      work.events.push_back(
          NodeEvent(node, step.reason != "QuarantineEnded", step.reason, kFencing, step.message));
    }
    if (step.reason == "Quarantined") {
      ++fenced_[{entry.member->policy, entry.member->group}];
      Notify(node, pods, step.message, work);
    }
    Push(std::move(work));
  }

  // Whether the node may belong to another policy, of which no valid spec was seen.
  bool IsShadowed(const NodeEntry& entry) const {
    return entry.member && model_.IsShadowed(entry.member->policy);
  }

  // The users of a node that is fenced: their pods go on, but nobody else comes.
  static void Notify(const NodeFacts& node, const std::vector<PodFacts>& pods,
                     const std::string& message, Work& work) {
    for (const PodFacts& pod : pods) {
      if (pod.HoldsGpus()) {
        work.events.push_back(
            PodEvent(pod, "NodeQuarantined", kFencing,
                     fmt::format("node {} takes no new pods: {}", node.name, message)));
      }
    }
  }

  // Whether one more node of the group may be fenced.
  bool HasRoom(const NodeEntry& entry) {
    const policy::GpuPolicy* policy = model_.PolicyOf(entry);
    if (policy == nullptr || entry.facts.is_tainted) {
      return true;
    }
    const std::pair<std::string, size_t> key{entry.member->policy, entry.member->group};
    const GroupSummary& group = plan_.policies.at(key.first).groups.at(key.second);
    return group.quarantined + fenced_[key] < policy->quarantine.max_nodes.Of(group.nodes, true);
  }

  void PlanLabels(const NodeEntry& entry) {
    const NodeFacts& node = entry.facts;
    const LabelOwner owner = LabelOwnerOf(node);
    if (model_.IsUnknown(owner.policy) || IsShadowed(entry)) {
      return;
    }
    const policy::Group* group = model_.GroupOf(entry);
    static const policy::LabelMap kNone;
    const policy::LabelMap& labels = group == nullptr || !node.has_gpus ? kNone : group->labels;
    const std::string policy = entry.member ? entry.member->policy : "";
    if (labels.empty() ? node.label_keys.empty() : HasLabels(node, owner, policy, labels)) {
      return;
    }
    Push(ApplyLabels(node, policy, labels));
  }

  static bool HasLabels(const NodeFacts& node, const LabelOwner& owner, const std::string& policy,
                        const policy::LabelMap& labels) {
    return owner.policy == policy && owner.keys.size() == labels.size() &&
           std::ranges::all_of(labels, [&](const auto& label) {
             const auto found = node.labels.find(label.first);
             return std::ranges::count(owner.keys, label.first) == 1 &&
                    found != node.labels.end() && found->second == label.second;
           });
  }

  void ExpectPods(const NodeFacts& node, const UpgradeRecord& record) {
    for (const std::string_view role : {fleet::kInstallRole, fleet::kValidateRole}) {
      expected_.insert(fmt::format("{}/{}", pods_.space,
                                   fleet::PodName(role, node.uid, record.since, record.attempt)));
    }
    if (!record.pod.empty()) {
      expected_.insert(fmt::format("{}/{}", pods_.space, record.pod));
    }
  }

  // Pods of ours that no node's record asks for, as far as we understand the records.
  void CleanPods() {
    for (const auto& [key, node] : model_.own_pods()) {
      if (expected_.contains(key) || unreadable_.contains(node)) {
        continue;
      }
      const std::optional<PodFacts> pod = model_.FindPod(key);
      if (pod && pod->space == pods_.space && !pod->is_terminating) {
        Work work = DeletePod(*pod);
        work.order = Work::Order::kClean;
        Push(std::move(work));
      }
    }
  }

  const Model& model_;
  const PodSettings& pods_;
  const WallTime now_;
  const bool may_start_;
  const policy::Upgrade defaults_{};
  Plan plan_;
  std::map<std::pair<std::string, size_t>, std::vector<Member>> members_;
  std::map<std::pair<std::string, size_t>, size_t> fenced_;  // by this plan
  std::set<std::string> keys_;
  std::set<std::string> expected_;    // our pods that somebody waits for
  std::set<std::string> unreadable_;  // nodes with records that we do not understand
};

}  // namespace

Plan MakePlan(const Model& model, const PodSettings& pods, WallTime now, bool may_start) {
  return Planner(model, pods, now, may_start).Make();
}

}  // namespace kgpu::controller
