// What makes a GPU unhealthy and when it may be trusted again. Pure: time is an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/device/gpu.h"

namespace kgpu::inventory {

// Whether an XID speaks against the GPU, or only against the program that ran on it.
struct XidVerdict {
  bool is_fault = false;
  std::string message;  // one sentence, with the mend
};
// Source: NVIDIA's XID catalogue. Codes that are not known count as faults.
XidVerdict JudgeXid(uint64_t xid);

// Faults of GPUs and of parts of them, kept until a later look at the GPU finds it well. A fault is
// forgotten only after `hold_down` without news and a full read in which every call succeeded.
// Lives on the loop's thread.
class HealthBook {
 public:
  explicit HealthBook(std::chrono::nanoseconds hold_down) : hold_down_(hold_down) {}

  // Something happened to the GPU, or, with `gpu_instance`, to a part of it only. The newest event
  // gives the reason.
  void NoteEvent(const device::GpuUuid& gpu, std::optional<unsigned> gpu_instance,
                 device::Health fault, SteadyTime now);
  // A read of the GPU did not go well. A reason that is there already is kept: it is the cause.
  void NoteBadRead(const device::GpuUuid& gpu, device::Health fault, SteadyTime now);
  // A full read that began at `begun` went well.
  void NoteGoodRead(const device::GpuUuid& gpu, SteadyTime begun);
  void Forget(const device::GpuUuid& gpu) { faults_.erase(gpu); }

  void SetHoldDown(std::chrono::nanoseconds hold_down) { hold_down_ = hold_down; }

  // Sets the health of the GPU and of its MIG devices.
  void Apply(device::Gpu& gpu) const;
  // When a read can clear the next fault; nothing when all are well.
  std::optional<SteadyTime> NextCheck() const;

 private:
  struct Fault {
    std::optional<unsigned> gpu_instance;  // nullopt: the whole GPU
    device::Health health;
    SteadyTime last_seen;
  };
  using Faults = std::vector<Fault>;

  static Fault* Find(Faults& faults, std::optional<unsigned> gpu_instance);

  std::chrono::nanoseconds hold_down_;
  std::map<device::GpuUuid, Faults> faults_;
};

}  // namespace kgpu::inventory
