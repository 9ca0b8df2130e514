// Cards that are not for this host but for its virtual machines.
#include <algorithm>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {
namespace {

// vfio-pci and the drivers built on it, Xen's pciback, and pci-stub of old.
bool IsForGuests(std::string_view driver) {
  return driver.find("vfio") != std::string_view::npos || driver == "pciback" ||
         driver == "xen-pciback" || driver == "pci-stub";
}

}  // namespace

std::set<std::string> GuestIds(std::string_view text) {
  std::set<std::string> ids;
  for (const std::string_view word : Words(text)) {
    std::string key(word.substr(0, word.find('=')));
    std::ranges::replace(key, '-', '_');
    if (key.size() == word.size() || (key != "vfio_pci.ids" && key != "ids")) {
      continue;
    }
    for (const std::string_view id : Split(word.substr(key.size() + 1), ',')) {
      ids.insert(ToLower(id.substr(0, 9)));  // what follows are subsystem and class
    }
  }
  return ids;
}

void MarkGuestGpus(PciFacts& pci, const KernelFacts& kernel) {
  for (GpuFacts& gpu : pci.gpus) {
    const std::string id = fmt::format("{:04x}:{:04x}", gpu.pci.vendor_id, gpu.pci.device_id);
    const bool is_free = gpu.pci.kernel_driver.empty() && !gpu.pci.is_off_bus;
    gpu.is_for_guests =
        IsForGuests(gpu.pci.kernel_driver) || (is_free && kernel.guest_ids.contains(id));
  }
}

}  // namespace kgpu::doctor
