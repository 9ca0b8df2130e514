// The GPUs as the PCI bus has them: there, placed, at full width, held by the right driver.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"
#include "src/host/inspect/rivals.h"
#include "src/platform/base/bytes.h"

namespace kgpu::doctor {
namespace {

constexpr Bytes kSmallBar = MebiBytes(256);
// Source: PCI Express Base 4.0 §7.7.8.3.
constexpr uint16_t kRequestRedirect = 0x4;
constexpr uint16_t kCompletionRedirect = 0x8;

// GPUs that answer on the bus: of one that is gone nothing else is worth saying.
std::vector<host::GpuFacts> Present(const Facts& facts) {
  std::vector<host::GpuFacts> present;
  std::ranges::copy_if(facts.pci.gpus, std::back_inserter(present),
                       [](const host::GpuFacts& gpu) { return !gpu.pci.is_off_bus; });
  return present;
}

void NoGpu(const Facts& facts, Findings& findings) {
  if (!facts.pci.gpus.empty() || facts.pci.is_unreadable || facts.place != Place::kHost) {
    return;
  }
  constexpr std::string_view kEvidence =
      "no device of vendor 10de with class 0300 or 0302 on the PCI bus";
  std::vector<std::string> fix = {"lspci -nn -d 10de:", "echo 1 > /sys/bus/pci/rescan",
                                  "# reseat the card, or pass it through to this virtual machine"};
  if (facts.has_driver()) {
    findings.Add(fmt::format("{}, but NVIDIA's driver is installed", kEvidence), std::move(fix));
  } else {
    fix.insert(fix.begin(), "# nothing to do if this node should have no GPU");
    findings.AddInfo(std::string(kEvidence), std::move(fix));
  }
}

void OffBus(const Facts& facts, Findings& findings) {
  for (const host::GpuFacts& gpu : facts.pci.gpus) {
    if (gpu.pci.is_off_bus) {
      findings.Add(fmt::format("{}: {}", gpu.pci.id.str(), gpu.pci.problem),
                   {"dmesg | grep -i xid", "reboot",
                    "# if it recurs: check power supply, riser, then the card itself"});
    }
  }
}

void HeldByOther(const Facts& facts, Findings& findings) {
  for (const host::GpuFacts& gpu : Present(facts)) {
    const std::string& driver = gpu.pci.kernel_driver;
    if (driver.empty() || driver == "nvidia" || host::FindRival(driver) != nullptr) {
      continue;  // nouveau and nova have a check of their own
    }
    const std::string at = gpu.pci.id.str();
    const std::string evidence = fmt::format("{} is bound to the kernel driver {}", at, driver);
    std::vector<std::string> fix = {
        fmt::format("echo {} > /sys/bus/pci/drivers/{}/unbind", at, driver),
        fmt::format("echo > /sys/bus/pci/devices/{}/driver_override", at),
        fmt::format("echo {} > /sys/bus/pci/drivers_probe", at)};
    if (!gpu.is_for_guests) {
      const std::string module = host::ModuleOfDriver(gpu.pci);
      fix.push_back(
          fmt::format("echo 'blacklist {0}' > /etc/modprobe.d/kgpu-{0}.conf   # else it "
                      "takes the GPU again at the next boot",
                      module));
      fix.push_back(InitramfsCommand(facts));
      findings.Add(evidence, std::move(fix));
      continue;
    }
    fix.insert(fix.begin(),
               "# nothing to do if a virtual machine uses it; else stop the virtual machine");
    fix.emplace_back(
        "# and remove the card from vfio-pci.ids= in /proc/cmdline and /etc/modprobe.d");
    findings.AddInfo(evidence, std::move(fix));
  }
}

void HeldByNobody(const Facts& facts, Findings& findings) {
  for (const host::GpuFacts& gpu : Present(facts)) {
    if (!gpu.pci.kernel_driver.empty() || gpu.is_for_guests || !facts.driver.is_nvidia_live) {
      continue;
    }
    if (const host::Misfit misfit = MisfitOf(facts, gpu.pci.device_id)) {
      findings.Add(fmt::format("{} has no kernel driver: {}", gpu.pci.id.str(), misfit.cause),
                   {misfit.fix});
    } else {
      findings.Add(fmt::format("{} has no kernel driver, but nvidia {} is loaded", gpu.pci.id.str(),
                               facts.driver.module_version),
                   {fmt::format("echo {} > /sys/bus/pci/drivers_probe", gpu.pci.id.str()),
                    "dmesg | grep -i nvrm   # reports if the driver is too old for the card"});
    }
  }
}

// Only of a window that can be larger: that of a T4 has 256 MiB for good.
void SmallBar(const Facts& facts, Findings& findings) {
  constexpr unsigned kLarger = 9;  // bit 8 stands for 256 MiB
  for (const host::GpuFacts& gpu : Present(facts)) {
    const auto largest = std::ranges::max_element(gpu.pci.bar_sizes);
    const bool is_for_computing = gpu.pci.class_code >> 8 == 0x0302;
    const bool can_grow = gpu.window_sizes.value_or(0) >> kLarger != 0;
    if (is_for_computing && can_grow && !gpu.has_unplaced_bar &&
        largest != gpu.pci.bar_sizes.end() && *largest <= kSmallBar) {
      findings.Add(
          fmt::format("{}: its largest memory window has 256 MiB or less, but can be larger",
                      gpu.pci.id.str()),
          {"# firmware setup: enable \"Above 4G Decoding\" and \"Resizable BAR\"", "reboot"});
    }
  }
}

void UnplacedBar(const Facts& facts, Findings& findings) {
  for (const host::GpuFacts& gpu : Present(facts)) {
    if (gpu.has_unplaced_bar) {
      findings.Add(
          fmt::format("{}: a memory window has no address", gpu.pci.id.str()),
          {"# firmware setup: enable \"Above 4G Decoding\", increase \"MMIO High Size\"",
           "# if the firmware has no such option: pci=realloc on the kernel's command line",
           "reboot"});
    }
  }
}

// The lanes of the slot, where the kernel tells; else those of the card.
uint64_t SlotWidth(const host::GpuFacts& gpu, uint64_t card) {
  const uint64_t port = gpu.bridges.empty() ? 0 : gpu.bridges.back().link_width_max.value_or(0);
  return port == 0 ? card : port;
}

void NarrowLink(const Facts& facts, Findings& findings) {
  for (const host::GpuFacts& gpu : Present(facts)) {
    const uint64_t width = gpu.link_width.value_or(0);
    const uint64_t card = gpu.link_width_max.value_or(0);
    const uint64_t slot = SlotWidth(gpu, card);
    if (width == 0 || width >= card) {
      continue;
    }
    if (width >= slot) {
      findings.AddInfo(
          fmt::format("{}: {} of {} lanes, the maximum of its slot", gpu.pci.id.str(), width, card),
          {"# nothing to fix; a slot with all lanes is faster"});
      continue;
    }
    findings.Add(fmt::format("{}: {} of {} lanes", gpu.pci.id.str(), width, std::min(card, slot)),
                 {fmt::format("lspci -vv -s {} | grep -i lnksta", gpu.pci.id.str()),
                  "# power off, reseat the card and its riser; check which slots have all lanes"});
  }
}

void FatalErrors(const Facts& facts, Findings& findings) {
  for (const host::GpuFacts& gpu : Present(facts)) {
    if (gpu.fatal_errors.value_or(0) > 0) {
      findings.Add(fmt::format("{}: {} fatal errors on its PCIe link since boot", gpu.pci.id.str(),
                               *gpu.fatal_errors),
                   {"dmesg | grep -i -e aer -e xid",
                    "# power off, reseat the card; then check riser, cable, card"});
    }
  }
}

void NumaUnknown(const Facts& facts, Findings& findings) {
  for (const host::GpuFacts& gpu : Present(facts)) {
    if (facts.pci.numa_nodes > 1 && gpu.has_numa_answer && !gpu.pci.numa_node) {
      findings.Add(
          fmt::format("{} has no NUMA node on a host with {}", gpu.pci.id.str(),
                      facts.pci.numa_nodes),
          {"# firmware: update it; setup: enable NUMA", "cat /sys/bus/pci/devices/*/numa_node"});
    }
  }
}

// GPUs that may read each other's memory. None where the host keeps cards for virtual machines as
// well: what holds those apart stays.
std::vector<host::GpuFacts> Peers(const Facts& facts) {
  std::vector<host::GpuFacts> peers;
  for (const host::GpuFacts& gpu : facts.pci.gpus) {
    if (gpu.is_for_guests) {
      return {};
    }
    if (!gpu.pci.is_off_bus && gpu.pci.kernel_driver == "nvidia") {
      peers.push_back(gpu);
    }
  }
  return peers;
}

void IommuTranslates(const Facts& facts, Findings& findings) {
  const std::vector<host::GpuFacts> gpus = Peers(facts);
  const auto translated = std::ranges::find_if(
      gpus, [](const host::GpuFacts& gpu) { return gpu.iommu_type.starts_with("DMA"); });
  if (gpus.size() < 2 || translated == gpus.end()) {
    return;
  }
  // "iommu" is read by x86 alone. Source: the kernel's kernel-parameters.txt.
  std::vector<std::string> fix =
      AddKernelParameter(facts, facts.system.is_arm64 ? "iommu.passthrough=1" : "iommu=pt");
  fix.emplace_back("reboot");
  findings.Add(fmt::format("the IOMMU translates the traffic between {} GPUs (group of {}: {})",
                           gpus.size(), translated->pci.id.str(), translated->iommu_type),
               std::move(fix));
}

// How many bridges both have above them.
size_t SharedBridges(const host::GpuFacts& one, const host::GpuFacts& other) {
  size_t count = 0;
  while (count < one.bridges.size() && count < other.bridges.size() &&
         one.bridges[count].address == other.bridges[count].address) {
    ++count;
  }
  return count;
}

// The bridges of a GPU that stand between it and a GPU below the same switch: what goes further up
// passes the CPU anyway.
std::vector<host::Bridge> BridgesToPeers(const host::GpuFacts& gpu,
                                         const std::vector<host::GpuFacts>& gpus) {
  size_t first = gpu.bridges.size();
  for (const host::GpuFacts& other : gpus) {
    const size_t shared = other.pci.id == gpu.pci.id ? 0 : SharedBridges(gpu, other);
    first = shared == 0 ? first : std::min(first, shared);
  }
  return {gpu.bridges.begin() + static_cast<ptrdiff_t>(first), gpu.bridges.end()};
}

void AcsRedirects(const Facts& facts, Findings& findings) {
  constexpr unsigned kRedirects = kRequestRedirect | kCompletionRedirect;
  std::set<std::string> reported;
  const std::vector<host::GpuFacts> gpus = Peers(facts);
  for (const host::GpuFacts& gpu : gpus) {
    for (const host::Bridge& bridge : BridgesToPeers(gpu, gpus)) {
      const unsigned control = bridge.acs_control.value_or(0);
      if ((control & kRedirects) != 0 && reported.insert(bridge.address).second) {
        findings.Add(fmt::format("bridge {} above {} sends traffic between GPUs through the CPU "
                                 "(ACS control {:#06x})",
                                 bridge.address, gpu.pci.id.str(), control),
                     {fmt::format("setpci -s {} {:x}.w=0:{:x}", bridge.address, bridge.acs_offset,
                                  kRedirects),
                      "# until the next boot; permanently: disable ACS in the firmware setup. Not "
                      "on hosts that pass cards through to virtual machines"});
      }
    }
  }
}

constexpr std::array kPciChecks = {
    Check{"pci-no-gpu", "No NVIDIA GPU on the PCI bus", Severity::kError,
          "Everything else needs a GPU that the kernel sees. A card that is not seated, has no "
          "power or is not passed through by the hypervisor does not appear. In a container, mount "
          "the host's /sys and set --host-root. Without any part of NVIDIA's driver this is only "
          "an info.",
          NoGpu},
    Check{"pci-gpu-off-bus", "A GPU has fallen off the bus", Severity::kError,
          "Its configuration space reads as all ones: the card no longer answers. Only a reset of "
          "the slot restores it, which on most machines is a reboot.",
          OffBus},
    Check{"pci-gpu-held-by-other-driver", "Another kernel driver is bound to a GPU",
          Severity::kError,
          "vfio-pci, pci-stub and similar drivers bind cards for virtual machines. NVIDIA's driver "
          "does not see them until they are unbound.",
          HeldByOther},
    Check{"pci-gpu-held-by-nobody", "NVIDIA's driver has not bound a GPU", Severity::kError,
          "The module is loaded but this card has no driver: the module is too old for it, the "
          "card needs the open module, or it failed to start. The kernel's log shows which.",
          HeldByNobody},
    Check{"pci-bar-small", "A GPU's memory window is small", Severity::kWarning,
          "A data center GPU maps all of its memory in one window if the firmware has room above 4 "
          "GiB and the window is resizable. Otherwise GPUs cannot read each other's memory over "
          "PCIe and RDMA cards cannot reach it.",
          SmallBar},
    Check{"pci-bar-unplaced", "A GPU's memory window has no address", Severity::kError,
          "The driver rejects such a card (\"This PCI I/O region assigned to your NVIDIA device is "
          "invalid\"): the firmware ran out of address space.",
          UnplacedBar},
    Check{"pci-link-narrow", "A GPU's link runs with fewer lanes", Severity::kWarning,
          "Half the lanes give half the bandwidth to the host. Unlike the speed, the width does "
          "not depend on the load: it is set when the link is trained, and a bad contact is the "
          "usual cause.",
          NarrowLink},
    Check{"pci-link-errors", "A GPU's link has had fatal errors", Severity::kWarning,
          "Counted by the kernel's PCIe advanced error reporting. Such a link eventually takes the "
          "GPU off the bus.",
          FatalErrors},
    Check{"pci-numa-unknown", "The firmware does not report a GPU's NUMA node", Severity::kInfo,
          "Without it neither kgpu nor the kubelet's topology manager can place a container's CPUs "
          "near its GPU.",
          NumaUnknown},
    Check{"pci-iommu-translates", "The IOMMU slows down traffic between GPUs", Severity::kWarning,
          "With a translating IOMMU, GPU-to-GPU traffic over PCIe goes through the root complex, "
          "is slow, and fails on some machines. In pass-through mode (iommu=pt) the host's own "
          "devices bypass it and virtual machines still work.",
          IommuTranslates},
    Check{"pci-acs-redirects", "PCIe bridges send GPU-to-GPU traffic through the CPU",
          Severity::kWarning,
          "Access Control Services make a switch send all traffic upstream, to isolate devices of "
          "different virtual machines. On a container host they only halve the bandwidth between "
          "GPUs, and NCCL hangs on some machines.",
          AcsRedirects},
};

}  // namespace

std::span<const Check> PciChecks() {
  return kPciChecks;
}

}  // namespace kgpu::doctor
