// Keeps the Snapshot of a host true: starts kgpu-probe, reads the GPUs through it, listens to its
// events, looks again slowly, and falls back to PCI and /proc when the driver does not answer.
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
  std::string nvml_library;  // empty: libnvidia-ml.so.1 is looked for below the driver root
  std::chrono::milliseconds call_deadline{2000};    // of one driver call
  std::chrono::milliseconds start_deadline{30000};  // of nvmlInit: a cold driver takes seconds
  std::chrono::milliseconds slow_poll{30000};       // full re-inventory without any event
  std::chrono::milliseconds quick_poll{1000};       // look at /proc for signs of a change
  std::chrono::milliseconds kill_grace{1000};       // after SIGKILL, then the probe is abandoned
  std::chrono::milliseconds first_backoff{100};     // doubles up to last_backoff
  std::chrono::milliseconds last_backoff{30000};
  health::Settings health{};
  std::vector<health::OpenFault> known_faults{};  // as if events of them came at the start
  std::optional<uint64_t> kernel_log_position{};  // where to continue in the kernel log
  // False where one snapshot is all that is wanted: device nodes and /proc are not watched, and
  // nothing is measured for health. Closing
  // an inotify descriptor alone waits several milliseconds for an RCU grace period.
  bool is_live = true;
  std::vector<std::string> probe_environment;  // all of it, as "NAME=value"
};

// Lives on the loop's thread. Never exits, never blocks: a missing or hung driver is a Snapshot
// with a reason, and is tried again for ever.
class Inventory {
 public:
  using Listener = std::function<void(const device::SnapshotPtr&)>;
  using SampleListener = std::function<void(const device::SampleSetPtr&)>;

  // `loop` and `root` outlive the inventory.
  Inventory(EventLoop& loop, const host::DriverRoot& root, InventoryOptions options);
  ~Inventory();
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  // Starts the probe and returns. `listener` is called on the loop for every published change,
  // the first time with the first complete snapshot (at the latest after start_deadline).
  void Start(Listener listener);
  // The newest snapshot; before the first one: version 0, driver state kStarting.
  device::SnapshotPtr current() const;
  // Looks again now instead of waiting for the slow poll.
  void Refresh();
  // Counts for the faults of now, too.
  void SetHealth(health::Settings settings);
  // Events of the GPUs' health, on the loop; set before Start. The snapshot follows it.
  void OnHealthEvent(health::HealthEventListener listener);
  health::Overview health() const;
  // Ends every fault of the GPU, held ones too, and looks again. Errors: NotFound.
  Status ClearHealth(const device::GpuUuid& gpu);

  // Measures all GPUs each `every`, the first time as soon as they are known; 0: never, as at the
  // start. May be called at any time.
  void SetSampling(std::chrono::milliseconds every);
  // `listener` is called on the loop after each round, and with a set of no GPUs when the driver
  // is shown as down. Set it before Start.
  void OnSample(SampleListener listener);
  // The newest round; null before the first one.
  device::SampleSetPtr samples() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::inventory
