// Tracks the faults of all GPUs: takes signs, says what they mean for which device, and when a
// device may be trusted again. Pure except for its clock: it queries, reads and writes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/device/ids.h"
#include "src/gpu/health/fault_record.h"
#include "src/gpu/health/health_event.h"
#include "src/gpu/health/rule.h"
#include "src/gpu/health/settings.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::health {

// How a sign changed the result of Apply.
enum class Change : uint8_t {
  kNothing,
  kReason,   // an unhealthy device has another reason now, or one more
  kVerdict,  // a device became unhealthy
};

// Owned by the inventory; lives on the loop's thread. A fault ends only after `hold_down` without
// its events, then a complete successful read and, if GPUs are measured, a measurement that does
// not show it. Memory, events and verdicts stay bounded, however many signs arrive.
class FaultTracker {
 public:
  // `clock` must outlive the tracker. `listener` may be empty; the methods below call it, and it
  // must not call them.
  FaultTracker(const Clock& clock, Settings settings, HealthEventListener listener);
  FaultTracker(const FaultTracker&) = delete;
  FaultTracker& operator=(const FaultTracker&) = delete;

  // Also applies to faults that are open now.
  void SetSettings(Settings settings);
  const Settings& settings() const { return settings_; }

  // Sets the GPUs that are shown. Forgets all others, with their counters.
  void SetGpus(std::span<const device::Gpu> gpus);
  // Records a sign.
  Change Note(const Sign& sign);
  // NoteGoodRead: a full read of the GPU that began at `begun` succeeded. NoteMeasured: a
  // measurement taken from `begun` on was judged. True if the result of Apply may have changed.
  bool NoteGoodRead(const device::GpuUuid& gpu, SteadyTime begun);
  bool NoteMeasured(const device::GpuUuid& gpu, SteadyTime begun);
  // False (the default): no measurements are taken, so do not wait for one.
  void SetMeasured(bool is_measured) { is_measured_ = is_measured; }
  // Ends every fault of the GPU, held ones included. Errors: NotFound (no such GPU).
  Status Clear(const device::GpuUuid& gpu);
  // Restores a fault that was open when the agent stopped.
  void Restore(const OpenFault& fault);

  // Sets the health of the GPU and of its MIG devices.
  void Apply(device::Gpu& gpu) const;
  // When a check could end the next fault; nothing if none could. If faults of a GPU survive a
  // check, the next is due after the hold-down (at least 1 s), then twice as long, up to 30 s.
  std::optional<SteadyTime> NextCheck() const;
  // The check that NextCheck asked for starts now.
  void NoteCheck();
  // Whether a fault only waits for a measurement, because a read has already succeeded.
  bool AwaitsMeasurement() const;
  // When Notify is due to report signs that were only counted so far; nothing if there are none.
  std::optional<SteadyTime> NextEvent() const;
  void Notify();

  std::vector<OpenFault> Open() const;
  Counters counters() const;

 private:
  using Key = std::optional<device::GpuUuid>;  // nullopt: of an unknown GPU

  Change NoteFor(const Key& key, const Sign& sign);
  bool IsEcho(GpuFaults& faults, const Key& key, uint64_t xid, Source source);
  static Change AddDetail(GpuFaults& faults, const Sign& sign);
  Change OpenRecord(const Key& key, GpuFaults& faults, const Sign& sign);
  void SeenAgain(const Key& key, FaultRecord& record, const Sign& sign);
  Change Raise(const Key& key, GpuFaults& faults, FaultRecord& record, bool is_its_own);
  static bool MakeRoom(std::vector<FaultRecord>& records);
  static bool IsVisible(const FaultRecord& record);
  bool IsOver(const GpuFaults& faults, const FaultRecord& record) const;
  bool TryClear(const device::GpuUuid& gpu, GpuFaults& faults);
  void Emit(HealthEventKind kind, const Key& key, const FaultRecord& record, uint64_t count) const;
  SteadyTime DueOf(const FaultRecord& record) const {
    return record.last_seen + settings_.hold_down;
  }
  std::chrono::nanoseconds FirstCheckPause() const;
  SteadyTime NextCheckOf(const GpuFaults& faults, const FaultRecord& record) const;

  const Clock& clock_;
  Settings settings_;
  HealthEventListener listener_;
  std::vector<device::GpuUuid> gpus_;
  std::map<Key, GpuFaults> faults_;
  uint64_t xids_of_unknown_gpu_ = 0;
  bool is_measured_ = false;
};

}  // namespace kgpu::health
