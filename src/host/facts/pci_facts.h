// GPUs and NVSwitches on a host's PCI bus, and the bridges above them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/facts/sight.h"
#include "src/host/inspect/pci.h"

namespace kgpu::host {

// A bridge between the root of the PCI tree and a GPU.
struct Bridge {
  std::string address;  // "0000:16:00.0"
  // Access Control Services; nothing: it has none, or could not be read.
  std::optional<uint16_t> acs_control;
  unsigned acs_offset = 0;  // of the control register in configuration space
  std::optional<uint64_t> link_width_max;
  bool operator==(const Bridge&) const = default;
};

struct GpuFacts {
  PciDevice pci;
  bool has_unplaced_bar = false;  // the firmware assigned no address to a region
  std::optional<uint64_t> link_width;
  std::optional<uint64_t> link_width_max;
  // Possible sizes of its memory window: bit n is 2^n MiB; nothing: the size is fixed.
  std::optional<uint64_t> window_sizes;
  std::optional<uint64_t> fatal_errors;  // from PCIe's advanced error reporting, since boot
  bool has_numa_answer = false;          // the kernel has a numa_node file for it
  std::string iommu_type;                // "DMA", "DMA-FQ", "identity"; empty: no IOMMU
  std::vector<Bridge> bridges;           // from the root downwards
  bool is_for_guests = false;            // reserved for virtual machines: see MarkGuestGpus
};

struct PciFacts {
  std::vector<GpuFacts> gpus;
  std::vector<PciDevice> nvswitches;
  size_t numa_nodes = 1;
  bool is_unreadable = false;  // the bus is unreadable: an empty list means nothing
};
PciFacts ReadPciFacts(Sight& sight);

// The settings in the ACS capability of a function's configuration space. Source: PCI Express Base
// 4.0 §7.7.8: extended capability 0x000d, control register 6 bytes into it.
struct AcsControl {
  unsigned offset = 0;
  uint16_t value = 0;
};
std::optional<AcsControl> FindAcsControl(std::string_view config);

// Sets GpuFacts::is_for_guests for cards bound to vfio-pci or the like, and for those without a
// driver that vfio-pci is configured to take.
void MarkGuestGpus(PciFacts& pci, const std::set<std::string>& guest_ids);
// "10de:20b5" from the kernel's command line and from an "options vfio-pci ids=…" line.
std::set<std::string> GuestIds(std::string_view text);

}  // namespace kgpu::host
