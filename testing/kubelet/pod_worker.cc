#include "testing/kubelet/pod_worker.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::kubelet {
namespace {

constexpr int kUnknownExitCode = 137;  // what the kubelet says of a container that vanished

int AttemptOf(const std::string& id) {
  return static_cast<int>(ParseUint(id.substr(id.rfind('_') + 1)).value_or(0));
}

}  // namespace

PodWorker::PodWorker(const Setting& setting, const Pod& pod)
    : setting_(setting), spec_(pod.spec), runs_(pod.spec.containers.size()) {
  for (size_t i = 0; i < runs_.size(); ++i) {
    runs_[i].spec = pod.spec.containers[i];
    TakeUp(runs_[i], pod.status.containers[i]);
  }
  if (spec_.claims.empty()) {
    claims_ = Claims::kReleased;
  } else if (std::ranges::any_of(runs_, [this](const Run& run) {
               return !run.id.empty() && setting_.runtime.Find(run.id).has_value();
             })) {
    claims_ = Claims::kPrepared;  // the sandbox exists
  }
}

PodWorker::~PodWorker() {
  setting_.loop.CancelTimer(claims_timer_);
  for (const Run& run : runs_) {
    setting_.loop.CancelTimer(run.timer);
  }
}

void PodWorker::TakeUp(Run& run, const ContainerStatus& status) {
  run.restarts = status.restarts;
  run.options = status.options;
  run.id = status.id;
  if (run.id.empty()) {
    return;
  }
  run.attempt = AttemptOf(run.id) + 1;
  run.started_at = run.ended_at = setting_.loop.clock().Now();
  const std::optional<RunState> state = setting_.runtime.Find(run.id);
  run.is_running = state && state->is_running;
  // A kubelet that died between the two may have named a container that it never started.
  const bool has_run = state || status.exit_code || status.state == ContainerState::kRunning;
  run.has_ended = has_run && !run.is_running;
  run.exit_code = state ? state->exit_code : status.exit_code.value_or(kUnknownExitCode);
}

void PodWorker::Sync() {
  if (!terminated_ && !is_over_) {
    Advance();
  }
  Publish();
  CheckTerminated();
}

// Starts what is missing, step by step: claims, init containers, app containers.
void PodWorker::Advance() {
  if (claims_ == Claims::kUnprepared && !AreAppsDone() && !HasInitFailed()) {
    PrepareClaims();
  }
  if (claims_ == Claims::kUnprepared || claims_ == Claims::kPreparing) {
    return;
  }
  if (spec_.is_image_missing) {
    for (Run& run : runs_) {
      run.reason = "ImagePullBackOff";
      run.message = "the image cannot be pulled";
    }
  } else if (StartInits()) {
    for (Run& run : runs_) {
      if (run.spec.kind == ContainerKind::kApp) {
        Ensure(run);
      }
    }
  }
}

void PodWorker::PrepareClaims() {
  const Pod* pod = setting_.store.FindUid(spec_.uid);
  if (pod == nullptr || pod->is_terminating || claims_timer_ != TimerId::kNone) {
    return;
  }
  claims_ = Claims::kPreparing;
  cancel_prepare_ = setting_.dra.Prepare(
      spec_, lifeline_.Guard([this](const Status& status) { OnClaimsPrepared(status); }));
}

void PodWorker::OnClaimsPrepared(const Status& status) {
  cancel_prepare_ = nullptr;
  claims_ = status.ok() ? Claims::kPrepared : Claims::kUnprepared;
  if (!status.ok() && !terminated_) {
    setting_.store.AddEvent(
        spec_.uid, "FailedPrepareDynamicResources",
        fmt::format("Failed to prepare dynamic resources: prepare dynamic resources: {}",
                    Message(status)));
    claims_timer_ = setting_.loop.After(setting_.constants.sync_retry, [this] {
      claims_timer_ = TimerId::kNone;
      Sync();
    });
  }
  Sync();
}

void PodWorker::ReleaseClaims() {
  if (claims_ == Claims::kReleasing || claims_ == Claims::kReleased) {
    return;
  }
  setting_.loop.CancelTimer(std::exchange(claims_timer_, TimerId::kNone));
  claims_ = Claims::kReleasing;
  setting_.dra.Unprepare(
      spec_.uid, lifeline_.Guard([this](const Status& status) { OnClaimsReleased(status); }));
}

void PodWorker::OnClaimsReleased(const Status& status) {
  if (!status.ok()) {
    KGPU_LOG(kInfo, "claims not unprepared", {"pod", spec_.name}, {"reason", Message(status)});
    claims_timer_ = setting_.loop.After(setting_.constants.sync_retry, [this] {
      claims_timer_ = TimerId::kNone;
      claims_ = Claims::kPrepared;
      CheckTerminated();
    });
    return;
  }
  claims_ = Claims::kReleased;
  Sync();
}

// True when the app containers may start.
bool PodWorker::StartInits() {
  const bool have_apps_started = std::ranges::any_of(runs_, [](const Run& run) {
    return run.spec.kind == ContainerKind::kApp && !run.id.empty();
  });
  for (Run& run : runs_) {
    const bool is_done = run.has_ended && run.exit_code == 0;
    if (run.spec.kind == ContainerKind::kApp ||
        (run.spec.kind == ContainerKind::kInit && is_done)) {
      continue;
    }
    if (run.spec.kind == ContainerKind::kSidecar && run.is_running) {
      continue;
    }
    Ensure(run);
    if (!have_apps_started) {
      return false;
    }
  }
  return true;
}

void PodWorker::Ensure(Run& run) {
  if (run.is_running || run.is_starting || run.timer != TimerId::kNone) {
    return;
  }
  if (!run.has_ended) {
    Start(run);
    return;
  }
  if (!ShouldRestart(run)) {
    return;
  }
  const std::chrono::nanoseconds wait = run.ended_at + BackOff(run) - setting_.loop.clock().Now();
  if (wait > std::chrono::nanoseconds(0)) {
    RetryLater(run, wait, "CrashLoopBackOff",
               fmt::format("back-off restarting container {}", run.spec.name));
    return;
  }
  Start(run);
}

bool PodWorker::ShouldRestart(const Run& run) const {
  if (run.spec.kind == ContainerKind::kSidecar) {
    return true;
  }
  switch (spec_.restart_policy) {
    case RestartPolicy::kAlways:
      return run.spec.kind == ContainerKind::kApp || run.exit_code != 0;
    case RestartPolicy::kOnFailure:
      return run.exit_code != 0;
    case RestartPolicy::kNever:
      return false;
  }
  return false;
}

// The first restart comes at once, the next ones later and later.
std::chrono::nanoseconds PodWorker::BackOff(const Run& run) const {
  if (run.crashes == 0) {
    return std::chrono::nanoseconds(0);
  }
  constexpr int kMostDoublings = 16;
  const std::chrono::nanoseconds delay =
      setting_.constants.restart_first * (int64_t{1} << std::min(run.crashes - 1, kMostDoublings));
  return std::min(delay, setting_.constants.restart_longest);
}

void PodWorker::RetryLater(Run& run, std::chrono::nanoseconds delay, const char* reason,
                           std::string_view message) {
  run.reason = reason;
  run.message = message;
  // Past Ensure's own checks: a run that waited for its time is not made to wait again.
  run.timer = setting_.loop.After(delay, [this, &run] {
    run.timer = TimerId::kNone;
    Start(run);
    Publish();
  });
}

void PodWorker::Start(Run& run) {
  run.is_starting = true;
  setting_.preparer.Prepare(
      spec_, run.spec, lifeline_.Guard([this, &run](const StatusOr<ContainerOptions>& options) {
        OnPrepared(run, options);
      }));
}

void PodWorker::OnPrepared(Run& run, const StatusOr<ContainerOptions>& options) {
  if (terminated_ || is_over_) {
    run.is_starting = false;
    CheckTerminated();
    return;
  }
  if (!options.ok()) {
    run.is_starting = false;
    RetryLater(run, setting_.constants.sync_retry, "CreateContainerConfigError",
               Message(options.status()));
    Publish();
    return;
  }
  if (!run.id.empty()) {
    setting_.runtime.Remove(run.id);
  }
  run.options = *options;
  run.id = fmt::format("{}_{}_{}", spec_.uid, run.spec.name, run.attempt++);
  ContainerConfig config{.id = run.id,
                         .pod = spec_.name,
                         .name_space = spec_.name_space,
                         .pod_uid = spec_.uid,
                         .container = run.spec.name,
                         .command = run.spec.command,
                         .env = run.spec.env,
                         .options = *options,
                         .exits_with = run.spec.exits_with};
  if (run.spec.kind == ContainerKind::kInit && !config.exits_with) {
    config.exits_with = 0;
  }
  // The id is in the status before the container is there: a kubelet that dies now finds it.
  Publish();
  setting_.runtime.Start(
      config, lifeline_.Guard([this, &run](const Status& status) { OnStarted(run, status); }));
}

void PodWorker::OnStarted(Run& run, const Status& status) {
  run.is_starting = false;
  if (!status.ok()) {
    RetryLater(run, setting_.constants.sync_retry, "CreateContainerError", Message(status));
    CheckTerminated();
    Publish();
    return;
  }
  if (run.has_ended) {
    ++run.restarts;
    ++run.crashes;
    run.has_ended = false;
  }
  run.is_running = true;
  run.started_at = setting_.loop.clock().Now();
  run.reason.clear();
  run.message.clear();
  if (terminated_ || is_over_) {
    setting_.runtime.Stop(run.id, setting_.constants.termination_grace);
  }
  Sync();
}

bool PodWorker::OnExit(const std::string& id, int exit_code) {
  const auto run = std::ranges::find_if(
      runs_, [&](const Run& candidate) { return candidate.id == id && !id.empty(); });
  if (run == runs_.end()) {
    return false;
  }
  run->is_running = false;
  run->has_ended = true;
  run->exit_code = exit_code;
  run->ended_at = setting_.loop.clock().Now();
  if (run->ended_at - run->started_at >= setting_.constants.restart_reset) {
    run->crashes = 0;
  }
  Sync();
  return true;
}

void PodWorker::Terminate(std::function<void()> done) {
  terminated_ = std::move(done);
  if (cancel_prepare_) {
    cancel_prepare_();
  }
  for (Run& run : runs_) {
    setting_.loop.CancelTimer(std::exchange(run.timer, TimerId::kNone));
    if (run.is_running) {
      setting_.runtime.Stop(run.id, setting_.constants.termination_grace);
    }
  }
  CheckTerminated();
}

bool PodWorker::IsAnyAlive() const {
  return std::ranges::any_of(runs_,
                             [](const Run& run) { return run.is_running || run.is_starting; });
}

void PodWorker::CheckTerminated() {
  if ((!terminated_ && !is_over_) || IsAnyAlive() || claims_ == Claims::kPreparing) {
    return;
  }
  ReleaseClaims();
  if (!terminated_ || claims_ != Claims::kReleased) {
    return;
  }
  for (const Run& run : runs_) {
    setting_.loop.CancelTimer(run.timer);
    if (!run.id.empty()) {
      setting_.runtime.Remove(run.id);
    }
  }
  // On the loop, since whoever is notified may destroy this.
  setting_.loop.Post(lifeline_.Guard([done = std::exchange(terminated_, nullptr)] { done(); }));
  is_over_ = true;
}

bool PodWorker::AreAppsDone() const {
  return std::ranges::all_of(runs_, [this](const Run& run) {
    return run.spec.kind != ContainerKind::kApp ||
           (run.has_ended && !run.is_starting && !ShouldRestart(run));
  });
}

bool PodWorker::HasInitFailed() const {
  return std::ranges::any_of(runs_, [this](const Run& run) {
    return run.spec.kind == ContainerKind::kInit && run.has_ended && run.exit_code != 0 &&
           !ShouldRestart(run);
  });
}

PodPhase PodWorker::Phase() const {
  // A pod does not end before its claims are unprepared.
  const bool is_any_alive = IsAnyAlive() || claims_ != Claims::kReleased;
  if (HasInitFailed() && !is_any_alive) {
    return PodPhase::kFailed;
  }
  if (AreAppsDone() && !is_any_alive) {
    const bool is_success = std::ranges::all_of(runs_, [](const Run& run) {
      return run.spec.kind != ContainerKind::kApp || run.exit_code == 0;
    });
    return is_success ? PodPhase::kSucceeded : PodPhase::kFailed;
  }
  const bool has_started = std::ranges::all_of(runs_, [](const Run& run) {
    return run.spec.kind != ContainerKind::kApp || run.is_running || run.has_ended;
  });
  return has_started ? PodPhase::kRunning : PodPhase::kPending;
}

void PodWorker::Publish() {
  if (!is_over_ && !terminated_ && (AreAppsDone() || HasInitFailed())) {
    is_over_ = true;
    for (Run& run : runs_) {
      setting_.loop.CancelTimer(std::exchange(run.timer, TimerId::kNone));
      if (run.is_running) {
        setting_.runtime.Stop(run.id, setting_.constants.termination_grace);
      }
    }
  }
  Pod* pod = setting_.store.FindUid(spec_.uid);
  if (pod == nullptr) {
    return;
  }
  for (size_t i = 0; i < runs_.size(); ++i) {
    PublishRun(runs_[i], pod->status.containers[i]);
  }
  if (!terminated_) {
    pod->status.phase = Phase();
  }
  setting_.store.Changed();
}

void PodWorker::PublishRun(const Run& run, ContainerStatus& status) const {
  status.state = run.is_running        ? ContainerState::kRunning
                 : !run.reason.empty() ? ContainerState::kWaiting
                 : run.has_ended       ? ContainerState::kTerminated
                                       : ContainerState::kWaiting;
  status.reason = run.is_starting && run.reason.empty() ? "ContainerCreating" : run.reason;
  status.message = run.message;
  if (run.has_ended) {
    status.exit_code = run.exit_code;
  }
  status.restarts = run.restarts;
  status.id = run.id;
  status.options = run.options;
  PublishHealth(run, status);
}

void PodWorker::PublishHealth(const Run& run, ContainerStatus& status) const {
  const auto held = setting_.manager.pods().OfContainer(spec_.uid, run.spec.name);
  // Freed devices: the last known stays.
  std::erase_if(status.health, [&held](const ResourceHealth& entry) {
    return !held.empty() || entry.resource.starts_with("claim:");
  });
  if (!held.empty()) {
    status.devices.clear();
  }
  for (const Assignment* assignment : held) {
    const DeviceIds ids = assignment->ids();
    status.devices[assignment->resource] = ids;
    for (const std::string& id : ids) {
      if (run.spec.kind == ContainerKind::kApp) {
        status.health.push_back(
            {.resource = assignment->resource,
             .id = id,
             .health = setting_.manager.table().HealthOf(assignment->resource, id)});
      }
    }
  }
  if (run.spec.kind == ContainerKind::kApp) {
    const std::vector<ResourceHealth> claimed = setting_.dra.HealthOf(spec_, run.spec);
    status.health.insert(status.health.end(), claimed.begin(), claimed.end());
  }
}

}  // namespace kgpu::kubelet
