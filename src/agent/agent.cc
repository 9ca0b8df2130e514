#include "src/agent/agent.h"

#include <chrono>
#include <optional>
#include <utility>

#include "src/agent/chain_facts.h"
#include "src/agent/cluster_node.h"
#include "src/agent/config_source.h"
#include "src/agent/disk_worker.h"
#include "src/agent/front.h"
#include "src/agent/health_handler.h"
#include "src/agent/injector.h"
#include "src/agent/kernel_watch.h"
#include "src/agent/lend_rules.h"
#include "src/agent/loan_handler.h"
#include "src/agent/measurements.h"
#include "src/agent/memory.h"
#include "src/agent/memory_writer.h"
#include "src/agent/metrics_front.h"
#include "src/agent/own_metrics.h"
#include "src/agent/part_options.h"
#include "src/agent/privilege_watch.h"
#include "src/agent/runtime_watch.h"
#include "src/agent/slice_publisher.h"
#include "src/agent/slice_watch.h"
#include "src/agent/usage_handler.h"
#include "src/agent/views.h"
#include "src/agent/web.h"
#include "src/node/inventory/inventory.h"
#include "src/node/plugin/device_plugin.h"
#include "src/node/pools/change_guard.h"
#include "src/node/pools/health_update.h"
#include "src/node/pools/roster.h"
#include "src/node/share/kill_processes.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::agent {
namespace {

// How long a list from before a restart is used while the driver has not answered yet.
constexpr std::chrono::seconds kTrust{5};

// Specs are made once the kubelet has had a moment to ask for the new list: making them keeps the
// loop busy for some milliseconds, and the list is the more urgent of the two.
constexpr std::chrono::milliseconds kInjectDelay{4};
// All that is waited for at the end together: systemd and the kubelet give us 5 s.
constexpr std::chrono::seconds kStopLimit{4};
// The cluster learns of a change after the kubelet.
constexpr std::chrono::milliseconds kNotifyDelay{20};
// How often devices that wait until nobody uses them are looked at.
constexpr std::chrono::seconds kChangeLook{1};
// CDI names that are kept for a while run out, and somebody else may touch the folder.
constexpr std::chrono::seconds kPublishAgain{60};

class AgentImpl final : public Agent {
 public:
  AgentImpl(EventLoop& loop, const host::DriverRoot& root, AgentOptions options,
            std::unique_ptr<Injector> injector)
      : loop_(loop),
        host_(root.host),
        options_(std::move(options)),
        started_(loop.clock().WallNow()),
        front_(loop, {.state = [this] { return state(); },
                      .others =
                          [this](const http::Request& request, const http::Responder& responder) {
                            if (request.path == "/v1/usage") {
                              responder.Send(usage_.Answer(request));
                              return true;
                            }
                            const auto send = [responder](http::Response response) {
                              responder.Send(std::move(response));
                            };
                            return loans_.Answer(request, send) || health_.Answer(request, send);
                          },
                      .metrics =
                          [this](const http::Request& request) {
                            return measurements_.AnswerAsked(request, NameSetsOf(in_force_));
                          },
                      .version = options_.version}),
        injector_(std::move(injector)),
        config_(loop, ConfigSourceOptionsOf(options_), [this] { OnConfig(); }),
        disk_(loop),
        slices_(loop, BackgroundOn(disk_), SliceFilesOptionsOf(options_, root), [this] { Show(); }),
        slice_watch_(BackgroundOn(disk_),
                     {.notify = [this](kube::Event event) { cluster_.Notify(std::move(event)); },
                      .kill = [this](const share::SliceUse& use) { return Kill(use); }}),
        remembered_(Recall(options_, config_.config(), disk_)),
        loans_(loop, disk_, fmt::format("{}/{}", options_.state_dir, kLoansFile),
               remembered_.assignment,
               {.stock = [this] { return Stock(); },
                .changed = [this] { Assign(); },
                .refused = [this] { measurements_.LookAtPods(); }}),
        health_(
            loop, disk_, HealthHandlerOptionsOf(options_),
            {.notify = [this](kube::Event event) { cluster_.Notify(std::move(event)); },
             .overview = [this] { return inventory_.health(); },
             .pods = [this] { return measurements_.pods(); },
             .look_at_pods = [this] { measurements_.LookAtPods(); },
             .clear = [this](const device::GpuUuid& gpu) { return inventory_.ClearHealth(gpu); }}),
        usage_(loop, disk_, options_.state_dir + "/usage",
               {.holdings = [this] { return Holdings(); },
                .changed = [this] { measurements_.SetUsage(usage_.pods()); }}),
        inventory_(loop, root, InventoryOptionsOf(options_, config_.config(), remembered_)),
        runtime_(loop, RuntimeSockets(options_, root.host), [this] { OnRuntime(); }),
        measurements_(loop, root.host, MeasurementsOptionsOf(options_, root.host),
                      BackgroundOn(disk_),
                      {.own_series =
                           [this](metrics::Exposition& page) {
                             WriteOwnMetrics(state(), OwnUse(), options_.version, page);
                           },
                       .health = [this] { return inventory_.health(); }}),
        cluster_(loop, root.host, ClusterNodeOptionsOf(options_, root.host),
                 [this] { OnCluster(); }),
        own_root_(*sys::Root::Open("/")),
        endpoints_(
            loop, own_root_,
            {.other =
                 [this](const http::Request& request) { return AnswerPublic(request, state()); },
             .page =
                 [this](const http::Request& request, telemetry::NameSets names) {
                   return measurements_.Answer(request, names);
                 },
             .client = [this] { return cluster_.review_client(); }}),
        memory_(
            loop, fmt::format("{}/{}", options_.run_dir, kMemoryFile),
            [this] {
              return PrintMemory(KeyOf(options_, in_force_), assignment_, inventory_.health());
            },
            [this] { NotifySoon(); }),
        kernels_(loop, root.host, BackgroundOn(disk_), [this] { NotifySoon(); }),
        privileges_(loop, root.host, options_, BackgroundOn(disk_), [this] { NotifySoon(); }) {}

  ~AgentImpl() override {
    const SteadyTime deadline = loop_.clock().Now() + kStopLimit;
    disk_.StopBy(deadline);
    cluster_.StopBy(deadline);
    // A look at the host that hangs ends the process: what the kubelet sees, and what is to be
    // kept, goes before.
    plugin_.reset();
    memory_.Flush();
    health_.Flush();
    usage_.Flush();
    for (const TimerId timer :
         {inject_timer_, expiry_timer_, trust_timer_, notify_timer_, change_timer_}) {
      loop_.CancelTimer(timer);
    }
  }

  Status Run() {
    inventory_.OnHealthEvent(
        [this](const health::HealthEvent& health_event) { OnHealthEvent(health_event); });
    inventory_.OnSample([this](const auto& samples) { OnSamples(samples); });
    inventory_.Start([this](const device::SnapshotPtr& snapshot) { OnSnapshot(snapshot); });
    // Before any socket of ours is made: a second agent must not touch the first one's.
    RETURN_IF_ERROR(front_.OpenLocal(options_.run_dir));
    stands_back_ = cluster_.stands_back();
    MakePlugin();
    ShowRemembered();
    Prepare();
    OpenEndpoints();
    if (in_force_) {
      cluster_.SetConfig(*in_force_);
      Measure();
    } else {
      cluster_.SetNoConfig();
    }
    return OkStatus();
  }

  void Reload() override { config_.Reload(); }
  AgentState state() const override;

 private:
  void MakePlugin();
  void OpenEndpoints();
  void Measure();
  void ShowRemembered();
  void Prepare();
  void OnConfig();
  void OnSnapshot(const device::SnapshotPtr& snapshot);
  Status Kill(const share::SliceUse& use) const;
  void OnSamples(const device::SampleSetPtr& samples);
  UsageHandler::Holdings Holdings() const;
  void OnHealthEvent(const health::HealthEvent& health_event);
  void OnRuntime();
  void Assign();
  loans::Stock Stock() const;
  // Whose plugin serves this kubelet's GPUs; empty: ours.
  std::string PluginOwner() const {
    return std::string(stands_back_ ? node::TitleOf(node::Owner::kPlugin) : "");
  }
  // Keeps devices that are in use what they are.
  void GuardChanges(pools::Assignment& fresh);
  void ArmExpiry();
  void InjectSoon();
  void Inject();
  void Decide();
  void Show();
  void OnCluster();
  void NotifySoon();
  void Notify();

  EventLoop& loop_;
  const sys::Root& host_;
  const AgentOptions options_;
  const WallTime started_;
  Front front_;
  std::unique_ptr<Injector> injector_;
  ConfigSource config_;
  DiskWorker disk_;
  SlicePublisher slices_;
  SliceWatch slice_watch_;
  Remembered remembered_;
  LoanHandler loans_;
  HealthHandler health_;
  UsageHandler usage_;
  inventory::Inventory inventory_;

  ConfigPtr in_force_;  // null: no good configuration yet
  std::unique_ptr<plugin::DevicePlugin> plugin_;
  pools::Roster roster_{pools::Roster::Options{}};
  pools::ChangeGuard guard_;
  LendRules lend_rules_;
  device::SnapshotPtr snapshot_;
  pools::Assignment assignment_;
  device::SnapshotPtr injected_;  // that answering_.injection was made of
  Answering answering_;
  TimerId inject_timer_ = TimerId::kNone;
  TimerId expiry_timer_ = TimerId::kNone;
  TimerId trust_timer_ = TimerId::kNone;
  TimerId notify_timer_ = TimerId::kNone;
  TimerId change_timer_ = TimerId::kNone;
  bool stands_back_ = false;  // another plugin serves this kubelet's GPUs
  RuntimeWatch runtime_;      // below what its first answer, which comes at once, changes
  Measurements measurements_;
  ClusterNode cluster_;
  const sys::Root own_root_;  // of this process, not of the host
  MetricsFront endpoints_;    // below the cluster, which it asks about tokens
  MemoryWriter memory_;
  KernelWatch kernels_;
  PrivilegeWatch privileges_;
};

void AgentImpl::MakePlugin() {
  in_force_ = config_.config();
  plugin_.reset();  // its sockets go before new ones come
  if (in_force_ && !stands_back_) {
    plugin::EndpointOptions endpoint;
    endpoint.kubelet_dir = options_.kubelet_dir;
    plugin_ = std::make_unique<plugin::DevicePlugin>(loop_, in_force_->plugin.registration,
                                                     endpoint, [this] { NotifySoon(); });
  }
}

// A restart of the agent is not a change of the GPUs: their list is shown before the driver is
// heard, and corrected by what it says.
void AgentImpl::ShowRemembered() {
  lend_rules_.SetLocal(remembered_.assignment, SteadyTime());
  guard_.Recall(remembered_.assignment);
  if (!plugin_ || remembered_.assignment.resources.empty()) {
    return;
  }
  loans_.Withhold(remembered_.assignment);
  const auto nothing = std::make_shared<const device::Snapshot>();
  assignment_ = roster_.Update(std::move(remembered_.assignment), true, loop_.clock().Now());
  plugin_->Show(MakeViews(assignment_, nothing, *in_force_, {}));
  trust_timer_ = loop_.After(kTrust, [this, nothing] {
    trust_timer_ = TimerId::kNone;
    KGPU_LOG(kWarning, "driver not answering", {"effect", "its devices are marked unhealthy"});
    assignment_ = roster_.Update({}, false, loop_.clock().Now());
    if (plugin_) {
      plugin_->Show(MakeViews(assignment_, nothing, *in_force_, {}));
    }
  });
}

void AgentImpl::Prepare() {
  if (!plugin_ || !assignment_.resources.empty()) {
    return;
  }
  for (const std::string& resource : ResourcesToPrepare(*in_force_)) {
    plugin_->Prepare(resource);
  }
}

void AgentImpl::Measure() {
  inventory_.SetSampling(in_force_->metrics.every);
  measurements_.SetConfig(*in_force_);
  usage_.SetConfig(in_force_->usage);
}

void AgentImpl::OnConfig() {
  NotifySoon();
  if (!config_.config() || in_force_ == config_.config()) {
    return;
  }
  const bool is_plugin_new =
      !in_force_ || in_force_->plugin.registration != config_.config()->plugin.registration;
  const bool is_injection_new =
      !in_force_ || in_force_->plugin.capabilities != config_.config()->plugin.capabilities;
  if (is_plugin_new) {
    MakePlugin();
  }
  in_force_ = config_.config();
  cluster_.SetConfig(*in_force_);
  Measure();
  inventory_.SetHealth(HealthOf(options_, in_force_->health));
  OpenEndpoints();
  roster_.Forget();
  if (is_injection_new) {
    injected_.reset();
  }
  Decide();
  Assign();
}

void AgentImpl::OnSnapshot(const device::SnapshotPtr& snapshot) {
  const device::SnapshotPtr before = std::exchange(snapshot_, snapshot);
  health_.SetSnapshot(snapshot);
  loop_.CancelTimer(std::exchange(trust_timer_, TimerId::kNone));
  if (before && in_force_ && pools::DifferInHealthAlone(*before, *snapshot)) {
    pools::UpdateHealth(*snapshot, assignment_);
    Show();
  } else {
    privileges_.Look();
    Assign();
  }
  measurements_.SetSnapshot(snapshot);
  NotifySoon();
}

void AgentImpl::OnSamples(const device::SampleSetPtr& samples) {
  measurements_.SetSamples(samples, [this, samples, is_there = snapshot_ != nullptr] {
    if (is_there) {
      usage_.OnSample(samples, Holdings());
      measurements_.SetUsage(usage_.pods());
      slice_watch_.OnSample({.assignment = assignment_,
                             .snapshot = *snapshot_,
                             .samples = *samples,
                             .pods = *measurements_.pods()});
    }
  });
}

UsageHandler::Holdings AgentImpl::Holdings() const {
  return {.snapshot = snapshot_, .pods = measurements_.pods(), .assignment = assignment_};
}

// Runs on the disk's thread: reads nothing that changes.
Status AgentImpl::Kill(const share::SliceUse& use) const {
  RETURN_IF_ERROR(share::CheckPidNamespace(host_, own_root_));
  return share::KillProcesses(
      use.processes, [&](uint32_t pid) { return share::IsInPod(host_, pid, use.user.pod_uid); });
}

void AgentImpl::OnHealthEvent(const health::HealthEvent& health_event) {
  health_.OnHealthEvent(health_event);
  measurements_.OnHealth();
  // Whether there is a plugin or not: a restart heals nothing, and tells nothing twice.
  memory_.Note();
}

void AgentImpl::OnRuntime() {
  Decide();
  Show();
  NotifySoon();
}

// The list goes out first: a fault must reach the kubelet before anything slower is done.
void AgentImpl::Assign() {
  if (!snapshot_ || !in_force_) {
    return;
  }
  pools::Assignment fresh = pools::AssignDevices(*snapshot_, *in_force_);
  loans_.Withhold(fresh);
  GuardChanges(fresh);
  slices_.Set(share::SlicesOf(fresh));
  assignment_ =
      roster_.Update(std::move(fresh), snapshot_->driver.state == device::DriverState::kReady,
                     loop_.clock().Now());
  ArmExpiry();
  if (!injected_ || !InjectsAlike(*injected_, *snapshot_)) {
    answering_.injection.reset();
    InjectSoon();
  }
  Show();
  // After the kubelet has been shown its list: what it was given until then may be a pod's.
  if (lend_rules_.SetLocal(assignment_, loop_.clock().Now())) {
    measurements_.LookAtPods();
  }
}

void AgentImpl::GuardChanges(pools::Assignment& fresh) {
  guard_.Apply(fresh, loop_.clock().Now(), [this](const std::string& device, SteadyTime since) {
    return PodObstacleTo(device, since,
                         {.pods = *measurements_.pods(), .list = measurements_.pod_list()});
  });
  if (!guard_.is_waiting() || change_timer_ != TimerId::kNone) {
    return;
  }
  change_timer_ = loop_.After(kChangeLook, [this] {
    change_timer_ = TimerId::kNone;
    measurements_.LookAtPods();
    Assign();
  });
}

loans::Stock AgentImpl::Stock() const {
  return {.config = in_force_.get(),
          .snapshot = snapshot_.get(),
          .assignment = assignment_,
          .obstacle = [this](const device::GpuUuid& gpu) {
            return lend_rules_.ObstacleTo(gpu, {.pods = *measurements_.pods(),
                                                .list = measurements_.pod_list(),
                                                .injection = answering_.injection.get(),
                                                .plugin_owner = PluginOwner()});
          }};
}

void AgentImpl::ArmExpiry() {
  loop_.CancelTimer(expiry_timer_);
  expiry_timer_ = TimerId::kNone;
  if (const std::optional<SteadyTime> expiry = roster_.next_expiry()) {
    expiry_timer_ = loop_.After(*expiry - loop_.clock().Now(), [this] {
      expiry_timer_ = TimerId::kNone;
      Assign();
    });
  }
}

void AgentImpl::InjectSoon() {
  loop_.CancelTimer(inject_timer_);
  inject_timer_ = loop_.After(kInjectDelay, [this] { Inject(); });
}

void AgentImpl::Inject() {
  injected_ = snapshot_;
  answering_.injection =
      std::make_shared<const Injection>(injector_->Update(*snapshot_, CapabilitiesOf(*in_force_)));
  inject_timer_ = loop_.After(kPublishAgain, [this] { Inject(); });
  Decide();
  Show();
}

void AgentImpl::Decide() {
  const auto& facts = runtime_.facts();
  if (!in_force_ || !answering_.injection || !facts) {
    return;
  }
  UpdateDelivery(in_force_->plugin, *facts, injector_->cdi_folder(), answering_);
}

void AgentImpl::Show() {
  answering_.slices = slices_.paths();
  if (plugin_ && snapshot_ && in_force_) {
    plugin_->Show(MakeViews(assignment_, snapshot_, *in_force_, answering_));
    memory_.Note();
  }
  NotifySoon();
}

void AgentImpl::OnCluster() {
  if (const auto* labels = cluster_.labels()) {
    config_.SetLabels(*labels);
  }
  if (stands_back_ == cluster_.stands_back()) {
    return;
  }
  stands_back_ = cluster_.stands_back();
  KGPU_LOG(kWarning, stands_back_ ? "GPUs left to another device plugin" : "GPUs taken over",
           {"fix", stands_back_ ? "to take over: kgpu node adopt --from plugin" : "none"});
  MakePlugin();
  Show();
}

void AgentImpl::OpenEndpoints() {
  const config::NodeConfig config = in_force_ ? *in_force_ : config::DefaultNodeConfig();
  endpoints_.SetConfig(options_.http_address.value_or(config.http.address), config.metrics);
}

void AgentImpl::NotifySoon() {
  if (notify_timer_ == TimerId::kNone) {
    notify_timer_ = loop_.After(kNotifyDelay, [this] {
      notify_timer_ = TimerId::kNone;
      Notify();
    });
  }
}

void AgentImpl::Notify() {
  cluster_.SetFacts(ChainFactsOf(state()));
  cluster_.SetHealthNote(memory_.problem());
  if (config_.has_labels()) {
    cluster_.SetConfigReport(config_.report());
  }
  if (snapshot_) {
    cluster_.SetSnapshot(snapshot_);
  }
}

AgentState AgentImpl::state() const {
  AgentState state;
  state.started = started_;
  state.config_file = config_.path();
  state.config_problem = config_.problem();
  state.has_config = in_force_ != nullptr;
  state.config = in_force_;
  state.config_report = config_.report();
  state.snapshot = snapshot_ ? snapshot_ : inventory_.current();
  state.assignment = assignment_;
  state.loans = loans_.ledger().loans();
  state.loan_problem = loans_.problem();
  if (plugin_) {
    state.endpoints = plugin_->status();
  }
  state.delivery = answering_.delivery;
  if (answering_.injection) {
    state.injection_problem = std::string(Message(answering_.Obstacle()));
    state.cdi_problem = std::string(Message(answering_.injection->cdi));
  }
  state.metrics_endpoints = endpoints_.endpoints();
  state.node = cluster_.report();
  state.label_problems = cluster_.label_problems();
  state.journal_problem = health_.journal_problem();
  state.memory_problem = memory_.problem();
  state.kernel_problem = kernels_.problem();
  state.missing_privileges = privileges_.missing();
  for (const MissingPrivilege& missing : state.missing_privileges) {
    state.node.remarks.push_back(ToString(missing));
  }
  state.usage_problem = usage_.problem().empty() ? disk_.problem() : usage_.problem();
  state.plugin_owner = PluginOwner();
  return state;
}

}  // namespace

StatusOr<std::unique_ptr<Agent>> Agent::Start(EventLoop& loop, const host::DriverRoot& root,
                                              AgentOptions options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Injector> injector,
                   Injector::Create(root, loop.clock(), options.cdi_folder));
  auto agent = std::make_unique<AgentImpl>(loop, root, options, std::move(injector));
  RETURN_IF_ERROR(ExplainByPrivileges(agent->Run(), root.host, options));
  return agent;
}

}  // namespace kgpu::agent
