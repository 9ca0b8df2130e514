// Builds the snapshot's GPUs from the driver's answers: pure functions. Tested without a probe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/host/inspect/pci.h"
#include "src/node/inventory/reading.h"
#include "src/platform/sys/root.h"

namespace kgpu::inventory {

// What the host shows without the driver's library.
struct HostView {
  bool is_pci_readable = false;  // false: `pci` is meaningless
  std::vector<host::PciDevice> pci;
  std::vector<device::CompanionNode> companions;
  bool Shows(const device::PciBusId& id) const;
  const host::PciDevice* Find(const device::PciBusId& id) const;
};
HostView ReadHostView(const sys::Root& host);

// GPUs that the driver listed, without health, and the faults of some of them.
struct Listed {
  std::vector<device::Gpu> gpus;                     // sorted by PCI address
  std::map<device::GpuUuid, device::Health> faults;  // of those with failed answers
  std::map<unsigned, device::Health> hung;           // by NVML index: left out, without a name
  unsigned unnamed_lost = 0;                         // reported lost without a name
  // The driver's answer for GPUs that it refuses without naming them, for people; empty: there are
  // none, or their answers differ.
  std::string refusal;
};

// Leaves out GPUs that cannot even be named (lost before we saw them). Reads minors that the driver
// does not report, and MIG capabilities, from `host`.
Listed ListGpus(const Reading& reading, const HostView& view, const sys::Root& host);

// The GPUs to show: those listed, and known ones that the driver no longer lists but PCI still
// shows, unchanged, with a fault added to `listed.faults`. Sorted by PCI address.
std::vector<device::Gpu> MergeKnown(const std::vector<device::Gpu>& known, Listed& listed,
                                    const HostView& view);

// Why the driver shows no more GPUs than it does.
struct Obstacle {
  std::string verdict{};  // explains the driver's state; empty if it is ready
  std::string refusal{};  // Listed::refusal
};

// The GPUs on PCI that are not among `gpus`, with the reason.
std::vector<device::UnmanagedGpu> Unmanaged(const HostView& view,
                                            const std::vector<device::Gpu>& gpus,
                                            const Obstacle& obstacle, const sys::Root& host);

// A GPU's minor according to the kernel module. Source:
// /proc/driver/nvidia/gpus/<address>/information, "Device Minor:".
std::optional<unsigned> MinorFromProc(const sys::Root& host, const device::PciBusId& id);

// For each GPU, what determines whether the driver can list it: its address, its kernel driver, its
// node.
std::set<std::string> Fingerprints(const HostView& view, const sys::Root& host);

}  // namespace kgpu::inventory
