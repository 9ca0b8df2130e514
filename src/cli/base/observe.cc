#include "src/cli/base/observe.h"

#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "src/cli/base/note.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/host/facts/facts.h"
#include "src/host/inspect/driver_facts.h"
#include "src/node/inventory/driver_status.h"
#include "src/node/inventory/inventory.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/signals.h"

namespace kgpu::cli {
namespace {

// How long the driver may be silent before a note says so.
constexpr std::chrono::milliseconds kSilence{2500};
// Rates need two rounds; GPM metrics are of no use over less than 100 ms.
constexpr std::chrono::milliseconds kBetweenRounds{250};

// Passes snapshots on, and the newest again when nothing came for a while.
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

using Starter = std::function<void(EpollLoop& loop, inventory::Inventory& inventory)>;
using Noter = std::function<void(std::string_view)>;

enum class End : uint8_t { kDone, kSignal };

// Runs an inventory, which `start` starts, until the loop is quit. A driver that is silent for long
// is reported to `note`, which may be empty.
StatusOr<End> RunInventory(const HostOptions& options, const host::DriverRoot& root,
                           const WatchOptions& watch, const Noter& note, const Starter& start) {
  inventory::InventoryOptions inventory_options;
  ASSIGN_OR_RETURN(inventory_options.probe_path, FindProbe(options));
  inventory_options.nvml_library = options.nvml_library;
  inventory_options.health.hold_down = watch.hold_down;
  inventory_options.is_live = watch.is_live;
  const sys::RestoredSignalMask restored;
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const UniqueFd stop, sys::TakeSignals({SIGINT, SIGTERM}));
  End end = End::kDone;
  ASSIGN_OR_RETURN(const WatchId stop_watch, loop->WatchReadable(stop.get(), [&] {
    (void)sys::NextSignal(
        stop.get());  // taken: it must not end the process when the mask is restored
    end = End::kSignal;
    loop->Quit();
  }));
  inventory::Inventory inventory(*loop, root, std::move(inventory_options));
  const WallTime begun = loop->clock().WallNow();
  loop->After(kSilence, [&inventory, &note, begun] {
    if (note && inventory.current()->version == 0) {
      note(fmt::format("kgpu: {} Ctrl-C stops waiting.", inventory::ExplainSilence(begun)));
    }
  });
  start(*loop, inventory);
  loop->Run();
  loop->Unwatch(stop_watch);
  return end;
}

Noter NoteOn(Progress& progress) {
  return [&progress](std::string_view text) { progress.Note(text); };
}

}  // namespace

Status WatchSnapshots(const HostOptions& options, const host::DriverRoot& root,
                      const WatchOptions& watch,
                      const std::function<bool(const device::SnapshotPtr&)>& on_snapshot) {
  std::optional<Repeater> repeater;
  return RunInventory(options, root, watch, &PrintNote,
                      [&](EpollLoop& loop, inventory::Inventory& inventory) {
                        repeater.emplace(loop, watch.repeat, on_snapshot);
                        inventory.Start([&](const device::SnapshotPtr& snapshot) {
                          repeater->Deliver(snapshot);
                        });
                      })
      .status();
}

StatusOr<device::SnapshotPtr> TakeSnapshot(const HostOptions& options,
                                           const host::DriverRoot& root) {
  Progress progress("asking the driver");
  device::SnapshotPtr first;
  const auto start = [&](EpollLoop& loop, inventory::Inventory& inventory) {
    inventory.Start([&](const device::SnapshotPtr& snapshot) {
      first = snapshot;
      loop.Quit();
    });
  };
  RETURN_IF_ERROR(
      RunInventory(options, root, {.is_live = false}, NoteOn(progress), start).status());
  if (!first) {
    return Unavailable("interrupted by a signal before the GPUs were read");
  }
  return first;
}

StatusOr<Observation> TakeObservation(const HostOptions& options, const host::DriverRoot& root) {
  Progress progress("asking the driver");
  Observation observation;
  const auto start = [&](EpollLoop& loop, inventory::Inventory& inventory) {
    inventory.SetSampling(kBetweenRounds);
    inventory.OnSample([&](const device::SampleSetPtr& samples) {
      const bool is_second = observation.samples != nullptr;
      observation.samples = samples;
      if (samples->is_complete || is_second) {
        loop.Quit();
      }
    });
    inventory.Start([&](const device::SnapshotPtr& snapshot) {
      observation.snapshot = snapshot;
      if (snapshot->driver.state != device::DriverState::kReady) {
        loop.Quit();
      }
    });
  };
  ASSIGN_OR_RETURN(const End end,
                   RunInventory(options, root, {.is_live = false}, NoteOn(progress), start));
  if (end == End::kSignal) {
    return Unavailable("interrupted by a signal before the GPUs were {}",
                       observation.snapshot ? "measured" : "read");
  }
  return observation;
}

StatusOr<TimedObservation> TakeObservationWithin(const HostOptions& options,
                                                 const host::DriverRoot& root,
                                                 std::chrono::milliseconds deadline) {
  TimedObservation timed;
  device::SnapshotPtr& snapshot = timed.observation.snapshot;
  const auto start = [&](EpollLoop& loop, inventory::Inventory& inventory) {
    loop.After(deadline, [&timed, &loop] {
      timed.is_late = true;
      loop.Quit();
    });
    inventory.SetSampling(kBetweenRounds);
    inventory.OnSample([&](const device::SampleSetPtr& samples) {
      timed.observation.samples = samples;
      loop.Quit();
    });
    inventory.Start([&](const device::SnapshotPtr& now) {
      snapshot = now;
      if (snapshot->driver.state != device::DriverState::kReady || snapshot->gpus.empty()) {
        loop.Quit();
      }
    });
  };
  // Who sets a deadline reports the silence itself.
  ASSIGN_OR_RETURN(const End end, RunInventory(options, root, {.is_live = false}, {}, start));
  if (end == End::kSignal) {
    return Unavailable("interrupted by a signal before the GPUs were {}",
                       snapshot ? "measured" : "read");
  }
  return timed;
}

// Both are given up long after kSilence.
bool IsDriverSilent(const device::Driver& driver) {
  return driver.state == device::DriverState::kStarting ||
         driver.state == device::DriverState::kUnresponsive;
}

void NoteSilentDriver(std::string_view command, const device::Driver& driver) {
  if (driver.state != device::DriverState::kReady && !IsDriverSilent(driver)) {
    PrintNote(fmt::format("{}: {}", command, driver.reason));
  }
}

void NoteCudaObstacles(std::string_view command, const HostOptions& options) {
  const StatusOr<host::DriverRoot> root = OpenRoots(options);
  if (!root.ok()) {
    return;
  }
  const std::optional<host::DriverRoot> other = host::FindOtherRoot(*root);
  PrintNotes(host::CudaObstacles(host::ReadDriverFacts(other ? *other : *root)),
             fmt::format("{}: ", command));
}

}  // namespace kgpu::cli
