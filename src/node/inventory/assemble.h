// From answers to values: pure functions that build the snapshot's GPUs. Tested without a probe.
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
  bool is_pci_readable = false;  // false: `pci` says nothing of what is there
  std::vector<host::PciDevice> pci;
  std::vector<device::CompanionNode> companions;
  bool Shows(const device::PciBusId& id) const;
  const host::PciDevice* Find(const device::PciBusId& id) const;
};
HostView ReadHostView(const sys::Root& host);

// GPUs the driver listed, with every health unset, and what is wrong with some of them.
struct Listed {
  std::vector<device::Gpu> gpus;                     // sorted by PCI address
  std::map<device::GpuUuid, device::Health> faults;  // of those that did not answer well
  unsigned unnamed_lost = 0;  // that the driver reports as lost and does not name
};

// GPUs that cannot even be named (lost before we saw them) are left out. `host` is read for
// minors that the driver does not report and for MIG capabilities.
Listed ListGpus(const Reading& reading, const HostView& view, const sys::Root& host);

// The GPUs to show: those listed; those known before that the driver no longer lists and PCI still
// shows, as they were, with a fault added to `listed.faults`. Sorted by PCI address.
std::vector<device::Gpu> MergeKnown(const std::vector<device::Gpu>& known, Listed& listed,
                                    const HostView& view);

// The GPUs of PCI that are not among `gpus`, with the reason. `verdict_reason` explains the driver
// as a whole; empty when it is ready.
std::vector<device::UnmanagedGpu> Unmanaged(const HostView& view,
                                            const std::vector<device::Gpu>& gpus,
                                            const std::string& verdict_reason,
                                            const sys::Root& host);

// The minor of a GPU as the kernel module tells it. Source:
// /proc/driver/nvidia/gpus/<address>/information, "Device Minor:".
std::optional<unsigned> MinorFromProc(const sys::Root& host, const device::PciBusId& id);

// What of each GPU decides whether the driver can list it: its address, its kernel driver, its
// node.
std::set<std::string> Fingerprints(const HostView& view, const sys::Root& host);

}  // namespace kgpu::inventory
