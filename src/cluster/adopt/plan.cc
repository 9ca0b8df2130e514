#include "src/cluster/adopt/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "src/cluster/adopt/changes.h"
#include "src/platform/base/strings.h"

namespace kgpu::adopt {
namespace {

constexpr std::string_view kConfigLabel = "nvidia.com/device-plugin.config";
constexpr std::string_view kWorkloadLabel = "nvidia.com/gpu.workload.config";
constexpr std::string_view kMpsLabel = "nvidia.com/mps.capable";

std::string LabelOf(const SeenNode& node, std::string_view key) {
  const auto found = node.labels.find(std::string(key));
  return found == node.labels.end() ? "" : found->second;
}

class Planner {
 public:
  Planner(const World& world, const PlanOptions& options) : world_(world), options_(options) {}

  Plan Run() {
    for (const Workload& workload : world_.workloads) {
      has_operator_ = has_operator_ || workload.component == Component::kOperator ||
                      workload.by == InstalledBy::kGpuOperator;
      has_mps_ = has_mps_ || workload.component == Component::kMps;
      has_driver_ = has_driver_ || workload.component == Component::kDriver;
    }
    plan_.carried = Carry(world_.foreign);
    CollectPods();
    ChooseDriverRoot();
    for (const Workload& workload : world_.workloads) {
      PlanWorkload(workload);
    }
    std::ranges::sort(plan_.workloads, {}, [](const PlannedWorkload& one) {
      return std::tuple(one.fate, one.workload.component, one.workload.space, one.workload.name);
    });
    PlanNodes();
    FindProblems();
    return std::move(plan_);
  }

 private:
  using SetName = std::pair<std::string, std::string>;

  void CollectPods() {
    for (const SeenPod& pod : world_.pods) {
      if (!pod.daemon_set.empty()) {
        sets_of_[pod.node].emplace(pod.space, pod.daemon_set);
      }
      if (pod.has_gpus && pod.is_running) {
        ++gpu_pods_[pod.node];
      }
    }
  }

  Fate FateOf(const Workload& workload) const {
    const Fate usual = FactsOf(workload.component).fate;
    return workload.component == Component::kNfdWorker && has_operator_ ? Fate::kStays : usual;
  }

  std::string ReasonOf(const Workload& workload) const {
    if (workload.component == Component::kNfdWorker && has_operator_) {
      return "the operator removes the driver from a node that loses NFD's labels for a moment";
    }
    return std::string(FactsOf(workload.component).by);
  }

  void PlanWorkload(const Workload& workload) {
    PlannedWorkload planned;
    planned.workload = workload;
    planned.fate = FateOf(workload);
    planned.by = ReasonOf(workload);
    for (const auto& [node, sets] : sets_of_) {
      planned.nodes += sets.contains(SetName{workload.space, workload.name}) ? 1 : 0;
    }
    if (planned.fate == Fate::kReplaced) {
      planned.removal = RemovalOf(workload);
      if (!workload.reconciler.empty() && workload.by != InstalledBy::kGpuOperator) {
        plan_.warnings.push_back(fmt::format(
            "{} {}/{} is kept up to date by {}, which undoes the takeover: suspend it before",
            workload.kind, workload.space, workload.name, workload.reconciler));
      }
    }
    plan_.workloads.push_back(std::move(planned));
  }

  // The command that removes it for good; an operand by the policy that makes it.
  std::string RemovalOf(const Workload& workload) const {
    if (workload.by == InstalledBy::kGpuOperator) {
      return OperandRemoval(workload.component);
    }
    if (workload.by == InstalledBy::kHelm) {
      return fmt::format("helm -n {} uninstall {}", workload.release_space, workload.release);
    }
    if (workload.by == InstalledBy::kOlm) {
      return fmt::format("kubectl -n {} delete clusterserviceversion {}", workload.space,
                         workload.release);
    }
    return fmt::format("kubectl -n {} delete {} {}", workload.space, ToLower(workload.kind),
                       workload.name);
  }

  std::string OperandRemoval(Component component) const {
    static const std::map<Component, std::string_view> kSwitches = {
        {Component::kPlugin, "devicePlugin"},
        {Component::kGfd, "gfd"},
        {Component::kExporter, "dcgmExporter"}};
    const auto found = kSwitches.find(component);
    if (found == kSwitches.end()) {
      return "";
    }
    const auto* operators = FindOperator();
    if (operators != nullptr && operators->by == InstalledBy::kHelm) {
      return fmt::format(
          "helm -n {} upgrade {} nvidia/gpu-operator --reuse-values --set {}.enabled=false",
          operators->release_space, operators->release, found->second);
    }
    return fmt::format(
        R"(kubectl patch clusterpolicy {} --type merge -p '{{"spec":{{"{}":{{"enabled":false}}}}}}')",
        world_.foreign.policy ? world_.foreign.policy->name : "cluster-policy", found->second);
  }

  const Workload* FindOperator() const {
    const auto found =
        std::ranges::find(world_.workloads, Component::kOperator, &Workload::component);
    return found == world_.workloads.end() ? nullptr : &*found;
  }

  bool RunsOn(const std::string& node, Component component) const {
    const auto sets = sets_of_.find(node);
    return sets != sets_of_.end() &&
           std::ranges::any_of(world_.workloads, [&](const Workload& workload) {
             return workload.component == component &&
                    sets->second.contains(SetName{workload.space, workload.name});
           });
  }

  // A policy names the folder of driver containers even where every driver is on its host.
  void ChooseDriverRoot() {
    if (!plan_.carried.driver_root.empty() && !has_driver_) {
      const bool is_of_policy =
          world_.foreign.policy && plan_.carried.driver_root == world_.foreign.policy->driver_root;
      if (is_of_policy) {
        plan_.carried.driver_root.clear();
      }
    }
  }

  void PlanNodes() {
    for (const SeenNode& node : world_.nodes) {
      const bool is_named = std::ranges::find(options_.nodes, node.name) != options_.nodes.end();
      if ((!options_.nodes.empty() && !is_named) || (!is_named && !IsGpuNode(node))) {
        continue;
      }
      NodePlan planned = PlanNodeOf(node);
      if (!planned.parts.empty() || planned.is_taken || !planned.skipped.empty()) {
        plan_.nodes.push_back(std::move(planned));
      }
    }
    std::ranges::sort(plan_.nodes, {}, [](const NodePlan& node) {
      return std::tuple(!node.skipped.empty(), !node.is_taken, node.gpu_pods, node.name);
    });
  }

  NodePlan PlanNodeOf(const SeenNode& node) {
    NodePlan planned;
    planned.name = node.name;
    planned.gpus = node.gpus;
    planned.is_taken = IsTaken(node);
    if (const auto pods = gpu_pods_.find(node.name); pods != gpu_pods_.end()) {
      planned.gpu_pods = pods->second;
    }
    for (const PlannedWorkload& one : plan_.workloads) {
      const Workload& workload = one.workload;
      const auto sets = sets_of_.find(node.name);
      // What was told to leave a taken node is gone from it.
      const bool runs =
          sets != sets_of_.end() && sets->second.contains(SetName{workload.space, workload.name});
      if (one.fate != Fate::kReplaced || workload.kind != "DaemonSet") {
        continue;
      }
      const std::string_view deploy = FactsOf(workload.component).deploy;
      Part part{
          .component = workload.component, .space = workload.space, .daemon_set = workload.name};
      if (workload.by == InstalledBy::kGpuOperator && !deploy.empty()) {
        part.deploy_label = fmt::format("{}{}", kDeployPrefix, deploy);
      }
      const bool has_left = planned.is_taken && (part.deploy_label.empty() ||
                                                 LabelOf(node, part.deploy_label) == "false");
      if (runs || has_left) {
        planned.parts.push_back(std::move(part));
      }
    }
    planned.skipped = WhySkipped(node, planned);
    return planned;
  }

  std::string WhySkipped(const SeenNode& node, const NodePlan& planned) const {
    if (const std::string kind = LabelOf(node, kWorkloadLabel); kind.starts_with("vm-")) {
      return fmt::format("serves virtual machines ({}={})", kWorkloadLabel, kind);
    }
    if (RunsOn(node.name, Component::kSandbox)) {
      return "serves virtual machines";
    }
    if (RunsOn(node.name, Component::kGkePlugin)) {
      return std::string(FactsOf(Component::kGkePlugin).by);
    }
    if (has_mps_ && (LabelOf(node, kMpsLabel) == "true" || RunsOn(node.name, Component::kMps))) {
      return "its programs use NVIDIA's MPS daemon, which they would lose: share its GPUs in "
             "another way until it is adopted";
    }
    if (planned.parts.empty() && !planned.is_taken) {
      return "";
    }
    const std::string key = LabelOf(node, kConfigLabel);
    const bool is_named = !key.empty() && plan_.carried.named.contains(key);
    const auto refused = plan_.carried.refused.find(is_named ? key : "");
    const auto named_refused = plan_.carried.refused.find(key);
    if (!key.empty() && named_refused != plan_.carried.refused.end()) {
      return named_refused->second;
    }
    if (!is_named && refused != plan_.carried.refused.end()) {
      return refused->second;
    }
    if (!plan_.carried.driver_root.empty() && has_driver_ &&
        !RunsOn(node.name, Component::kDriver)) {
      return "its driver is on the host, others' in a container: the agent has one --driver-root";
    }
    return "";
  }

  void FindProblems() {
    for (const std::string& name : options_.nodes) {
      if (std::ranges::find(world_.nodes, name, &SeenNode::name) == world_.nodes.end()) {
        plan_.problems.push_back(fmt::format("--nodes: there is no node {}", Printable(name, 80)));
      }
    }
    for (const std::string& what : world_.unreadable) {
      plan_.warnings.push_back(fmt::format("not read: {}", what));
    }
    if (world_.has_agent && !world_.is_agent_ours && plan_.HasWork()) {
      plan_.warnings.emplace_back(
          "kgpu is installed already and keeps its own configuration: set what is listed under "
          "settings by kgpu cluster upgrade, before you take nodes over");
    }
    const bool has_mig = std::ranges::find(world_.workloads, Component::kMigManager,
                                           &Workload::component) != world_.workloads.end();
    if (has_mig) {
      plan_.warnings.emplace_back(
          "the MIG manager cannot stop kgpu's agent before it resets a GPU: to change the MIG mode "
          "of a GPU that needs a reset, delete the agent's pod of that node first");
    }
    const bool has_dra = std::ranges::find(world_.workloads, Component::kDra,
                                           &Workload::component) != world_.workloads.end();
    if (has_dra && plan_.HasWork()) {
      plan_.warnings.emplace_back(
          "NVIDIA's DRA driver runs here: if it serves GPUs (not only compute domains), exclude "
          "its nodes by --nodes");
    }
  }

  const World& world_;
  const PlanOptions& options_;
  std::map<std::string, std::set<SetName>> sets_of_;  // DaemonSets with a pod, by node
  std::map<std::string, size_t> gpu_pods_;
  bool has_operator_ = false;
  bool has_mps_ = false;
  bool has_driver_ = false;
  Plan plan_;
};

}  // namespace

bool Plan::HasWork() const {
  return std::ranges::any_of(
      nodes, [](const NodePlan& node) { return node.skipped.empty() && !node.parts.empty(); });
}

Plan MakePlan(const World& world, const PlanOptions& options) {
  return Planner(world, options).Run();
}

}  // namespace kgpu::adopt
