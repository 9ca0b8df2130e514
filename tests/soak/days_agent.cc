#include "tests/soak/days_agent.h"

#include <gtest/gtest.h>

#include <utility>

#include "src/gpu/nvml/abi.h"
#include "src/node/pools/health_update.h"
#include "testing/elf_library.h"
#include "testing/status_matchers.h"

namespace kgpu::soak {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How long a call of the driver takes, and a list of the kubelet.
constexpr milliseconds kCall{5};
constexpr milliseconds kList{200};

slices::SliceFilesOptions FilesOf(const DayWorld& world, const std::string& folder,
                                  size_t most_kept) {
  return {.library = world.dir.At("lib.so"),
          .folder = world.dir.At(folder),
          .engine_folder = "/engine/" + folder,
          .most_kept = most_kept};
}

}  // namespace

DayWorld::DayWorld() : io(EpollLoop::Create().value()) {
  dir.WriteFile("lib.so", ElfLibrary("library"));
  root = *sys::Root::Open(dir.path());
}

DayAgent::DayAgent(DayWorld& world)
    : world_(world),
      // A busy machine is no disk that hangs.
      disk_(*world.io, {.start_patience = std::chrono::minutes(5)}),
      monitor_(world.loop, *world.root, world.config->health,
               {.show = [this] { ShowHealth(); },
                .look = [this] { read_timer_.Arm(kCall, [this] { Read(); }); },
                .look_closely = [this] { read_timer_.Arm(kCall, [this] { Read(); }); },
                .measure = [this] { measure_timer_.Arm(kCall, [this] { Measure(); }); }}),
      loans_(world.loop, disk_, world.dir.At("loans.json"), FilesOf(world, "lent", 0), *this),
      sharing_(world.loop, *world.root, pods::AtOnce(), FilesOf(world, "share", 32), *this,
               [](const slices::SliceUse& /*use*/) { return OkStatus(); }),
      recorder_("usage", world.usage_disk.disk()) {
  monitor_.SetListener([this](const health::HealthEvent& event) {
    world_.health.raised += event.kind == health::HealthEventKind::kRaised ? 1 : 0;
    world_.health.cleared += event.kind == health::HealthEventKind::kCleared ? 1 : 0;
    world_.health.held += event.kind == health::HealthEventKind::kHeld ? 1 : 0;
  });
  monitor_.Start(world.saved_faults);
  Recall();
  ListPods();
  OnGpus();
  Drain();
}

DayAgent::~DayAgent() {
  Drain();
}

// As agent::ParseMemory does: of another configuration, only slots that pods may still use.
void DayAgent::Recall() {
  node::SavedState saved = world_.saved;
  if (world_.saved_config != world_.config) {
    saved.outdated = std::move(saved.assignment.resources);
    saved.assignment = {};
  }
  loans_.Recall(saved);
  sharing_.Recall(saved);
  if (!saved.assignment.resources.empty()) {
    loans_.Withhold(saved.assignment);
    assignment_ = std::make_shared<const pools::Assignment>(
        roster_.Update(std::move(saved.assignment), true, world_.loop.clock().Now()));
  }
}

node::NodeState DayAgent::now() const {
  node::NodeState state;
  state.snapshot = snapshot_;
  state.config = world_.config;
  state.assignment = assignment_;
  state.pods = pods_;
  state.pod_list = pod_list_;
  auto plan = std::make_shared<inject::InjectionPlan>();
  for (unsigned i = 0; i < DayGpus::kCount; ++i) {
    plan->devices.push_back({.names = {DayGpus::UuidOf(i).str()}, .nodes = {}});
  }
  auto injection = std::make_shared<injection::Injection>();
  injection->plan = std::move(plan);
  state.injection = std::move(injection);
  return state;
}

device::SnapshotPtr DayAgent::Judged() const {
  auto snapshot = std::make_shared<device::Snapshot>(world_.gpus.Read());
  for (device::Gpu& gpu : snapshot->gpus) {
    monitor_.Apply(gpu);
  }
  return snapshot;
}

void DayAgent::ShowHealth() {
  if (!snapshot_) {
    return;
  }
  const device::SnapshotPtr judged = Judged();
  if (!pools::DifferInHealthAlone(*snapshot_, *judged)) {
    snapshot_ = judged;
    return Assign();
  }
  snapshot_ = judged;
  pools::Assignment marked = *assignment_;
  pools::UpdateHealth(*snapshot_, marked);
  loans_.MarkHealth(marked);
  sharing_.MarkHealth(marked);
  assignment_ = std::make_shared<const pools::Assignment>(std::move(marked));
  Show();
}

void DayAgent::OnGpus() {
  const device::Snapshot read = world_.gpus.Read();
  if (read.driver.state == device::DriverState::kReady) {
    monitor_.SetGpus(read.gpus);
  }
  Read();
  snapshot_ = Judged();
  Assign();
}

void DayAgent::OnConfig() {
  monitor_.SetSettings(world_.config->health);
  roster_.Forget();
  Assign();
}

void DayAgent::OnXid(unsigned gpu, uint64_t xid) {
  probe::Event event;
  event.type = nvml::kEventXidCritical;
  event.data = xid;
  event.uuid = DayGpus::UuidOf(gpu);
  EXPECT_TRUE(monitor_.OnEvent(event));
}

void DayAgent::OnKubelet() {
  Show();
  LookAtPods();
}

void DayAgent::Read() {
  const SteadyTime begun = world_.loop.clock().Now();
  const device::Snapshot read = world_.gpus.Read();
  for (const device::Gpu& gpu : read.gpus) {
    if (world_.gpus.at(gpu.index).answers) {
      monitor_.NoteGoodRead(gpu.uuid, begun);
    } else {
      monitor_.NoteBadRead(
          gpu.uuid,
          {.is_healthy = false, .reason = "GpuLost", .message = "The GPU has fallen off the bus."});
    }
  }
  monitor_.ArmCheck();
  ShowHealth();
}

void DayAgent::Measure() {
  const Clock& clock = world_.loop.clock();
  monitor_.OnSamples(world_.gpus.Measure(clock.Now(), clock.WallNow()));
}

void DayAgent::OnRound() {
  const Clock& clock = world_.loop.clock();
  ListPods();
  const auto samples =
      std::make_shared<const device::SampleSet>(world_.gpus.Measure(clock.Now(), clock.WallNow()));
  monitor_.OnSamples(*samples);
  const node::NodeState state = now();
  loans_.OnSample(state, samples);
  sharing_.OnSample(state, samples);
  history_.Add(*samples);
  recorder_.Count(
      {.snapshot = *snapshot_, .samples = *samples, .pods = *pods_, .assignment = *assignment_});
}

void DayAgent::LookAtPods() {
  if (!list_timer_.is_armed()) {
    list_timer_.Arm(kList, [this] { ListPods(); });
  }
}

void DayAgent::ListPods() {
  if (world_.kubelet.is_up) {
    pods_ = std::make_shared<const pods::PodMap>(world_.kubelet.List());
    pod_list_.asked = world_.loop.clock().Now();
  }
}

void DayAgent::Assign() {
  if (!snapshot_) {
    return;
  }
  const node::NodeState state = now();
  node::Draft draft{.fresh = pools::AssignDevices(*snapshot_, *world_.config)};
  loans_.Assign(state, draft);
  sharing_.Assign(state, draft);
  assignment_ = std::make_shared<const pools::Assignment>(
      roster_.Update(std::move(draft.fresh), snapshot_->driver.state == device::DriverState::kReady,
                     world_.loop.clock().Now()));
  expiry_timer_.Cancel();
  if (const auto expiry = roster_.next_expiry()) {
    expiry_timer_.Arm(*expiry - world_.loop.clock().Now(), [this] { Assign(); });
  }
  Show();
  loans_.OnShown(now());
}

// Saves, too: the agent does so a moment later.
void DayAgent::Show() {
  world_.kubelet.SetList(assignment_->resources);
  world_.saved.assignment = *assignment_;
  world_.saved.fields.clear();
  loans_.Save(world_.saved.fields);
  sharing_.Save(world_.saved.fields);
  world_.saved_config = world_.config;
  world_.saved_faults = monitor_.overview().open;
}

void DayAgent::Drain() {
  for (int i = 0; i < 2; ++i) {  // an answer may ask the disk again
    const bool is_taken =
        disk_.Post([this]() -> sys::DiskWorker::Done { return [this] { world_.io->Quit(); }; },
                   [](const Status& /*status*/) {});
    EXPECT_TRUE(is_taken);
    world_.io->Run();
  }
}

http::Response DayAgent::Ask(const std::string& method, const std::string& target,
                             const std::string& body) {
  http::Request request{.method = method, .target = target, .body = body};
  EXPECT_OK(http::SplitTarget(request));
  std::optional<http::Response> answer;
  EXPECT_TRUE(loans_.Answer(request, [&](http::Response sent) { answer = std::move(sent); }));
  for (int i = 0; i < 5 && !answer; ++i) {
    Drain();
  }
  EXPECT_TRUE(answer.has_value()) << method << " " << target;
  return answer.value_or(http::Response{});
}

}  // namespace kgpu::soak
