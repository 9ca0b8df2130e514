// Kernel drivers besides NVIDIA's that take its GPUs by themselves at boot: what they are called,
// and the text that keeps them out. The one list for plans, checks and reports.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/inspect/pci.h"

namespace kgpu::host {

struct Rival {
  std::string_view module;      // as in /proc/modules
  std::string_view pci_driver;  // as in /sys/bus/pci/drivers
};
// nova is nouveau's successor; Linux 6.15 is the first kernel that has it.
inline constexpr std::array<Rival, 2> kRivals = {{
    {"nouveau", "nouveau"},
    {"nova_core", "NovaCore"},
}};

// A file for modprobe.d that keeps all of them from loading, and its usual path.
inline constexpr std::string_view kRivalsOffFile = "/etc/modprobe.d/kgpu-nouveau.conf";
inline constexpr std::string_view kRivalsOff =
    "# Written by kgpu: nouveau, nova and NVIDIA's driver cannot share a GPU.\n"
    "blacklist nouveau\n"
    "options nouveau modeset=0\n"
    "blacklist nova_core\n"
    "blacklist nova_drm\n";
// A kernel argument that does so in the initial RAM disk.
inline constexpr std::string_view kRivalsOffArgument = "rd.driver.blacklist=nouveau,nova_core";

// The rival that is bound to a GPU, by the name of its PCI driver; null: it is none of them.
const Rival* FindRival(std::string_view pci_driver);

// Whether a driver of that name holds cards for virtual machines: vfio-pci and the drivers built on
// it, Xen's pciback, and pci-stub of old.
bool IsForGuests(std::string_view pci_driver);

// The module of the rival that keeps NVIDIA's driver from GPUs; empty: none does. `loaded` is the
// rival's module that is loaded, or empty. A rival that NVIDIA's driver runs beside and that has no
// GPU is in nobody's way, except nouveau, whose probing NVIDIA's driver does not survive.
std::string RivalInTheWay(std::string_view loaded, bool is_nvidia_live,
                          std::span<const PciDevice> pci);

// The module that provides the kernel driver bound to a GPU: "vfio_pci" for "vfio-pci". By the
// kernel's link, else by the driver's name. Empty if no driver is bound.
std::string ModuleOfDriver(const PciDevice& gpu);

}  // namespace kgpu::host
