#include "src/cli/observe.h"

#include <csignal>
#include <memory>
#include <utility>

#include "src/cli/signals.h"
#include "src/node/inventory/inventory.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::cli {
namespace {

// Rates need two rounds; GPM metrics are of no use over less than 100 ms.
constexpr std::chrono::milliseconds kBetweenRounds{250};

// Hands snapshots on, and the newest again when nothing came for a while.
class Repeater {
 public:
  using Listener = std::function<bool(const device::SnapshotPtr&)>;

  Repeater(EpollLoop& loop, std::chrono::milliseconds repeat, const Listener& listener)
      : loop_(loop), repeat_(repeat), listener_(listener) {}

  void Deliver(const device::SnapshotPtr& snapshot) {
    loop_.CancelTimer(timer_);
    if (!listener_(snapshot)) {
      loop_.Quit();
    } else if (repeat_ > std::chrono::milliseconds(0)) {
      timer_ = loop_.After(repeat_, [this, snapshot] { Deliver(snapshot); });
    }
  }

 private:
  EpollLoop& loop_;
  std::chrono::milliseconds repeat_;
  const Listener& listener_;
  TimerId timer_ = TimerId::kNone;
};

StatusOr<inventory::InventoryOptions> InventoryOptionsOf(const HostOptions& options) {
  inventory::InventoryOptions inventory_options;
  ASSIGN_OR_RETURN(inventory_options.probe_path, FindProbe(options));
  inventory_options.nvml_library = options.nvml_library;
  return inventory_options;
}

}  // namespace

Status WatchSnapshots(const HostOptions& options, const host::DriverRoot& root,
                      const WatchOptions& watch,
                      const std::function<bool(const device::SnapshotPtr&)>& on_snapshot) {
  ASSIGN_OR_RETURN(inventory::InventoryOptions inventory_options, InventoryOptionsOf(options));
  inventory_options.health.hold_down = watch.hold_down;
  inventory_options.is_live = watch.is_live;
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const UniqueFd stop, TakeSignals({SIGINT, SIGTERM}));
  ASSIGN_OR_RETURN(const WatchId stop_watch,
                   loop->WatchReadable(stop.get(), [&] { loop->Quit(); }));
  Repeater repeater(*loop, watch.repeat, on_snapshot);
  inventory::Inventory inventory(*loop, root, std::move(inventory_options));
  inventory.Start([&](const device::SnapshotPtr& snapshot) { repeater.Deliver(snapshot); });
  loop->Run();
  loop->Unwatch(stop_watch);
  return OkStatus();
}

StatusOr<device::SnapshotPtr> TakeSnapshot(const HostOptions& options,
                                           const host::DriverRoot& root) {
  device::SnapshotPtr first;
  const WatchOptions once{.is_live = false};
  RETURN_IF_ERROR(WatchSnapshots(options, root, once, [&](const device::SnapshotPtr& snapshot) {
    first = snapshot;
    return false;
  }));
  if (!first) {
    return Unavailable("stopped by a signal before the GPUs were read");
  }
  return first;
}

StatusOr<Observation> TakeObservation(const HostOptions& options, const host::DriverRoot& root) {
  ASSIGN_OR_RETURN(inventory::InventoryOptions inventory_options, InventoryOptionsOf(options));
  inventory_options.is_live = false;
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const UniqueFd stop, TakeSignals({SIGINT, SIGTERM}));
  ASSIGN_OR_RETURN(const WatchId stop_watch,
                   loop->WatchReadable(stop.get(), [&] { loop->Quit(); }));
  Observation observation;
  inventory::Inventory inventory(*loop, root, std::move(inventory_options));
  inventory.SetSampling(kBetweenRounds);
  inventory.OnSample([&](const device::SampleSetPtr& samples) {
    const bool is_second = observation.samples != nullptr;
    observation.samples = samples;
    if (samples->is_complete || is_second) {
      loop->Quit();
    }
  });
  inventory.Start([&](const device::SnapshotPtr& snapshot) {
    observation.snapshot = snapshot;
    if (snapshot->driver.state != device::DriverState::kReady) {
      loop->Quit();
    }
  });
  loop->Run();
  loop->Unwatch(stop_watch);
  if (!observation.snapshot) {
    return Unavailable("stopped by a signal before the GPUs were read");
  }
  return observation;
}

}  // namespace kgpu::cli
