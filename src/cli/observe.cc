#include "src/cli/observe.h"

#include <sys/signalfd.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <memory>
#include <utility>

#include "src/base/event_loop.h"
#include "src/base/status_macros.h"
#include "src/base/unique_fd.h"
#include "src/inventory/inventory.h"

namespace kgpu::cli {
namespace {

// SIGINT and SIGTERM as a descriptor; main has blocked them before any thread.
StatusOr<UniqueFd> StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) {
    return ErrnoStatus(errno, "block SIGINT and SIGTERM");
  }
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "make a signal descriptor");
  }
  return fd;
}

// A verb that ends with the first snapshot has no fault to hold a GPU down for.
constexpr std::chrono::milliseconds kNoFaultIsSeen{0};

}  // namespace

Status WatchSnapshots(const HostOptions& options, const host::DriverRoot& root,
                      std::chrono::milliseconds hold_down,
                      const std::function<bool(const device::SnapshotPtr&)>& on_change) {
  inventory::InventoryOptions inventory_options;
  ASSIGN_OR_RETURN(inventory_options.probe_path, FindProbe(options));
  inventory_options.nvml_library = options.nvml_library;
  inventory_options.hold_down = hold_down;
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const UniqueFd stop, StopSignals());
  ASSIGN_OR_RETURN(const WatchId watch, loop->WatchReadable(stop.get(), [&] { loop->Quit(); }));
  inventory::Inventory inventory(*loop, root, std::move(inventory_options));
  inventory.Start([&](const device::SnapshotPtr& snapshot) {
    if (!on_change(snapshot)) {
      loop->Quit();
    }
  });
  loop->Run();
  loop->Unwatch(watch);
  return OkStatus();
}

StatusOr<device::SnapshotPtr> TakeSnapshot(const HostOptions& options,
                                           const host::DriverRoot& root) {
  device::SnapshotPtr first;
  RETURN_IF_ERROR(
      WatchSnapshots(options, root, kNoFaultIsSeen, [&](const device::SnapshotPtr& snapshot) {
        first = snapshot;
        return false;
      }));
  if (!first) {
    return Unavailable("stopped by a signal before the GPUs were read");
  }
  return first;
}

}  // namespace kgpu::cli
