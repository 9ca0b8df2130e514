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
// loop busy for some milliseconds, and the list is more urgent.
constexpr std::chrono::milliseconds kInjectDelay{4};
// The agent waits this long at its end: systemd and the kubelet give us 5 s.
constexpr std::chrono::seconds kStopLimit{4};
// The cluster learns of a change after the kubelet.
constexpr std::chrono::milliseconds kNotifyDelay{20};
// CDI names that are kept for a while run out, and somebody else may touch the folder.
constexpr std::chrono::seconds kPublishAgain{60};

}  // namespace

AgentImpl::~AgentImpl() {
  const SteadyTime deadline = loop_.clock().Now() + kStopLimit;
  disk_.StopBy(deadline);
  cluster_.StopBy(deadline);
  // First what the kernel and the disk do while we go on.
  config_.StopWatching();
  inventory_.StopWatching();
  claims_.StopWatching();
  if (plugin_) {
    plugin_->StopWatching();
  }
  for (node::Part* part : parts_) {
    part->Flush();
  }
  // Joining a worker that hangs ends the process. So the kubelet's view and the saved state are
  // finished before that.
  memory_.Flush();
  plugin_.reset();
}

node::NodeState AgentImpl::now() const {
  return {.snapshot = snapshot_,
          .config = in_force_,
          .assignment = assignment_,
          .injection = answering_.injection,
          .pods = measurements_.pods(),
          .pod_list = measurements_.pod_list(),
          .labels = labels_,
          .plugin_owner = std::string(stands_back_ ? node::TitleOf(node::Owner::kPlugin) : "")};
}

node::StatusPage AgentImpl::ShowParts() const {
  const node::NodeState state = now();
  node::StatusPage page;
  for (const node::Part* part : parts_) {
    part->ShowStatus(state, page);
  }
  return page;
}

void AgentImpl::WriteOwnSeries(metrics::Exposition& page) const {
  WriteOwnMetrics(state(), OwnUse(own_root_), options_.version, page);
  const node::NodeState state = now();
  for (const node::Part* part : parts_) {
    part->WriteSeries(state, page);
  }
}

std::string AgentImpl::PrintState() const {
  boost::json::object parts;
  for (const node::Part* part : parts_) {
    part->Save(parts);
  }
  return PrintMemory(KeyOf(options_, in_force_), *assignment_, std::move(parts));
}

bool AgentImpl::AnswerByPart(const http::Request& request, const http::Responder& responder) {
  const auto send = [responder](http::Response response) { responder.Send(std::move(response)); };
  return std::ranges::any_of(parts_, [&](node::Part* part) { return part->Answer(request, send); });
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

// A restart of the agent is not a change of the GPUs: their list is shown before the driver has
// answered, and corrected by its answer.
void AgentImpl::ShowRemembered() {
  const node::SavedState saved = std::exchange(remembered_, {}).state;
  for (node::Part* part : parts_) {
    part->Recall(saved);
  }
  pools::Assignment shown = saved.assignment;
  if (!plugin_ || shown.resources.empty()) {
    return;
  }
  loans_.Withhold(shown);
  const auto nothing = std::make_shared<const device::Snapshot>();
  SetAssignment(roster_.Update(std::move(shown), true, loop_.clock().Now()));
  plugin_->Show(MakeViews(*assignment_, nothing, *in_force_, {}));
  trust_timer_.Arm(kTrust, [this, nothing] {
    KGPU_LOG(kWarning, "driver not answering", {"effect", "its devices are marked unhealthy"});
    SetAssignment(roster_.Update({}, false, loop_.clock().Now()));
    if (plugin_) {
      plugin_->Show(MakeViews(*assignment_, nothing, *in_force_, {}));
    }
  });
}

void AgentImpl::Prepare() {
  if (!plugin_ || !assignment_->resources.empty()) {
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
  std::chrono::milliseconds pace = every;
  for (const auto& wanted : {sharing_.pace(), live_.pace()}) {
    pace = wanted ? (pace.count() == 0 ? *wanted : std::min(pace, *wanted)) : pace;
  }
  inventory_.SetSampling(pace);
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
  UpdateParts();
}

void AgentImpl::OnSnapshot(const device::SnapshotPtr& snapshot) {
  const device::SnapshotPtr before = std::exchange(snapshot_, snapshot);
  trust_timer_.Cancel();
  if (before && in_force_ && pools::DifferInHealthAlone(*before, *snapshot)) {
    MarkHealth();
    Show();
  } else {
    privileges_.Look();
    Assign();
  }
  UpdateParts();
  measurements_.SetSnapshot(snapshot);
  NotifySoon();
}

void AgentImpl::OnSamples(const device::SampleSetPtr& samples) {
  measurements_.SetSamples(samples, [this, samples, is_there = snapshot_ != nullptr] {
    if (is_there) {
      const node::NodeState state = now();
      for (node::Part* part : parts_) {
        part->OnSample(state, samples);
      }
      FiguresChanged();
    }
  });
}

void AgentImpl::FiguresChanged() {
  measurements_.SetUsage(usage_.pods());
  measurements_.SetSlices(sharing_.figures());
}

void AgentImpl::OnHealthEvent(const health::HealthEvent& health_event) {
  health_.OnHealthEvent(health_event);
  live_.OnHealthEvent(health_event);
  measurements_.OnHealth();
  // Also without a plugin: a restart heals no fault and reports none twice.
  memory_.Note();
}

void AgentImpl::OnRuntime() {
  if (!is_running_) {
    return;  // the first answer comes at once
  }
  Decide();
  NoteObstacle();
  Show();
  NotifySoon();
}

// The list goes out first: a fault must reach the kubelet before anything slower is done.
void AgentImpl::Assign() {
  if (!snapshot_ || !in_force_) {
    return;
  }
  const node::NodeState state = now();
  node::Draft draft{.fresh = pools::AssignDevices(*snapshot_, *in_force_)};
  for (node::Part* part : parts_) {
    part->Assign(state, draft);
  }
  pools::Assignment listed =
      roster_.Update(std::move(draft.fresh), snapshot_->driver.state == device::DriverState::kReady,
                     loop_.clock().Now());
  MarkObstacle(obstacle_, listed);
  SetAssignment(std::move(listed));
  ArmExpiry();
  if (!injected_ || !injection::InjectsAlike(*injected_, *snapshot_)) {
    answering_.injection.reset();
    InjectSoon();
  }
  Show();
  const node::NodeState shown = now();
  for (node::Part* part : parts_) {
    part->OnShown(shown);
  }
}

// The state of the label first: it counts as soon as the list does.
void AgentImpl::AssignAgain() {
  cluster_.SetMigState(mig_.label_state());
  Assign();
}

void AgentImpl::MarkHealth() {
  pools::Assignment marked = *assignment_;
  pools::UpdateHealth(*snapshot_, marked);
  for (const node::Part* part : parts_) {
    part->MarkHealth(marked);
  }
  MarkObstacle(obstacle_, marked);
  SetAssignment(std::move(marked));
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
  answering_.injection = std::make_shared<const injection::Injection>(
      injector_->Update(*snapshot_, CapabilitiesOf(*in_force_)));
  inject_timer_.Arm(kPublishAgain, [this] { Inject(); });
  Decide();
  NoteObstacle();
  Show();
}

// While the specs are made again, what was known last counts.
void AgentImpl::NoteObstacle() {
  Status obstacle = answering_.injection ? answering_.Obstacle() : obstacle_;
  if (obstacle != obstacle_ && snapshot_) {
    obstacle_ = std::move(obstacle);
    MarkHealth();
  }
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
  answering_.renew_slices = sharing_.renewal();
  answering_.mps = mps_.paths();
  if (plugin_ && snapshot_ && in_force_) {
    plugin_->Show(MakeViews(*assignment_, snapshot_, *in_force_, answering_));
    memory_.Note();
  }
  NotifySoon();
}

void AgentImpl::OnCluster() {
  if (const auto* labels = cluster_.labels()) {
    config_.SetLabels(*labels);
  }
  if (stands_back_ == cluster_.stands_back()) {
    return UpdateParts();
  }
  stands_back_ = cluster_.stands_back();
  KGPU_LOG(kWarning, stands_back_ ? "GPUs left to another device plugin" : "GPUs taken over",
           {"fix", stands_back_ ? "to take over: kgpu node adopt --from plugin" : "none"});
  MakePlugin();
  Show();
  UpdateParts();
}

void AgentImpl::UpdateParts() {
  const auto* labels = cluster_.labels();
  if (labels == nullptr) {
    labels_.reset();
  } else if (!labels_ || *labels_ != *labels) {
    labels_ = std::make_shared<const std::map<std::string, std::string>>(*labels);
  }
  const node::NodeState state = now();
  for (node::Part* part : parts_) {
    part->Update(state);
  }
  cluster_.SetMigState(mig_.label_state());
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
    notify_timer_.Arm(kNotifyDelay, [this] { NotifyCluster(); });
  }
}

void AgentImpl::NotifyCluster() {
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
  state.assignment = *assignment_;
  if (plugin_) {
    state.endpoints = plugin_->status();
  }
  AddClaimEndpoints(claims_.problem(), state);
  state.delivery = answering_.delivery;
  if (answering_.injection) {
    state.injection_problem = std::string(Message(answering_.Obstacle()));
    state.cdi_problem = std::string(Message(answering_.injection->cdi));
  }
  state.metrics_endpoints = endpoints_.endpoints();
  state.node = cluster_.report();
  state.label_problems = cluster_.label_problems();
  state.memory_problem = memory_.problem();
  state.missing_privileges = privileges_.missing();
  for (const MissingPrivilege& missing : state.missing_privileges) {
    state.node.remarks.push_back(ToString(missing));
  }
  for (const node::Part* part : parts_) {
    part->Remark(state.node.remarks);
  }
  state.plugin_owner = now().plugin_owner;
  return state;
}

StatusOr<std::unique_ptr<Agent>> Agent::Start(EventLoop& loop, const host::DriverRoot& root,
                                              const AgentOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<injection::Injector> injector,
                   injection::Injector::Create(root, loop.clock(), options.cdi_folder));
  ASSIGN_OR_RETURN(sys::Root own_root, sys::Root::Open("/"));
  auto agent =
      std::make_unique<AgentImpl>(loop, root, options, std::move(own_root), std::move(injector));
  RETURN_IF_ERROR(ExplainByPrivileges(agent->Run(), root.host, options));
  return agent;
}

}  // namespace kgpu::agent
