// The ids of a PCI function from its uevent file, which has all of them in one place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kgpu::features {

// Four lower-case hexadecimal digits each, like the sysfs attributes of the same names.
struct PciIds {
  std::string pci_class;  // without the programming interface
  std::string vendor;
  std::string device;
  std::string subsystem_vendor;
  std::string subsystem_device;
  bool operator==(const PciIds&) const = default;
};

// Nothing if one of them is missing or is no number. Source: pci_uevent() of the kernel:
// "PCI_CLASS=30200\nPCI_ID=10DE:20B0\nPCI_SUBSYS_ID=…".
std::optional<PciIds> ParsePciUevent(std::string_view text);

}  // namespace kgpu::features
