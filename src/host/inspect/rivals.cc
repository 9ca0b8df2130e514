#include "src/host/inspect/rivals.h"

#include <algorithm>

namespace kgpu::host {

const Rival* FindRival(std::string_view pci_driver) {
  const auto* found = std::ranges::find(kRivals, pci_driver, &Rival::pci_driver);
  return found == kRivals.end() ? nullptr : found;
}

bool IsForGuests(std::string_view pci_driver) {
  return pci_driver.find("vfio") != std::string_view::npos || pci_driver == "pciback" ||
         pci_driver == "xen-pciback" || pci_driver == "pci-stub";
}

std::string RivalInTheWay(std::string_view loaded, bool is_nvidia_live,
                          std::span<const PciDevice> pci) {
  for (const PciDevice& device : pci) {
    if (const Rival* rival = FindRival(device.kernel_driver); rival != nullptr && device.is_gpu()) {
      return std::string(rival->module);
    }
  }
  const bool may_stay = is_nvidia_live && loaded != kRivals.front().module;
  return may_stay ? std::string() : std::string(loaded);
}

std::string ModuleOfDriver(const PciDevice& gpu) {
  if (!gpu.driver_module.empty()) {
    return gpu.driver_module;
  }
  if (const Rival* rival = FindRival(gpu.kernel_driver)) {
    return std::string(rival->module);
  }
  std::string name = gpu.kernel_driver;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace kgpu::host
