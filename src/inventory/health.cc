#include "src/inventory/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace kgpu::inventory {
namespace {

struct XidEntry {
  uint64_t xid;
  bool is_fault;
  std::string_view text;
};

// Sorted. What is not here is a fault with a general text.
constexpr std::array kXids = {
    XidEntry{13, false, "graphics engine exception of a program"},
    XidEntry{31, false, "memory page fault of a program"},
    XidEntry{43, false, "a program stopped on the GPU"},
    XidEntry{45, false, "preemptive clean-up after a program"},
    XidEntry{48, true, "double-bit ECC error: drain the node and reset the GPU"},
    XidEntry{62, true, "internal micro-controller halt: reset the GPU"},
    XidEntry{63, true, "a memory row is to be remapped: reset the GPU at the next occasion"},
    XidEntry{64, true,
             "remapping a memory row did not work: reset the GPU, replace it if it recurs"},
    XidEntry{68, false, "video processor exception of a program"},
    XidEntry{74, true, "NVLink error: reset the GPU, check the fabric if it recurs"},
    XidEntry{79, true,
             "the GPU has fallen off the bus: restart the host, then check power and seat"},
    XidEntry{92, true, "high rate of single-bit ECC errors: watch it, replace the GPU if it lasts"},
    XidEntry{94, true, "contained ECC error: end the programs it hit and reset the GPU when idle"},
    XidEntry{95, true, "uncontained ECC error: drain the node and reset the GPU"},
    XidEntry{109, false, "context switch timeout of a program"},
    XidEntry{119, true, "the GPU's system processor (GSP) timed out: reset the GPU"},
    XidEntry{120, true, "error of the GPU's system processor (GSP): reset the GPU"},
};

}  // namespace

XidVerdict JudgeXid(uint64_t xid) {
  const auto* found = std::ranges::lower_bound(kXids, xid, {}, &XidEntry::xid);
  if (found != kXids.end() && found->xid == xid) {
    return {found->is_fault, fmt::format("XID {}: {}.", xid, found->text)};
  }
  return {true, fmt::format("XID {}: see NVIDIA's XID catalogue and dmesg; reset the GPU.", xid)};
}

HealthBook::Fault* HealthBook::Find(Faults& faults, std::optional<unsigned> gpu_instance) {
  const auto found = std::ranges::find(faults, gpu_instance, &Fault::gpu_instance);
  return found == faults.end() ? nullptr : &*found;
}

void HealthBook::NoteEvent(const device::GpuUuid& gpu, std::optional<unsigned> gpu_instance,
                           device::Health fault, SteadyTime now) {
  Faults& faults = faults_[gpu];
  if (Fault* known = Find(faults, gpu_instance)) {
    *known = {gpu_instance, std::move(fault), now};
    return;
  }
  faults.push_back({gpu_instance, std::move(fault), now});
}

void HealthBook::NoteBadRead(const device::GpuUuid& gpu, device::Health fault, SteadyTime now) {
  Faults& faults = faults_[gpu];
  if (Fault* known = Find(faults, std::nullopt)) {
    known->last_seen = now;
    return;
  }
  faults.push_back({std::nullopt, std::move(fault), now});
}

void HealthBook::NoteGoodRead(const device::GpuUuid& gpu, SteadyTime begun) {
  const auto found = faults_.find(gpu);
  if (found == faults_.end()) {
    return;
  }
  std::erase_if(found->second,
                [&](const Fault& fault) { return fault.last_seen + hold_down_ <= begun; });
  if (found->second.empty()) {
    faults_.erase(found);
  }
}

void HealthBook::Apply(device::Gpu& gpu) const {
  gpu.health = {};
  for (device::MigDevice& mig : gpu.mig_devices) {
    mig.health = {};
  }
  const auto found = faults_.find(gpu.uuid);
  if (found == faults_.end()) {
    return;
  }
  for (const Fault& fault : found->second) {
    if (!fault.gpu_instance) {
      gpu.health = fault.health;
    }
    for (device::MigDevice& mig : gpu.mig_devices) {
      // The fault of the whole GPU is the stronger one.
      if (!fault.gpu_instance ||
          (mig.gpu_instance == *fault.gpu_instance && mig.health.is_healthy)) {
        mig.health = fault.health;
      }
    }
  }
}

std::optional<SteadyTime> HealthBook::NextCheck() const {
  std::optional<SteadyTime> next;
  for (const auto& [gpu, faults] : faults_) {
    for (const Fault& fault : faults) {
      const SteadyTime due = fault.last_seen + hold_down_;
      next = next ? std::min(*next, due) : due;
    }
  }
  return next;
}

}  // namespace kgpu::inventory
