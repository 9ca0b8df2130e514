// NVIDIA's devices on the PCI bus as the kernel lists them, without NVIDIA's driver. Source:
// /sys/bus/pci/devices (Documentation/ABI/testing/sysfs-bus-pci), PCI Local Bus 3.0 §6.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

inline constexpr uint16_t kNvidiaPciVendor = 0x10de;

struct PciDevice {
  device::PciBusId id;
  uint32_t class_code = 0;  // base class, subclass, programming interface: 0x030200
  uint16_t vendor_id = 0;
  uint16_t device_id = 0;
  uint16_t subsystem_vendor_id = 0;
  uint16_t subsystem_device_id = 0;
  std::optional<unsigned> numa_node;  // nullopt: a single node, or unknown
  std::string kernel_driver;          // bound driver: "nvidia", "vfio-pci"; empty for none
  std::string driver_module;          // that provides it: "nova_core"; empty: built in, or unknown
  std::vector<Bytes> bar_sizes;       // BAR 0 … 5 without empty ones; empty if unreadable
  std::string problem;                // what could not be read of this device; empty: all was read
  bool is_off_bus = false;            // its configuration space reads as all ones: see `problem`
  bool operator==(const PciDevice&) const = default;

  bool is_gpu() const { return (class_code >> 8) == 0x0300 || (class_code >> 8) == 0x0302; }
  bool is_nvswitch() const { return (class_code >> 8) == 0x0680; }
};

// "vga", "3d-controller", "bridge", or "0x0403" for a class that we have no name for.
std::string PciClassName(uint32_t class_code);

// The first 64 bytes of a function's configuration space.
struct PciConfig {
  uint16_t vendor_id = 0;
  uint16_t device_id = 0;
  uint32_t class_code = 0;
  uint16_t subsystem_vendor_id = 0;  // type 0 headers only
  uint16_t subsystem_device_id = 0;
};
// Errors: InvalidArgument (too short, or all ones: the function is off the bus).
StatusOr<PciConfig> ParsePciConfig(std::string_view bytes);

// Sizes of the regions in a sysfs `resource` file: lines of "start end flags", of which the first
// six are the BARs. Skips lines that are no region.
std::vector<Bytes> ParsePciResources(std::string_view text);

// All functions of vendor 0x10de that are GPUs or NVSwitches, by address. A device that cannot be
// read completely is listed with its `problem`; it never hides another one. Errors: those of
// listing /sys/bus/pci/devices (NotFound: no PCI bus or no sysfs).
StatusOr<std::vector<PciDevice>> ScanNvidiaPci(const sys::Root& host);

}  // namespace kgpu::host
