// Runs an inventory for the time of one command.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "src/cli/host_options.h"
#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// The first complete snapshot of the host. A driver that does not answer is a snapshot with the
// reason, not an error. Errors: those of OpenRoots and FindProbe.
StatusOr<device::SnapshotPtr> TakeSnapshot(const HostOptions& options,
                                           const host::DriverRoot& root);

struct Observation {
  device::SnapshotPtr snapshot;
  device::SampleSetPtr samples;  // null when the driver does not answer
};

// The first complete snapshot and what its GPUs measure. Where a value is a rate between two
// rounds, the second is waited for (250 ms). Errors: as TakeSnapshot.
StatusOr<Observation> TakeObservation(const HostOptions& options, const host::DriverRoot& root);

struct TimedObservation {
  Observation observation;  // what came before the deadline; a rate between two rounds is absent
  bool is_late = false;     // the driver's answer was not complete by then
};

// As TakeObservation, with at most `deadline` for the driver. Errors: as TakeSnapshot.
StatusOr<TimedObservation> TakeObservationWithin(const HostOptions& options,
                                                 const host::DriverRoot& root,
                                                 std::chrono::milliseconds deadline);

// Says on standard error, in the name of `command`, why little is known of the GPUs. Whoever waited
// for a driver that hangs has been told of that while waiting, and is not told again.
void NoteSilentDriver(std::string_view command, const device::Driver& driver);

struct WatchOptions {
  std::chrono::milliseconds hold_down{60'000};  // see InventoryOptions
  // Calls again with the newest snapshot when it has not changed for so long; 0: never.
  std::chrono::milliseconds repeat{0};
  bool is_live = true;  // see InventoryOptions
};

// Calls `on_snapshot` with the first snapshot and every one after it until SIGINT or SIGTERM, or
// until it returns false. Errors: as TakeSnapshot.
Status WatchSnapshots(const HostOptions& options, const host::DriverRoot& root,
                      const WatchOptions& watch,
                      const std::function<bool(const device::SnapshotPtr&)>& on_snapshot);

}  // namespace kgpu::cli
