#include "src/agent/agent_impl.h"

#include <algorithm>
#include <utility>

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
// CDI names that are kept for a while run out, and somebody else may touch the folder.
constexpr std::chrono::seconds kPublishAgain{60};

// How long a round is for what counts rounds, however often shares of a GPU's time make us measure.
std::chrono::milliseconds RoundOf(const ConfigPtr& config) {
  return config && config->metrics.every.count() > 0 ? config->metrics.every
                                                     : config::MetricsConfig::kUsualEvery;
}

}  // namespace

AgentImpl::~AgentImpl() {
  const SteadyTime deadline = loop_.clock().Now() + kStopLimit;
  disk_.StopBy(deadline);
  cluster_.StopBy(deadline);
  // Joining a worker that hangs ends the process. So the kubelet's view and the saved state are
  // finished first.
  plugin_.reset();
  memory_.Flush();
  health_.Flush();
  usage_.Flush();
}

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
  sharing_.Recall(std::move(remembered_.shapes), std::move(remembered_.held));
  if (!plugin_ || remembered_.assignment.resources.empty()) {
    return;
  }
  loans_.Withhold(remembered_.assignment);
  const auto nothing = std::make_shared<const device::Snapshot>();
  assignment_ = roster_.Update(std::move(remembered_.assignment), true, loop_.clock().Now());
  plugin_->Show(MakeViews(assignment_, nothing, *in_force_, {}));
  trust_timer_.Arm(kTrust, [this, nothing] {
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

// As often as the configuration says, and as shares of GPUs' time need.
void AgentImpl::SetSampling() {
  if (!in_force_) {
    return;
  }
  const std::chrono::milliseconds every = in_force_->metrics.every;
  const auto pace = sharing_.pace().value_or(every);
  inventory_.SetSampling(every.count() == 0 ? pace : std::min(every, pace));
}

void AgentImpl::Measure() {
  SetSampling();
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
  UpdateMig();
}

void AgentImpl::OnSnapshot(const device::SnapshotPtr& snapshot) {
  const device::SnapshotPtr before = std::exchange(snapshot_, snapshot);
  health_.SetSnapshot(snapshot);
  trust_timer_.Cancel();
  if (before && in_force_ && pools::DifferInHealthAlone(*before, *snapshot)) {
    pools::UpdateHealth(*snapshot, assignment_);
    mig_.Mark(assignment_);
    mps_.UpdateHealth(assignment_);
    Show();
  } else {
    privileges_.Look();
    Assign();
  }
  UpdateMig();
  measurements_.SetSnapshot(snapshot);
  NotifySoon();
}

void AgentImpl::OnSamples(const device::SampleSetPtr& samples) {
  measurements_.SetSamples(samples, [this, samples, is_there = snapshot_ != nullptr] {
    if (is_there) {
      usage_.OnSample(samples, Holdings());
      measurements_.SetUsage(usage_.pods());
      const std::chrono::milliseconds every = RoundOf(in_force_);
      sharing_.OnSample(assignment_, *snapshot_, *samples, every);
      measurements_.SetSlices(sharing_.figures());
      lent_.OnSample(loans_.ledger(), *samples, loop_.clock().Now(), every);
    }
  });
}

UsageHandler::Holdings AgentImpl::Holdings() const {
  return {.snapshot = snapshot_, .pods = measurements_.pods(), .assignment = assignment_};
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
  sharing_.Apply(fresh, assignment_);
  // After Mark: a GPU whose MIG layout changes needs no daemon, which would count as a user.
  mig_.Mark(fresh);
  mps_.Apply(fresh, sharing_.held(), snapshot_->driver);
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
  expiry_timer_.Cancel();
  if (const std::optional<SteadyTime> expiry = roster_.next_expiry()) {
    expiry_timer_.Arm(*expiry - loop_.clock().Now(), [this] { Assign(); });
  }
}

void AgentImpl::InjectSoon() {
  inject_timer_.Arm(kInjectDelay, [this] { Inject(); });
}

void AgentImpl::Inject() {
  injected_ = snapshot_;
  answering_.injection =
      std::make_shared<const Injection>(injector_->Update(*snapshot_, CapabilitiesOf(*in_force_)));
  inject_timer_.Arm(kPublishAgain, [this] { Inject(); });
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
  answering_.slices = sharing_.paths();
  answering_.mps = mps_.paths();
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
    return UpdateMig();
  }
  stands_back_ = cluster_.stands_back();
  KGPU_LOG(kWarning, stands_back_ ? "GPUs left to another device plugin" : "GPUs taken over",
           {"fix", stands_back_ ? "to take over: kgpu node adopt --from plugin" : "none"});
  MakePlugin();
  mps_.SetStandsBack(stands_back_);
  Show();
  UpdateMig();
}

void AgentImpl::UpdateMig() {
  mig_.SetInput({.snapshot = snapshot_,
                 .config = in_force_.get(),
                 .labels = cluster_.labels(),
                 .stands_back = stands_back_});
  cluster_.SetMigState(mig_.label_state());
}

void AgentImpl::OnMig() {
  cluster_.SetMigState(mig_.label_state());
  Assign();
}

void AgentImpl::ForgetDevicesOf(const std::string& gpu) {
  if (const auto uuid = device::GpuUuid::Parse(gpu); uuid.ok()) {
    roster_.Forget(*uuid);
  }
}

std::string AgentImpl::BorrowerOf(const std::string& gpu) const {
  const auto uuid = device::GpuUuid::Parse(gpu);
  const loans::Loan* loan = uuid.ok() ? loans_.ledger().FindByGpu(*uuid) : nullptr;
  return loan == nullptr ? "" : loan->holder;
}

void AgentImpl::OpenEndpoints() {
  const config::NodeConfig config = in_force_ ? *in_force_ : config::DefaultNodeConfig();
  endpoints_.SetConfig(options_.http_address.value_or(config.http.address), config.metrics);
}

void AgentImpl::NotifySoon() {
  if (!notify_timer_.is_armed()) {
    notify_timer_.Arm(kNotifyDelay, [this] { Notify(); });
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
  state.slice_problems = {loans_.slice_problem(), lent_.problem()};
  std::erase(state.slice_problems, "");
  state.slices = sharing_.figures();
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
  if (const std::string problem = sharing_.problem(); !problem.empty()) {
    state.node.remarks.push_back(fmt::format("memory slices: {}", problem));
  }
  state.mig = mig_.reports();
  state.mig_problem = mig_.problem();
  for (const std::string& problem : mps_.problems()) {
    state.node.remarks.push_back(fmt::format("MPS: {}", problem));
  }
  state.usage_problem = usage_.problem().empty() ? disk_.problem() : usage_.problem();
  state.plugin_owner = PluginOwner();
  return state;
}

StatusOr<std::unique_ptr<Agent>> Agent::Start(EventLoop& loop, const host::DriverRoot& root,
                                              const AgentOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Injector> injector,
                   Injector::Create(root, loop.clock(), options.cdi_folder));
  ASSIGN_OR_RETURN(sys::Root own_root, sys::Root::Open("/"));
  auto agent =
      std::make_unique<AgentImpl>(loop, root, options, std::move(own_root), std::move(injector));
  RETURN_IF_ERROR(ExplainByPrivileges(agent->Run(), root.host, options));
  return agent;
}

}  // namespace kgpu::agent
