// Keeps the Snapshot of a host up to date: starts kgpu-probe, reads the GPUs through it, listens to
// its events, polls slowly, and falls back to PCI and /proc if the driver does not answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/health_event.h"
#include "src/gpu/health/settings.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::inventory {

struct InventoryOptions {
  std::string probe_path;    // the kgpu-probe program
  std::string nvml_library;  // empty: search for libnvidia-ml.so.1 below the driver root
  std::chrono::milliseconds call_deadline{2000};    // per driver call
  std::chrono::milliseconds start_deadline{30000};  // for nvmlInit: a cold driver takes seconds
  std::chrono::milliseconds slow_poll{30000};       // full read even without any event
  std::chrono::milliseconds quick_poll{2000};       // check /proc for signs of a change
  std::chrono::milliseconds kill_grace{1000};       // after SIGKILL; then the probe is abandoned
  std::chrono::milliseconds first_backoff{100};     // doubles up to last_backoff
  std::chrono::milliseconds last_backoff{30000};
  health::Settings health{};
  std::vector<health::OpenFault> known_faults{};  // treated as if their events came at the start
  std::optional<uint64_t> kernel_log_position{};  // where to continue in the kernel log
  // False if one snapshot is enough: does not watch device nodes and /proc, and does not measure
  // health. Closing an inotify descriptor alone takes several milliseconds, for an RCU grace
  // period.
  bool is_live = true;
  std::vector<std::string> probe_environment;  // all of it, as "NAME=value"
};

// Lives on the loop's thread. Never exits, never blocks: a missing or hung driver is a Snapshot
// with a reason, and is retried forever.
class Inventory {
 public:
  using Listener = std::function<void(const device::SnapshotPtr&)>;
  using SampleListener = std::function<void(const device::SampleSetPtr&)>;

  // `loop` and `root` must outlive the inventory.
  Inventory(EventLoop& loop, const host::DriverRoot& root, InventoryOptions options);
  ~Inventory();
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  // Starts the probe and returns. Calls `listener` on the loop for every published change, first
  // for the first complete snapshot (at the latest after start_deadline).
  void Start(Listener listener);
  // The newest snapshot; before the first one, version 0 and driver state kStarting.
  device::SnapshotPtr current() const;
  // Reads again now instead of waiting for the slow poll. Calls `done`, if there is one, on the
  // loop after a reading that began later than this call: while the driver does not answer, that
  // waits.
  void Refresh(std::function<void()> done = nullptr);
  // Closes all GPUs, for one that is to be reset: until Resume nothing is read, and the snapshot
  // stays as it is. Calls `released` on the loop once they are closed, unless Resume comes first.
  void Pause(std::function<void()> released);
  void Resume();
  // For the end: see sys::Inotify::RemoveWatches.
  void StopWatching();
  // Also applies to faults that are open now.
  void SetHealth(health::Settings settings);
  // Health events of the GPUs, on the loop; set it before Start. The snapshot follows each event.
  void OnHealthEvent(health::HealthEventListener listener);
  health::Overview health() const;
  // Ends every fault of the GPU, including held ones, and reads again. Errors: NotFound.
  Status ClearHealth(const device::GpuUuid& gpu);

  // Measures all GPUs every `every`, starting as soon as they are known; 0: never, which is the
  // default. Can be called at any time.
  void SetSampling(std::chrono::milliseconds every);
  // Calls `listener` on the loop after each round, and with a set of no GPUs when the driver is
  // shown as down. Set it before Start.
  void OnSample(SampleListener listener);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::inventory
