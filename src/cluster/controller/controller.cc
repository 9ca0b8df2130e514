#include "src/cluster/controller/controller.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/cluster/controller/class_writer.h"
#include "src/cluster/controller/executor.h"
#include "src/cluster/controller/feature_sweeper.h"
#include "src/cluster/controller/metrics.h"
#include "src/cluster/controller/model.h"
#include "src/cluster/controller/planner.h"
#include "src/cluster/controller/watches.h"
#include "src/kube/api/event_recorder.h"
#include "src/kube/api/json.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Changes within it become one plan.
constexpr milliseconds kCoalesce{100};
// Between two plans: while a thousand nodes change, there would be one every time.
constexpr milliseconds kPlanEvery{300};
// Time limits of states pass without an event.
constexpr seconds kLongestRest{5};
// Between two writes of a status that differ in counts only.
constexpr seconds kStatusEvery{1};

}  // namespace

// The state of a leader; a candidate has none.
class Leader {
 public:
  Leader(EventLoop& loop, Clients clients, Random& random, const ControllerOptions& options)
      : loop_(loop),
        options_(options),
        recorder_(loop, clients.events, random,
                  {.controller = "kgpu.dev/controller", .instance = options.identity}),
        executor_(loop, clients.main, random,
                  {.on_answer = [this](AnswerKind kind,
                                       json::value&& object) { OnAnswer(kind, std::move(object)); },
                   .on_event = [this](const kube::Event& event) { OnEvent(event); },
                   .on_refused =
                       [this](const Work& work, const Status& status) {
                         if (!work.pod_for.empty()) {
                           model_.SetPodProblem(work.pod_for, std::string(Message(status)));
                         }
                       },
                   .on_settled = [this] { PlanSoon(); }}),
        watches_(loop, clients.main, random, options.pods.space, model_,
                 {.on_changed = [this] { PlanSoon(); },
                  .on_node_gone = [this](const std::string&) { sweeper_.Sweep(); }}),
        sweeper_(loop, clients.main, options.pods.space,
                 [this](std::string_view node) {
                   // While the watch is broken, a node may have come that nobody has told us about.
                   return !watches_.is_synced() || !watches_.is_current() ||
                          model_.nodes().contains(node);
                 }),
        classes_(loop, clients.main, random) {}
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  bool is_synced() const { return watches_.is_synced(); }
  const std::string& trouble() const { return watches_.trouble(); }
  Figures figures() const {
    return {.is_leader = true,
            .nodes = model_.nodes().size(),
            .plans = plans_,
            .last_plan = last_plan_,
            .waiting = executor_.waiting(),
            .counts = executor_.counts(),
            .policies = &policies_};
  }

 private:
  void OnAnswer(AnswerKind kind, json::value&& object) {
    const SteadyTime now = loop_.clock().Now();
    if (kind == AnswerKind::kNode) {
      fleet::TrimNode(object, model_.label_keys());
      model_.PutNode(object, now, true);
    } else if (kind == AnswerKind::kPolicy) {
      model_.PutPolicy(object, now, true);
    }
  }

  void OnEvent(const kube::Event& event) {
    KGPU_LOG(kInfo, "cluster changed", {"object", event.regarding.name}, {"reason", event.reason},
             {"note", event.note});
    recorder_.Record(event);
  }

  void PlanSoon() {
    Arm(std::max<nanoseconds>(kCoalesce, planned_ + kPlanEvery - loop_.clock().Now()));
  }
  void Arm(nanoseconds delay) {
    const SteadyTime due = loop_.clock().Now() + delay;
    if (timer_.is_armed() && due_ <= due) {
      return;
    }
    due_ = due;
    timer_.Arm(delay, [this] {
      MakeAndDo();
      Arm(kLongestRest);
    });
  }

  void MakeAndDo() {
    watches_.FollowLabels();
    if (!watches_.is_synced()) {
      return;
    }
    const SteadyTime begun = loop_.clock().Now();
    planned_ = begun;
    Plan plan = MakePlan(model_, options_.pods, loop_.clock().WallNow(), watches_.is_current());
    std::erase_if(plan.work, [&](const Work& work) {
      return work.order == Work::Order::kStatus && IsTooSoon(work.key, begun);
    });
    policies_ = std::move(plan.policies);
    executor_.SetPlan(std::move(plan.work));
    ++plans_;
    last_plan_ = loop_.clock().Now() - begun;
  }

  // Counts change with every node; people do not read that fast.
  bool IsTooSoon(const std::string& key, SteadyTime now) {
    SteadyTime& last = statuses_[key];
    if (last != SteadyTime{} && now - last < kStatusEvery) {
      Arm(kStatusEvery - (now - last));
      return true;
    }
    last = now;
    return false;
  }

  EventLoop& loop_;
  const ControllerOptions& options_;
  Model model_;
  std::map<std::string, PolicySummary> policies_;
  std::map<std::string, SteadyTime> statuses_;  // when each was written; policies are few
  uint64_t plans_ = 0;
  nanoseconds last_plan_{};
  Timer timer_{loop_};
  SteadyTime due_{};
  SteadyTime planned_{};
  kube::EventRecorder recorder_;
  Executor executor_;
  Watches watches_;
  FeatureSweeper sweeper_;
  ClassWriter classes_;
};

class Controller::Impl {
 public:
  Impl(EventLoop& loop, Clients clients, Random& random, ControllerOptions options,
       std::function<void(const Status&)> on_lost)
      : loop_(loop),
        clients_(clients),
        random_(random),
        options_(std::move(options)),
        on_lost_(std::move(on_lost)) {}

  Status Start() {
    options_.lease.space = options_.pods.space;
    options_.lease.identity = options_.identity;
    ASSIGN_OR_RETURN(
        election_,
        kube::LeaderElection::Start(
            loop_, clients_.lease, random_, options_.lease,
            {.on_elected =
                 [this] {
                   KGPU_LOG(kInfo, "leader elected", {"identity", options_.identity});
                   leader_ = std::make_unique<Leader>(loop_, clients_, random_, options_);
                 },
             .on_lost =
                 [this](const Status& why) {
                   leader_.reset();
                   on_lost_(why);
                 },
             .on_holder =
                 [this](const std::string& holder) {
                   trouble_.clear();
                   KGPU_LOG(kInfo, "lease observed", {"holder", holder});
                 },
             .on_trouble =
                 [this](const Status& status) {
                   if (trouble_ != Message(status)) {
                     trouble_ = Message(status);
                     KGPU_LOG(kWarning, "lease not read or written", {"reason", trouble_});
                   }
                 }}));
    return OkStatus();
  }

  bool is_leader() const { return leader_ != nullptr; }
  bool IsReady(std::string* why) const {
    if (leader_ == nullptr) {
      *why = trouble_;
      return trouble_.empty() || !election_->holder().empty();
    }
    if (leader_->is_synced()) {
      return true;
    }
    *why = leader_->trouble().empty() ? "the cluster is being read" : leader_->trouble();
    return false;
  }
  Figures figures() const { return leader_ == nullptr ? Figures{} : leader_->figures(); }
  void Release(std::function<void()> done) {
    leader_.reset();
    election_->Release([done = std::move(done)](const Status&) { done(); });
  }

 private:
  EventLoop& loop_;
  Clients clients_;
  Random& random_;
  ControllerOptions options_;
  std::function<void(const Status&)> on_lost_;
  std::string trouble_;
  std::unique_ptr<Leader> leader_;
  std::unique_ptr<kube::LeaderElection> election_;
};

Controller::Controller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}

Controller::~Controller() = default;

StatusOr<std::unique_ptr<Controller>> Controller::Start(
    EventLoop& loop, Clients clients, Random& random, ControllerOptions options,
    std::function<void(const Status&)> on_lost) {
  auto impl = std::make_unique<Impl>(loop, clients, random, std::move(options), std::move(on_lost));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Controller>(new Controller(std::move(impl)));
}

bool Controller::is_leader() const {
  return impl_->is_leader();
}

bool Controller::IsReady(std::string* why) const {
  return impl_->IsReady(why);
}

std::string Controller::MetricsText() const {
  return controller::MetricsText(impl_->figures());
}

void Controller::Release(std::function<void()> done) {
  impl_->Release(std::move(done));
}

}  // namespace kgpu::controller
