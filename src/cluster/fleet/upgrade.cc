#include "src/cluster/fleet/upgrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/commands/exit_code.h"

namespace kgpu::fleet {
namespace {

using policy::DriverSource;
using std::chrono::seconds;

// Pods named in a message; the others are counted.
constexpr size_t kMaxNamed = 3;
// Of `kgpu driver install` that waits for a reboot or for a person.
constexpr int kWaitsExit = static_cast<int>(commands::ExitCode::kWaits);

std::string Named(const std::vector<PodFacts>& pods) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(pods.size(), kMaxNamed); ++i) {
    names.push_back(fmt::format("{}/{}", pods[i].space, pods[i].name));
  }
  const size_t more = pods.size() - names.size();
  return Join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

WallTime WholeSeconds(WallTime time) {
  return std::chrono::floor<seconds>(time);
}

// One decision about one node.
class Upgrader {
 public:
  explicit Upgrader(const UpgradeInput& input) : in_(input) {}

  Step Next() const {
    if (in_.record.state != UpgradeState::kFailed && !in_.node.is_unschedulable) {
      // Somebody made it schedulable meanwhile.
      UpgradeRecord record = in_.record;
      record.is_cordoned = true;
      return {.kind = StepKind::kWrite, .message = "cordons again", .record = std::move(record)};
    }
    switch (in_.record.state) {
      case UpgradeState::kWait:
        return IsToReturn() ? Return() : WaitForJobs();
      case UpgradeState::kEvict:
        return IsToReturn() ? Return() : EvictPods();
      case UpgradeState::kInstall:
        return in_.record.source == DriverSource::kContainer ? ReplaceDriverPod() : Install();
      case UpgradeState::kValidate:
        return Validate();
      case UpgradeState::kFailed:
        return AfterFailure();
    }
    return {};
  }

 private:
  static Step Wait(std::string message) { return {.message = std::move(message)}; }

  Step Write(UpgradeRecord record, std::string reason = "", std::string message = "") const {
    record.since = WholeSeconds(in_.now);
    return {.kind = StepKind::kWrite,
            .reason = std::move(reason),
            .message = std::move(message),
            .record = std::move(record)};
  }

  static void BeginState(UpgradeRecord& record, UpgradeState state) {
    record.state = state;
    record.attempt = 1;
    record.is_single = false;
    record.pod.clear();
    record.reason.clear();
    record.message.clear();
  }
  Step GoOn(UpgradeState state) const {
    UpgradeRecord record = in_.record;
    BeginState(record, state);
    return Write(std::move(record));
  }

  Step Fail(std::string reason, std::string message) const {
    UpgradeRecord record = in_.record;
    record.failed_in = record.state;
    if (record.state == UpgradeState::kValidate) {
      record.pod = OwnPod(kValidateRole);
    } else if (record.state == UpgradeState::kInstall && record.pod.empty()) {
      record.pod = OwnPod(kInstallRole);
    }
    record.state = UpgradeState::kFailed;
    record.reason = reason;
    record.message = message;
    return Write(std::move(record), "UpgradeFailed", fmt::format("{}: {}", reason, message));
  }

  static Step Finish(std::string reason, std::string message) {
    return {.kind = StepKind::kFinish, .reason = std::move(reason), .message = std::move(message)};
  }

  // Of nodes whose driver was not touched yet.
  bool IsToReturn() const {
    return in_.settings.is_aborted || !in_.goal || in_.goal->driver != in_.record.to ||
           in_.goal->from != in_.record.source || IsThere();
  }
  Step Return() const {
    return Finish(
        "UpgradeAborted",
        fmt::format("the upgrade to driver {} ended before the driver was touched", in_.record.to));
  }

  // Whether the agent reports the driver that was asked for.
  bool IsThere() const { return policy::IsDriver(in_.node.driver, in_.record.to); }
  bool IsOver(seconds limit) const { return in_.now - in_.record.since >= limit; }

  std::vector<PodFacts> Holders() const {
    std::vector<PodFacts> holders;
    std::ranges::copy_if(in_.pods, std::back_inserter(holders), &PodFacts::HoldsGpus);
    return holders;
  }

  Step WaitForJobs() const {
    std::vector<PodFacts> jobs = Holders();
    std::erase_if(jobs, [](const PodFacts& pod) { return !pod.IsJob(); });
    if (!jobs.empty() && !IsOver(in_.settings.job_wait)) {
      return Wait(fmt::format("waits for jobs to end: {}", Named(jobs)));
    }
    return GoOn(UpgradeState::kEvict);
  }

  // Also in state `install`, before anything is done: a pod may have been bound just before the
  // cordon, or while the node was uncordoned.
  Step EvictPods() const {
    std::vector<PodFacts> pods = Holders();
    if (pods.empty()) {
      return GoOn(UpgradeState::kInstall);
    }
    if (IsOver(in_.settings.eviction_limit)) {
      return Fail("EvictionTimedOut",
                  fmt::format("pods still use GPUs after {} s: {}",
                              in_.settings.eviction_limit.count(), Named(pods)));
    }
    const std::string named = Named(pods);
    std::erase_if(pods, [this](const PodFacts& pod) {
      const bool is_unmanaged = pod.owner == PodOwner::kNobody && !in_.settings.evicts_unmanaged;
      return pod.is_terminating || is_unmanaged;
    });
    if (pods.empty()) {
      return Wait(fmt::format("waits for pods to end: {}", named));
    }
    return {.kind = StepKind::kEvict,
            .message = fmt::format("evicts pods: {}", Named(pods)),
            .pods = std::move(pods)};
  }

  const PodFacts* Find(std::string_view name) const {
    const auto found = std::ranges::find(in_.pods, name, &PodFacts::name);
    return found == in_.pods.end() ? nullptr : &*found;
  }

  std::string OwnPod(std::string_view role) const {
    return PodName(role, in_.node.uid, in_.record.since, in_.record.attempt);
  }

  Step Run(std::string_view role, uint64_t gpus = 0) const {
    return {.kind = StepKind::kRunPod,
            .message = fmt::format("runs pod {}", OwnPod(role)),
            .role = std::string(role),
            .pod = OwnPod(role),
            .gpus = gpus};
  }

  Step Again(std::string reason, std::string message) const {
    if (in_.record.attempt >= in_.settings.attempts) {
      return Fail(std::move(reason), std::move(message));
    }
    UpgradeRecord record = in_.record;
    ++record.attempt;
    record.pod.clear();
    return Write(std::move(record), "UpgradeRetried", fmt::format("{}: {}", reason, message));
  }

  Step Install() const {
    const std::string name = OwnPod(kInstallRole);
    const PodFacts* pod = Find(name);
    if (pod == nullptr && !Holders().empty()) {
      return EvictPods();
    }
    if (pod != nullptr && pod->phase == "Succeeded") {
      return GoOn(UpgradeState::kValidate);
    }
    if (pod != nullptr && pod->phase == "Failed" && pod->exit_code == kWaitsExit) {
      return Fail("RebootNeeded", fmt::format("reboot the node to load driver {}: kubectl logs {} "
                                              "has the details",
                                              in_.record.to, name));
    }
    if (pod != nullptr && pod->phase == "Failed") {
      return Again("InstallFailed", pod->WhyFailed());
    }
    if (IsOver(in_.settings.install_limit)) {
      return Again("InstallTimedOut", pod == nullptr
                                          ? NotCreated(name)
                                          : fmt::format("pod {} did not end in {} s: read its log",
                                                        name, in_.settings.install_limit.count()));
    }
    return pod == nullptr ? Run(kInstallRole) : Wait(fmt::format("waits for pod {} to end", name));
  }

  std::string NotCreated(std::string_view pod) const {
    return fmt::format("pod {} could not be created{}{}", pod, in_.pod_problem.empty() ? "" : ": ",
                       in_.pod_problem);
  }

  // The DaemonSet replaces its pod, which installs the driver before it is ready.
  Step ReplaceDriverPod() const {
    const auto pod = std::ranges::find(in_.pods, "driver", &PodFacts::role);
    const bool is_there = pod != in_.pods.end();
    if (in_.record.pod.empty() && !Holders().empty()) {
      return EvictPods();
    }
    if (in_.record.pod.empty()) {
      UpgradeRecord record = in_.record;
      record.pod = is_there ? pod->uid : "none";
      return Write(std::move(record));
    }
    if (is_there && pod->uid == in_.record.pod && !pod->is_terminating) {
      return {.kind = StepKind::kDeletePod,
              .message = fmt::format("replaces pod {}/{}", pod->space, pod->name),
              .pods = {*pod}};
    }
    if (is_there && pod->uid != in_.record.pod && pod->is_ready) {
      return GoOn(UpgradeState::kValidate);
    }
    if (IsOver(in_.settings.install_limit)) {
      return Again("InstallTimedOut",
                   fmt::format("the new pod of DaemonSet {} was not ready in {} s: read its log",
                               kDriverName, in_.settings.install_limit.count()));
    }
    return Wait(fmt::format("waits for the pod of DaemonSet {}", kDriverName));
  }

  Step Validate() const {
    const bool is_ready = IsThere() && in_.node.gpu_ready.status == "True";
    const PodFacts* pod = Find(OwnPod(kValidateRole));
    if (is_ready && (!in_.validates || (pod == nullptr && FreeGpus(in_.node, in_.pods) == 0))) {
      // A pod that asked for GPUs that DaemonSets or static pods hold would be refused.
      return Finish("Upgraded", Done());
    }
    if (is_ready && pod != nullptr && pod->phase == "Succeeded") {
      return Finish("Upgraded", Done());
    }
    if (pod != nullptr && pod->phase == "Failed") {
      return AfterFailedPod(*pod);
    }
    if (IsOver(in_.settings.validation_limit)) {
      return Fail("ValidationTimedOut", WhyNotValidated(pod));
    }
    return is_ready ? RunValidation(pod) : Wait("waits for GPUReady with the new driver");
  }
  Step RunValidation(const PodFacts* pod) const {
    // Of an attempt before this one, too: it holds its GPUs until it has ended.
    const PodFacts* holder = pod == nullptr ? OwnHolder(in_.node, in_.pods) : pod;
    if (holder != nullptr) {
      return Wait(fmt::format("waits for pod {} to end", holder->name));
    }
    return Run(kValidateRole, in_.record.is_single ? 1 : FreeGpus(in_.node, in_.pods));
  }
  Step AfterFailedPod(const PodFacts& pod) const {
    if (!in_.record.is_single && pod.MayHaveOnlyOne(in_.node.resource)) {
      UpgradeRecord record = in_.record;
      record.is_single = true;
      ++record.attempt;  // another name for its pod
      return Write(std::move(record));
    }
    return Fail("ValidationFailed", pod.WhyFailed());
  }
  std::string WhyNotValidated(const PodFacts* pod) const {
    const PodFacts* holder = pod == nullptr ? OwnHolder(in_.node, in_.pods) : pod;
    const std::string more =
        holder != nullptr         ? fmt::format(", and pod {} has not ended", holder->name)
        : in_.pod_problem.empty() ? ""
                                  : fmt::format(", and {}", NotCreated(OwnPod(kValidateRole)));
    return fmt::format("after {} s the driver is {}, GPUReady {} {}{}",
                       in_.settings.validation_limit.count(),
                       in_.node.driver.empty() ? "missing" : in_.node.driver,
                       in_.node.gpu_ready.status, in_.node.gpu_ready.reason, more);
  }
  std::string Done() const {
    return fmt::format("driver {} replaced {}", in_.node.driver,
                       in_.record.from.empty() ? "none" : in_.record.from);
  }

  Step AfterFailure() const {
    const UpgradeState before = in_.record.failed_in;
    const bool is_untouched = before == UpgradeState::kWait || before == UpgradeState::kEvict;
    if (!in_.goal || (is_untouched && in_.settings.is_aborted)) {
      return Return();
    }
    const bool is_held =
        in_.settings.is_aborted || (in_.settings.is_paused && !in_.node.is_retry_asked);
    if (!is_held && (in_.goal->driver != in_.record.to || in_.goal->from != in_.record.source)) {
      UpgradeRecord record = in_.record;
      record.to = in_.goal->driver;
      record.source = in_.goal->from;
      return Restart(std::move(record), UpgradeState::kWait);
    }
    if (in_.node.is_retry_asked) {
      return Restart(in_.record, is_untouched ? UpgradeState::kWait : UpgradeState::kInstall);
    }
    // After a reboot, or by hand.
    if (before == UpgradeState::kInstall && IsThere() && in_.node.gpu_ready.status == "True") {
      return Restart(in_.record, UpgradeState::kValidate);
    }
    return Wait(fmt::format("{}: {}", in_.record.reason, in_.record.message));
  }
  Step Restart(UpgradeRecord record, UpgradeState state) const {
    BeginState(record, state);
    // Somebody made it schedulable after the failure: the write cordons it.
    record.is_cordoned = record.is_cordoned || !in_.node.is_unschedulable;
    return Write(std::move(record), "UpgradeRetried", fmt::format("from state {}", NameOf(state)));
  }

  const UpgradeInput& in_;
};

}  // namespace

Step NextUpgradeStep(const UpgradeInput& input) {
  return Upgrader(input).Next();
}

bool IsOutdated(const NodeFacts& node, const UpgradeGoal& goal) {
  // A DaemonSet gives a node without a driver its first one by itself.
  const bool counts = !node.driver.empty() || goal.from == DriverSource::kPackage;
  return counts && !policy::IsDriver(node.driver, goal.driver);
}

StartPlan PlanStarts(const StartInput& input) {
  StartPlan plan;
  std::vector<const NodeFacts*> broken;  // candidates that are unavailable anyway
  std::vector<const NodeFacts*> healthy;
  for (const GroupNode& one : input.nodes) {
    const NodeFacts& node = *one.node;
    const bool is_starting = input.starting.contains(node.name);
    const bool has_record = !node.upgrade.empty();
    const bool is_failed =
        has_record && (!one.record || one.record->state == UpgradeState::kFailed);
    const bool is_unavailable = is_starting || IsUnavailable(node);
    plan.failed += is_failed ? 1 : 0;
    plan.in_progress += (is_starting || has_record) && !is_failed ? 1 : 0;
    plan.unavailable += is_unavailable ? 1 : 0;
    if (!IsOutdated(node, input.goal)) {
      continue;
    }
    ++plan.outdated;
    if (!is_starting && !has_record && node.is_ready && !node.is_tainted) {
      (is_unavailable ? broken : healthy).push_back(&node);
    }
  }
  const size_t most = input.settings.max_unavailable.Of(input.nodes.size(), true);
  const size_t forgiven = input.settings.failure_budget.Of(input.nodes.size(), false);
  if (broken.empty() && healthy.empty()) {
    return plan;
  }
  if (input.settings.is_paused || input.settings.is_aborted || plan.failed > forgiven) {
    plan.hold = plan.failed > forgiven      ? "UpgradeStopped"
                : input.settings.is_aborted ? "UpgradeAborted"
                                            : "UpgradePaused";
    return plan;
  }
  // Failed nodes take a place, too: otherwise a driver that always fails would take all nodes.
  size_t taken = plan.in_progress + plan.failed;
  size_t unavailable = plan.unavailable;
  for (const NodeFacts* node : broken) {
    if (taken < most) {
      plan.starts.push_back(node->name);
      ++taken;
    }
  }
  for (const NodeFacts* node : healthy) {
    if (taken < most && unavailable < most) {
      plan.starts.push_back(node->name);
      ++taken;
      ++unavailable;
    }
  }
  if (plan.starts.size() < broken.size() + healthy.size()) {
    plan.hold = "UpgradeBudget";
  }
  return plan;
}

UpgradeRecord FirstRecord(const NodeFacts& node, const UpgradeGoal& goal, std::string_view policy,
                          std::string_view group, WallTime now) {
  return {.since = WholeSeconds(now),
          .from = node.driver,
          .to = goal.driver,
          .source = goal.from,
          .policy = std::string(policy),
          .group = std::string(group),
          .is_cordoned = !node.is_unschedulable};
}

}  // namespace kgpu::fleet
