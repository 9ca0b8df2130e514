#include "src/cluster/controller/preview.h"

#include <algorithm>
#include <utility>

#include "src/cluster/controller/planner.h"
#include "src/cluster/controller/watches.h"
#include "src/platform/base/timer.h"

namespace kgpu::controller {
namespace {

using fleet::PodFacts;
using policy::DriverSource;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kReadLimit{30};

std::string_view NextWord(fleet::StepKind kind) {
  switch (kind) {
    case fleet::StepKind::kFinish:
      return "ends";
    case fleet::StepKind::kWrite:
      return "goes on";
    default:
      return "waits";
  }
}

void AddPods(const std::vector<PodFacts>& pods, bool evicts_unmanaged, NodeProgress& progress) {
  for (const PodFacts& pod : pods) {
    if (pod.HoldsGpus()) {
      const bool is_blocking = pod.owner == fleet::PodOwner::kNobody && !evicts_unmanaged;
      (is_blocking ? progress.blocks : progress.evicts)
          .push_back(fmt::format("{}/{}", pod.space, pod.name));
    }
  }
}

// Of a node whose upgrade has begun.
void AddStep(const NodeEntry& entry, const policy::GpuPolicy& policy, const PodSettings& settings,
             const std::vector<PodFacts>& pods, WallTime now, NodeProgress& progress) {
  const auto record = fleet::ParseUpgradeRecord(entry.facts.upgrade);
  if (!record.ok()) {
    progress.state = "failed";
    progress.next =
        fmt::format("annotation {} is unreadable: remove it", fleet::kUpgradeAnnotation);
    return;
  }
  const policy::Driver& driver = policy.groups.at(entry.member->group).driver;
  const std::optional<fleet::UpgradeGoal> goal =
      fleet::UpgradeGoal{.from = driver.from, .driver = driver.target()};
  const fleet::Step step = fleet::NextUpgradeStep({.node = entry.facts,
                                                   .record = *record,
                                                   .goal = goal,
                                                   .settings = policy.upgrade,
                                                   .pods = pods,
                                                   .validates = settings.validates,
                                                   .now = now});
  progress.state = fleet::NameOf(record->state);
  progress.next = step.message.empty() ? std::string(NextWord(step.kind)) : step.message;
}

NodeProgress ProgressOf(const NodeEntry& entry, const policy::GpuPolicy& policy, const Model& model,
                        const PodSettings& settings, const GroupSummary& summary, WallTime now) {
  const fleet::NodeFacts& node = entry.facts;
  const policy::Group& group = policy.groups.at(entry.member->group);
  NodeProgress progress{.node = node.name,
                        .policy = policy.name,
                        .group = group.name,
                        .driver = node.driver,
                        .target = group.driver.target()};
  const std::vector<PodFacts> pods = model.PodsOn(node.name);
  const bool is_current = policy::IsDriver(node.driver, progress.target);
  if (!node.upgrade.empty()) {
    AddStep(entry, policy, settings, pods, now, progress);
  } else if (is_current || group.driver.from == DriverSource::kHost) {
    progress.state = is_current ? "current" : "outdated";
    progress.next = is_current ? "" : "the host's own driver: kgpu does not replace it";
    return progress;
  } else {
    progress.state = "outdated";
    progress.next = !summary.driver_problem.empty()        ? summary.driver_problem
                    : !node.is_ready                       ? "waits: the kubelet is not ready"
                    : node.is_tainted                      ? "waits: in quarantine"
                    : summary.starting.contains(node.name) ? "starts"
                    : summary.hold.empty()                 ? "waits"
                                                           : fmt::format("waits: {}", summary.hold);
  }
  AddPods(pods, policy.upgrade.evicts_unmanaged, progress);
  return progress;
}

}  // namespace

std::vector<NodeProgress> ProgressOf(const Model& model, const PodSettings& pods, WallTime now) {
  const Plan plan = MakePlan(model, pods, now);
  std::vector<NodeProgress> all;
  for (const auto& [name, entry] : model.nodes()) {
    const policy::GpuPolicy* policy = model.PolicyOf(entry);
    if (policy == nullptr || !entry.facts.has_gpus ||
        model.GroupOf(entry)->driver.target().empty()) {
      continue;
    }
    const GroupSummary& summary = plan.policies.at(policy->name).groups.at(entry.member->group);
    all.push_back(ProgressOf(entry, *policy, model, pods, summary, now));
  }
  return all;
}

class Preview::Impl {
 public:
  Impl(EventLoop& loop, kube::Client& client, Random& random, PodSettings pods, Done done)
      : loop_(loop),
        pods_(std::move(pods)),
        done_(std::move(done)),
        watches_(loop, client, random, pods_.space, model_,
                 {.on_changed = [this] { LookSoon(); },
                  .on_node_gone = [](const std::string&) {},
                  .on_trouble = [this](const Status& status) { OnTrouble(status); }}) {
    limit_.Arm(kReadLimit, [this] {
      Finish(Unavailable("reading the cluster: {}",
                         watches_.trouble().empty() ? "no answer" : watches_.trouble()));
    });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  // Not from within a watch, which `done` may destroy.
  void LookSoon() {
    if (!look_.is_armed() && watches_.is_synced()) {
      look_.Arm(milliseconds(0),
                [this] { Finish(ProgressOf(model_, pods_, loop_.clock().WallNow())); });
    }
  }
  // Waiting does not help if a person must fix it.
  void OnTrouble(const Status& status) {
    if (status.code() == StatusCode::kPermissionDenied || status.code() == StatusCode::kNotFound) {
      look_.Arm(milliseconds(0), [this, status] { Finish(status); });
    }
  }
  void Finish(StatusOr<std::vector<NodeProgress>> result) {
    if (const Done done = std::exchange(done_, nullptr)) {
      done(std::move(result));
    }
  }

  EventLoop& loop_;
  PodSettings pods_;
  Done done_;
  Model model_;
  Timer look_{loop_};
  Watches watches_;
  Timer limit_{loop_};
};

Preview::Preview(EventLoop& loop, kube::Client& client, Random& random, PodSettings pods, Done done)
    : impl_(std::make_unique<Impl>(loop, client, random, std::move(pods), std::move(done))) {
}

Preview::~Preview() = default;

}  // namespace kgpu::controller
