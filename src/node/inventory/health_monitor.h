// Passes what is reported and measured about GPUs to the fault tracker, and its verdicts and events
// to the inventory: the one place that joins health with time, the probe and the kernel log.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/device/sample.h"
#include "src/gpu/health/fault_tracker.h"
#include "src/gpu/health/health_event.h"
#include "src/gpu/health/kernel_log.h"
#include "src/gpu/health/measures.h"
#include "src/gpu/health/settings.h"
#include "src/gpu/probe/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/root.h"

namespace kgpu::inventory {

// Owned by the inventory, lives on the loop's thread.
class HealthMonitor {
 public:
  // Requests to its owner; called on the loop.
  struct Callbacks {
    std::function<void()> show;          // the result of Apply may have changed
    std::function<void()> look;          // read every GPU now: a fault may be over
    std::function<void()> look_closely;  // a fault was just raised: read its effects
    std::function<void()> measure;       // take samples now
  };

  // `loop` and `host` must outlive the monitor.
  HealthMonitor(EventLoop& loop, const sys::Root& host, health::Settings settings,
                Callbacks callbacks);
  ~HealthMonitor();
  HealthMonitor(const HealthMonitor&) = delete;
  HealthMonitor& operator=(const HealthMonitor&) = delete;

  void SetListener(health::HealthEventListener listener) { listener_ = std::move(listener); }
  // Starts to follow the kernel log, if configured; from `kernel_log` on, the position that an
  // earlier agent reached in this boot.
  void Start(const std::vector<health::OpenFault>& known, std::optional<uint64_t> kernel_log = {});
  void SetSettings(health::Settings settings);
  const health::Settings& settings() const { return tracker_.settings(); }

  // The GPUs that are shown, as just read.
  void SetGpus(const std::vector<device::Gpu>& gpus);
  // False: the event is about something else.
  bool OnEvent(const probe::Event& event);
  void NoteBadRead(const device::GpuUuid& gpu, const device::Health& fault);
  void NoteGoodRead(const device::GpuUuid& gpu, SteadyTime begun);
  // The driver is unavailable; `reason` is for people.
  void OnDown(const probe::Down& down, std::string_view reason);
  void OnSamples(const device::SampleSet& set);
  // No measurements are taken from now on.
  void StopMeasuring() { tracker_.SetMeasured(false); }

  void Apply(device::Gpu& gpu) const { tracker_.Apply(gpu); }
  // Schedules the check that may end the next fault; call it after each read.
  void ArmCheck();
  Status Clear(const device::GpuUuid& gpu);
  health::Overview overview() const;

 private:
  void Note(const health::Sign& sign);
  void OnKernelFault(const health::KernelFault& fault);
  void KeepForLater(const health::KernelFault& fault);
  void Measure();
  void MeasureNow();
  void CheckAt(std::optional<SteadyTime> time);
  void Show();
  void ShowSoon();
  void ArmEvents();

  EventLoop& loop_;
  Callbacks callbacks_;
  health::HealthEventListener listener_;
  health::FaultTracker tracker_;
  health::Measures measures_;
  health::KernelLog kernel_log_;
  bool is_started_ = false;
  std::vector<device::Gpu> gpus_;  // known; for their PCI addresses
  // What the kernel logged before any GPU was known: a driver that hangs while it starts logs the
  // most useful lines then.
  struct Early {
    health::KernelFault fault;
    std::string text;
  };
  std::vector<Early> early_;
  std::optional<uint64_t> position_before_early_;
  SteadyTime shown_at_{};
  Timer show_timer_{loop_};
  Timer check_timer_{loop_};
  Timer events_timer_{loop_};
  SteadyTime events_due_{};
  Timer measure_timer_{loop_};
  SteadyTime measured_at_{};  // when it was requested
};

}  // namespace kgpu::inventory
