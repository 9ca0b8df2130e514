// Runs an inventory for the duration of one command.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "src/cli/base/host_options.h"
#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// The first complete snapshot of the host. If the driver does not answer, the snapshot has the
// reason; that is no error. Errors: those of OpenRoots and FindProbe; Unavailable (interrupted by a
// signal).
StatusOr<device::SnapshotPtr> TakeSnapshot(const HostOptions& options,
                                           const host::DriverRoot& root);

struct Observation {
  device::SnapshotPtr snapshot;
  device::SampleSetPtr samples;  // null if the driver does not answer
};

// The first complete snapshot and its GPUs' measurements. If a value is a rate between two rounds,
// waits for the second (250 ms). Errors: as TakeSnapshot.
StatusOr<Observation> TakeObservation(const HostOptions& options, const host::DriverRoot& root);

struct TimedObservation {
  Observation observation;  // what came before the deadline; without rates between two rounds
  bool is_late = false;     // the driver's answer was incomplete at the deadline
};

// As TakeObservation, but waits at most `deadline` for the driver. Errors: as TakeSnapshot.
StatusOr<TimedObservation> TakeObservationWithin(const HostOptions& options,
                                                 const host::DriverRoot& root,
                                                 std::chrono::milliseconds deadline);

// Whether the command waited for the driver in vain; a note on standard error said so meanwhile.
bool IsDriverSilent(const device::Driver& driver);

// Says on standard error, in the name of `command`, why little is known of the GPUs; says nothing
// about a driver that does not answer, which was reported already.
void NoteSilentDriver(std::string_view command, const device::Driver& driver);

// Says on standard error what programs with CUDA lack on the host although its driver answers: see
// host::CudaObstacles.
void NoteCudaObstacles(std::string_view command, const HostOptions& options);

struct WatchOptions {
  std::chrono::milliseconds hold_down{60'000};  // see InventoryOptions
  // Calls again with the newest snapshot if it has not changed for this long; 0: never.
  std::chrono::milliseconds repeat{0};
  bool is_live = true;  // see InventoryOptions
};

// Calls `on_snapshot` with the first snapshot and all later ones until SIGINT or SIGTERM, or until
// it returns false. Errors: those of OpenRoots and FindProbe.
Status WatchSnapshots(const HostOptions& options, const host::DriverRoot& root,
                      const WatchOptions& watch,
                      const std::function<bool(const device::SnapshotPtr&)>& on_snapshot);

}  // namespace kgpu::cli
