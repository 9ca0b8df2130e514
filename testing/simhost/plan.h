// The desired tree of a simulated host. Each function adds one kind of files;
// docs/how-it-works/simulated-driver.md shows the result. All are pure: nothing is read or written.
#pragma once

#include <string>
#include <vector>

#include "testing/simhost/elf_writer.h"
#include "testing/simhost/host_view.h"
#include "testing/simhost/ld_cache_writer.h"
#include "testing/simhost/tree.h"

namespace kgpu::simhost {

// The whole tree.
Tree PlanTree(const HostView& host);

// /dev: device nodes, /dev/char and /dev/dri links.
void PlanDeviceNodes(const HostView& host, Tree& tree);
// /proc: devices, modules, cmdline, driver/nvidia and its capabilities.
void PlanProc(const HostView& host, Tree& tree);
// /lib/modules of the kernel: its own modules, the driver's if one is installed, headers.
void PlanModules(const HostView& host, Tree& tree);
// /sys: PCI devices and bridges, modules, NUMA nodes.
void PlanSysfs(const HostView& host, Tree& tree);
// Driver libraries in the distribution's folders; adds to `cache` what ld.so's cache must
// list.
void PlanLibraries(const HostView& host, Tree& tree, std::vector<LdCacheEntry>& cache);
// Driver programs, firmware and configuration files (ICDs and their like).
void PlanPrograms(const HostView& host, Tree& tree);
// The distribution itself: os-release, merged-usr links, a C library, ld.so.cache.
void PlanDistribution(const HostView& host, Tree& tree, std::vector<LdCacheEntry> cache);

// Library folder of the distribution ("usr/lib/x86_64-linux-gnu"), of 32-bit libraries if
// `is_32bit`.
std::string LibraryFolder(const HostView& host, bool is_32bit);
ElfMachine MachineOf(const HostView& host, bool is_32bit);

// A whole PCI configuration header with power management, MSI-X and PCI Express capabilities.
struct PciHeader {
  uint16_t vendor = 0;
  uint16_t device = 0;
  uint16_t subsystem_vendor = 0;
  uint16_t subsystem_device = 0;
  uint32_t class_code = 0;  // 24 bits: 0x030200
  uint8_t revision = 0xa1;
  bool is_bridge = false;
  unsigned generation = 4;
  unsigned width = 16;
};
std::string PciConfigSpace(const PciHeader& header);

}  // namespace kgpu::simhost
