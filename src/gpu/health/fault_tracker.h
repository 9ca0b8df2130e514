// The faults of all GPUs: takes signs, tells what they mean for which device, and when a device may
// be trusted again. Pure but for its clock: nothing is asked, read or written.
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

// What a sign changed of what Apply says.
enum class Change : uint8_t {
  kNothing,
  kReason,   // a device that was unhealthy is so for another reason, or for one more
  kVerdict,  // a device turned unhealthy
};

// Owned by the inventory; lives on the loop's thread. A fault goes only after `hold_down` without
// events of it and then a full good read and, where GPUs are measured, a measurement that does not
// show it. However many signs come, memory, events and verdicts stay few.
class FaultTracker {
 public:
  // `clock` outlives the tracker. `listener` may be empty; it is called from the methods below and
  // must not call them.
  FaultTracker(const Clock& clock, Settings settings, HealthEventListener listener);
  FaultTracker(const FaultTracker&) = delete;
  FaultTracker& operator=(const FaultTracker&) = delete;

  // Counts for the faults of now, too.
  void SetSettings(Settings settings);
  const Settings& settings() const { return settings_; }

  // The GPUs that are shown. Those that are no more are forgotten, counters included.
  void SetGpus(std::span<const device::Gpu> gpus);
  // Something was seen.
  Change Note(const Sign& sign);
  // A full read of the GPU that began at `begun` went well; a measurement of it taken from `begun`
  // on was judged. True when what Apply says may have changed.
  bool NoteGoodRead(const device::GpuUuid& gpu, SteadyTime begun);
  bool NoteMeasured(const device::GpuUuid& gpu, SteadyTime begun);
  // False (as at first): no measurements are taken, so none is waited for.
  void SetMeasured(bool is_measured) { is_measured_ = is_measured; }
  // Ends every fault of the GPU, those that are held too. Errors: NotFound (no such GPU).
  Status Clear(const device::GpuUuid& gpu);
  // What was open when the agent ended, as if it were events.
  void Restore(const OpenFault& fault);

  // Sets the health of the GPU and of its MIG devices.
  void Apply(device::Gpu& gpu) const;
  // When a look can end the next fault; nothing when none can. Faults of a GPU that outlive a look
  // are due again after a pause: the hold-down, at least 1 s, then twice as long, at most 30 s.
  std::optional<SteadyTime> NextCheck() const;
  // The look that NextCheck asked for begins now.
  void NoteCheck();
  // A fault was found healthy by a read and only waits to be measured.
  bool AwaitsMeasurement() const;
  // When Notify is due to report signs that were only counted so far; nothing if there are none.
  std::optional<SteadyTime> NextEvent() const;
  void Notify();

  std::vector<OpenFault> Open() const;
  Counters counters() const;

 private:
  using Key = std::optional<device::GpuUuid>;  // nullopt: of a GPU that was not said

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
