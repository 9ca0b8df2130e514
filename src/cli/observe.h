// Runs an inventory for the time of one verb.
#pragma once

#include <chrono>
#include <functional>

#include "src/base/status.h"
#include "src/cli/host_options.h"
#include "src/device/snapshot.h"

namespace kgpu::cli {

// The first complete snapshot of the host. A driver that does not answer is a snapshot with the
// reason, not an error. Errors: those of OpenRoots and FindProbe.
StatusOr<device::SnapshotPtr> TakeSnapshot(const HostOptions& options,
                                           const host::DriverRoot& root);

// Calls `on_change` with the first snapshot and every one after it until SIGINT or SIGTERM, or
// until it returns false. `hold_down`: see InventoryOptions. Errors: as TakeSnapshot.
Status WatchSnapshots(const HostOptions& options, const host::DriverRoot& root,
                      std::chrono::milliseconds hold_down,
                      const std::function<bool(const device::SnapshotPtr&)>& on_change);

}  // namespace kgpu::cli
