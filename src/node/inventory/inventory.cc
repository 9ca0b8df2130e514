#include "src/node/inventory/inventory.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "src/gpu/nvml/error_map.h"
#include "src/gpu/probe/client.h"
#include "src/host/inspect/driver_facts.h"
#include "src/host/inspect/driver_files.h"
#include "src/node/inventory/assemble.h"
#include "src/node/inventory/driver_status.h"
#include "src/node/inventory/event_trouble.h"
#include "src/node/inventory/health_monitor.h"
#include "src/node/inventory/hung_gpus.h"
#include "src/node/inventory/part_options.h"
#include "src/node/inventory/reader.h"
#include "src/node/inventory/sampler.h"
#include "src/node/inventory/triggers.h"
#include "src/node/inventory/unlisted.h"
#include "src/platform/base/log.h"
#include "src/platform/base/timer.h"

namespace kgpu::inventory {
namespace {

using device::Driver;
using device::Gpu;
using device::Snapshot;
using device::SnapshotPtr;
using std::chrono::milliseconds;

// Before looking again because waiting for events went wrong: the driver may be going away.
constexpr milliseconds kLookAfterTrouble{20};
// How long trouble that may pass is kept quiet: the next probe answers, or says what it is.
constexpr milliseconds kPatience{2000};

}  // namespace

class Inventory::Impl {
 public:
  Impl(EventLoop& loop, const host::DriverRoot& root, InventoryOptions options)
      : loop_(loop),
        root_(root),
        options_(std::move(options)),
        health_(loop, root.host, HealthOf(options_),
                {.show = [this] { ShowVerdicts(); },
                 .look = [this] { LookIn(milliseconds(0)); },
                 .look_closely = [this] { LookIn(kLookAfterTrouble); },
                 .measure = [this] { sampler_.Hurry(); }}),
        current_(std::make_shared<const Snapshot>()),
        unlisted_(root.host),
        event_trouble_(kLookAfterTrouble, std::max(kLookAfterTrouble, options_.slow_poll)),
        client_(loop, ClientOptionsOf(options_), [this] { return FindLibrary(); },
                {.on_up = [this] { OnUp(); },
                 .on_down = [this](const probe::Down& down) { OnDown(down); },
                 .on_event = [this](const probe::Event& event) { OnEvent(event); },
                 .on_abandoned = [this] { OnAbandoned(); }}),
        sampler_(loop, client_) {
    sampler_.SetListener([this](const device::SampleSetPtr& samples) { OnSamples(samples); });
    SetSampling(milliseconds(0));
  }

  void Start(Listener listener);
  void Refresh(std::function<void()> done = nullptr);
  void Pause(std::function<void()> released) {
    sampler_.Stop();
    client_.Pause(std::move(released));
  }
  void Resume() { client_.Resume(); }
  void StopWatching() {
    if (triggers_) {
      triggers_->StopWatching();
    }
  }
  void SetHealth(health::Settings settings) {
    health_.SetSettings(std::move(settings));
    SetSampling(sampling_);
  }
  void SetSampling(milliseconds every);
  void OnSample(SampleListener listener) { sample_listener_ = std::move(listener); }
  SnapshotPtr current() const { return current_; }
  HealthMonitor& health() { return health_; }

 private:
  StatusOr<std::string> FindLibrary();
  void OnUp();
  void OnDown(const probe::Down& down);
  void OnEvent(const probe::Event& event);
  void OnAbandoned();
  void OnPoll();
  void LookIn(milliseconds delay);
  void Look();
  void OnRead(ReadOutcome outcome);
  void WatchNewGpus();
  // The names of the GPUs that the driver listed.
  std::set<device::GpuUuid> Take(const Reading& reading);
  void OnSamples(const device::SampleSetPtr& samples);
  Snapshot Show(const Obstacle& obstacle) const;
  void ShowVerdicts();
  void ShowReady();
  void ShowDown();
  void Publish(Snapshot next);

  EventLoop& loop_;
  const host::DriverRoot& root_;
  InventoryOptions options_;
  Listener listener_;
  HealthMonitor health_;
  SampleListener sample_listener_;
  milliseconds sampling_{0};  // as asked for by others than health
  SnapshotPtr current_;
  std::unique_ptr<Triggers> triggers_;

  Driver driver_;  // as the snapshot shows it
  HostView view_;  // of the last look
  // For the first look of a probe; read while the very first one starts: drivers wake up slowly.
  std::optional<HostView> first_view_;
  std::vector<Gpu> known_;           // GPUs to show, health unset, sorted by PCI address
  unsigned lost_gpus_ = 0;           // see Snapshot
  std::string refusal_;              // see Listed::refusal
  std::optional<probe::Down> down_;  // why there are no answers; nothing while there are

  Unlisted unlisted_;
  std::set<device::GpuUuid> watched_;  // registered for events with this probe
  std::vector<unsigned> unwatched_;    // NVML indices to register
  bool is_first_look_ = true;          // of this probe
  bool is_reading_ = false;
  bool is_read_wanted_ = false;                    // something happened during the reading
  std::vector<std::function<void()>> after_next_;  // to be called after the next reading
  std::vector<std::function<void()>> after_this_;  // and after the one in progress
  bool is_trouble_hidden_ = false;
  Timer view_timer_{loop_};
  Timer look_timer_{loop_};
  SteadyTime look_due_{};
  EventTrouble event_trouble_;
  Timer patience_timer_{loop_};
  probe::Client client_;  // its listener uses the members above
  HungGpus hung_{loop_, client_, [this] { LookIn(milliseconds(0)); }};
  Sampler sampler_;
};

// Called before each start of a probe.
StatusOr<std::string> Inventory::Impl::FindLibrary() {
  unlisted_.OnStart();
  // A GPU that comes after nvmlInit has counted must not be taken for one that it left out. The
  // very first probe is not kept waiting for that.
  if (options_.is_live && current_->version != 0) {
    unlisted_.OnStart(ReadHostView(root_.host));
  }
  if (!options_.nvml_library.empty()) {
    return options_.nvml_library;
  }
  auto path = host::FindNvmlLibrary(root_.driver);
  if (!path.ok()) {
    return path.status();
  }
  return root_.driver.At(*path);
}

void Inventory::Impl::Start(Listener listener) {
  listener_ = std::move(listener);
  const WallTime since = loop_.clock().WallNow();
  // Before the probe's own deadline of the same length: a cold driver is starting, not hung.
  patience_timer_.Arm(options_.start_deadline, [this, since] {
    if (current_->version == 0) {
      driver_.reason = ExplainSilence(since);
      view_ = ReadHostView(root_.host);
      Publish(Show({.verdict = driver_.reason}));
    }
  });
  client_.Start();  // before the rest: the probe works while we go on
  health_.Start(options_.known_faults, options_.kernel_log_position);
  if (options_.is_live) {
    triggers_ = std::make_unique<Triggers>(
        loop_, root_.host,
        TriggerOptions{.quick_poll = options_.quick_poll, .slow_poll = options_.slow_poll},
        [this] { Refresh(); }, [this] { OnPoll(); });
    // After the watches, so that what changes from now on is heard of; and after the owner has done
    // what it has to do first.
    view_timer_.Arm(milliseconds(0), [this] {
      if (!first_view_ && current_->version == 0) {
        first_view_ = ReadHostView(root_.host);
      }
    });
  }
}

void Inventory::Impl::Refresh(std::function<void()> done) {
  if (done) {
    after_next_.push_back(std::move(done));
  }
  unlisted_.OnChange();
  if (client_.is_up()) {
    LookIn(milliseconds(0));
  } else {
    client_.RetryNow();
  }
}

void Inventory::Impl::OnPoll() {
  if (client_.is_up()) {
    LookIn(milliseconds(0));
  } else if (down_ && !patience_timer_.is_armed()) {
    ShowDown();  // PCI may have changed while the driver is away
  }
}

// A new probe: everything is read, after registering for events, so that none is missed.
void Inventory::Impl::OnUp() {
  watched_.clear();
  unwatched_.clear();
  is_reading_ = false;
  is_first_look_ = true;
  sampler_.Stop();
  hung_.OnUp();
  if (options_.is_live) {
    if (!first_view_) {
      first_view_ = ReadHostView(root_.host);
    }
    if (current_->version == 0) {
      unlisted_.OnStart(*first_view_);
    }
  }
  Look();
}

void Inventory::Impl::OnDown(const probe::Down& down) {
  first_view_.reset();
  is_reading_ = false;
  is_read_wanted_ = false;
  sampler_.Stop();
  // A caller that takes one snapshot shows the reason in it.
  if (options_.is_live && (!down_ || down_->text != down.text)) {
    KGPU_LOG(kWarning, "driver not answering", {"reason", down.text});
  }
  const bool is_hang = hung_.Note(down);
  const bool is_first_trouble = IsPassing(down) && !is_trouble_hidden_;
  down_ = down;
  if (!is_hang && !is_first_trouble) {
    return ShowDown();
  }
  is_trouble_hidden_ = true;
  // After a hang, the next probe may have to wait until this one is given up.
  const milliseconds patience =
      is_hang ? 2 * options_.call_deadline + options_.kill_grace : kPatience;
  patience_timer_.Arm(patience, [this] {
    if (down_) {
      ShowDown();
    }
  });
}

void Inventory::Impl::OnAbandoned() {
  KGPU_LOG(kError, "kgpu-probe not killed by SIGKILL", {"pid", client_.probe_pid()},
           {"effect", "it is stuck in the kernel; no other one is started until it exits"});
}

void Inventory::Impl::OnEvent(const probe::Event& event) {
  if (event.result != nvml::kSuccess) {
    return LookIn(event_trouble_.Note(loop_.clock().Now()));
  }
  event_trouble_.Clear();
  if (health_.OnEvent(event)) {
    return;
  }
  if (event.type == nvml::kEventMigConfig && triggers_) {
    return triggers_->LookRepeatedly();
  }
  LookIn(milliseconds(0));
}

void Inventory::Impl::OnSamples(const device::SampleSetPtr& samples) {
  health_.OnSamples(*samples);
  if (sample_listener_) {
    sample_listener_(samples);
  }
}

// The shortest interval among all who want samples is used.
void Inventory::Impl::SetSampling(milliseconds every) {
  sampling_ = every;
  const milliseconds own = health_.settings().every;
  const bool is_either_off = every == milliseconds(0) || own == milliseconds(0);
  const milliseconds least = is_either_off ? std::max(every, own) : std::min(every, own);
  if (least == milliseconds(0)) {
    health_.StopMeasuring();
  }
  sampler_.SetEvery(least);
}

void Inventory::Impl::LookIn(milliseconds delay) {
  const SteadyTime due = loop_.clock().Now() + delay;
  if (look_timer_.is_armed() && look_due_ <= due) {
    return;
  }
  look_due_ = due;
  look_timer_.Arm(delay, [this] { Look(); });
}

void Inventory::Impl::Look() {
  if (!client_.is_up()) {
    return;
  }
  if (is_reading_) {
    is_read_wanted_ = true;
    return;
  }
  is_reading_ = true;
  is_read_wanted_ = false;
  std::ranges::move(std::exchange(after_next_, {}), std::back_inserter(after_this_));
  if (triggers_) {
    triggers_->OnFullLook();
  }
  const auto events = std::exchange(is_first_look_, false) ? Events::kRegister : Events::kLeave;
  ReadAll(client_, loop_.clock(), events,
          [this](ReadOutcome outcome) { OnRead(std::move(outcome)); });
}

void Inventory::Impl::OnRead(ReadOutcome outcome) {
  is_reading_ = false;
  if (outcome.driver_result != nvml::kSuccess) {
    // nvmlInit of a new probe will tell more.
    return client_.GiveUp({.cause = probe::DownCause::kInitFailed,
                           .result = outcome.driver_result,
                           .text = std::string(nvml::Explain(outcome.driver_result))});
  }
  if (!hung_.Mark(outcome.reading)) {
    return client_.GiveUp(
        {.cause = probe::DownCause::kUnresponsive, .text = outcome.reading.gpus.front().hang});
  }
  down_.reset();
  is_trouble_hidden_ = false;
  const std::set<device::GpuUuid> listed = Take(outcome.reading);
  driver_ = ReadyDriver(outcome.reading.driver, client_.library(), root_.host);
  if (options_.is_live &&
      unlisted_.MayListMore(view_, known_, listed, outcome.reading.has_registered_events)) {
    return client_.Restart();  // shown when the next probe has read it
  }
  ShowReady();
  sampler_.SetGpus(known_);
  WatchNewGpus();
  health_.ArmCheck();
  if (is_read_wanted_) {
    LookIn(milliseconds(0));
  }
  for (const std::function<void()>& done : std::exchange(after_this_, {})) {
    done();
  }
}

std::set<device::GpuUuid> Inventory::Impl::Take(const Reading& reading) {
  if (first_view_) {
    view_ = *std::move(first_view_);
    first_view_.reset();
  } else {
    view_ = ReadHostView(root_.host);
  }
  Listed listed = ListGpus(reading, view_, root_.host);
  lost_gpus_ = listed.unnamed_lost;
  refusal_ = listed.refusal;
  std::set<device::GpuUuid> names;
  for (const Gpu& gpu : listed.gpus) {
    names.insert(gpu.uuid);
  }
  known_ = MergeKnown(std::exchange(known_, {}), listed, view_);
  health_.SetGpus(known_);
  for (const Gpu& gpu : known_) {
    if (const auto fault = listed.faults.find(gpu.uuid); fault != listed.faults.end()) {
      health_.NoteBadRead(gpu.uuid, fault->second);
      watched_.erase(gpu.uuid);  // its handle may be another one when it comes back
    } else {
      health_.NoteGoodRead(gpu.uuid, reading.begun);
      if (watched_.insert(gpu.uuid).second && !reading.has_registered_events) {
        unwatched_.push_back(gpu.index);
      }
    }
  }
  std::erase_if(watched_, [this](const device::GpuUuid& uuid) {
    return std::ranges::find(known_, uuid, &Gpu::uuid) == known_.end();
  });
  return names;
}

// Registers for the events of GPUs that came, or came back, after this probe's first look.
void Inventory::Impl::WatchNewGpus() {
  for (const unsigned index : std::exchange(unwatched_, {})) {
    client_.WatchEvents(index, [](const auto&) {});
    client_.StartEvents();
  }
}

void Inventory::Impl::ShowVerdicts() {
  // Otherwise the next read shows them, with the GPUs they are of.
  if (driver_.state == device::DriverState::kReady && !down_) {
    ShowReady();
  }
}

// The state as it is known, without the health of the GPUs.
Snapshot Inventory::Impl::Show(const Obstacle& obstacle) const {
  Snapshot snapshot;
  snapshot.driver = driver_;
  snapshot.gpus = known_;
  snapshot.unmanaged = Unmanaged(view_, known_, obstacle, root_.host);
  snapshot.companions = view_.companions;
  return snapshot;
}

void Inventory::Impl::ShowReady() {
  Snapshot next = Show({.refusal = refusal_});
  for (Gpu& gpu : next.gpus) {
    health_.Apply(gpu);
  }
  next.lost_gpus = lost_gpus_;
  Publish(std::move(next));
}

void Inventory::Impl::ShowDown() {
  if (!down_) {
    return;
  }
  patience_timer_.Cancel();
  sampler_.Clear();
  view_ = ReadHostView(root_.host);
  driver_ = ExplainDown(*down_, host::ReadDriverFacts(root_), view_);
  if (view_.is_pci_readable) {
    std::erase_if(known_, [&](const Gpu& gpu) { return !view_.Shows(gpu.pci); });
  }
  health_.OnDown(*down_, driver_.reason);
  Snapshot next = Show({.verdict = driver_.reason});
  for (Gpu& gpu : next.gpus) {
    gpu.health = HealthWithout(driver_);
    for (device::MigDevice& mig : gpu.mig_devices) {
      mig.health = gpu.health;
    }
  }
  Publish(std::move(next));
}

void Inventory::Impl::Publish(Snapshot next) {
  if (current_->version != 0 && current_->SameAs(next)) {
    return;
  }
  next.version = current_->version + 1;
  const SnapshotPtr shown = std::make_shared<const Snapshot>(std::move(next));
  current_ = shown;
  // Before the log: the kubelet waits for it.
  listener_(shown);
  KGPU_LOG(kInfo, "inventory changed", {"version", shown->version},
           {"driver", device::ToString(shown->driver.state)}, {"gpus", shown->gpus.size()},
           {"unmanaged", shown->unmanaged.size()});
}

Inventory::Inventory(EventLoop& loop, const host::DriverRoot& root, InventoryOptions options)
    : impl_(std::make_unique<Impl>(loop, root, std::move(options))) {
}
Inventory::~Inventory() = default;
void Inventory::Start(Listener listener) {
  impl_->Start(std::move(listener));
}
SnapshotPtr Inventory::current() const {
  return impl_->current();
}
void Inventory::Refresh(std::function<void()> done) {
  impl_->Refresh(std::move(done));
}
void Inventory::Pause(std::function<void()> released) {
  impl_->Pause(std::move(released));
}
void Inventory::Resume() {
  impl_->Resume();
}
void Inventory::StopWatching() {
  impl_->StopWatching();
}
void Inventory::SetHealth(health::Settings settings) {
  impl_->SetHealth(std::move(settings));
}
void Inventory::OnHealthEvent(health::HealthEventListener listener) {
  impl_->health().SetListener(std::move(listener));
}
health::Overview Inventory::health() const {
  return impl_->health().overview();
}
Status Inventory::ClearHealth(const device::GpuUuid& gpu) {
  return impl_->health().Clear(gpu);
}
void Inventory::SetSampling(milliseconds every) {
  impl_->SetSampling(every);
}
void Inventory::OnSample(SampleListener listener) {
  impl_->OnSample(std::move(listener));
}

}  // namespace kgpu::inventory
