// The GPUs as the PCI bus has them: there, placed, at full width, held by the right driver.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "src/platform/base/bytes.h"
#include "src/setup/doctor/check.h"
#include "src/setup/doctor/commands.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {
namespace {

constexpr Bytes kSmallBar = MebiBytes(256);
// Source: PCI Express Base 4.0 §7.7.8.3.
constexpr uint16_t kRequestRedirect = 0x4;
constexpr uint16_t kCompletionRedirect = 0x8;

// GPUs that answer on the bus: of one that is gone nothing else is worth saying.
std::vector<GpuFacts> Present(const Facts& facts) {
  std::vector<GpuFacts> present;
  std::ranges::copy_if(facts.pci.gpus, std::back_inserter(present),
                       [](const GpuFacts& gpu) { return !gpu.pci.is_off_bus; });
  return present;
}

void NoGpu(const Facts& facts, Findings& findings) {
  if (!facts.pci.gpus.empty() || facts.pci.is_unseen || facts.place != Place::kHost) {
    return;
  }
  constexpr std::string_view kEvidence =
      "no device of vendor 10de with class 0300 or 0302 on the PCI bus";
  std::vector<std::string> mend = {"lspci -nn -d 10de:", "echo 1 > /sys/bus/pci/rescan",
                                   "# seat the card again, or hand it to this virtual machine"};
  if (facts.has_driver()) {
    findings.Add(fmt::format("{}, and NVIDIA's driver is installed", kEvidence), std::move(mend));
  } else {
    mend.insert(mend.begin(), "# nothing to do where this node is to have none");
    findings.AddInfo(std::string(kEvidence), std::move(mend));
  }
}

void OffBus(const Facts& facts, Findings& findings) {
  for (const GpuFacts& gpu : facts.pci.gpus) {
    if (gpu.pci.is_off_bus) {
      findings.Add(fmt::format("{}: {}", gpu.pci.id.str(), gpu.pci.problem),
                   {"dmesg | grep -i xid", "reboot",
                    "# if it happens again: power supply, riser, then the card itself"});
    }
  }
}

void HeldByOther(const Facts& facts, Findings& findings) {
  for (const GpuFacts& gpu : Present(facts)) {
    const std::string& driver = gpu.pci.kernel_driver;
    if (driver.empty() || driver == "nvidia" || driver == "nouveau") {
      continue;
    }
    const std::string at = gpu.pci.id.str();
    const std::string evidence = fmt::format("{} is held by the kernel driver {}", at, driver);
    std::vector<std::string> mend = {
        fmt::format("echo {} > /sys/bus/pci/drivers/{}/unbind", at, driver),
        fmt::format("echo > /sys/bus/pci/devices/{}/driver_override", at),
        fmt::format("echo {} > /sys/bus/pci/drivers_probe", at)};
    if (!gpu.is_for_guests) {
      findings.Add(evidence, std::move(mend));
      continue;
    }
    mend.insert(mend.begin(),
                "# nothing to do where virtual machines have it; else stop its virtual machine");
    mend.emplace_back(
        "# and take the card out of vfio-pci.ids= in /proc/cmdline and /etc/modprobe.d");
    findings.AddInfo(evidence, std::move(mend));
  }
}

void HeldByNobody(const Facts& facts, Findings& findings) {
  for (const GpuFacts& gpu : Present(facts)) {
    if (gpu.pci.kernel_driver.empty() && !gpu.is_for_guests && facts.driver.is_nvidia_live) {
      findings.Add(fmt::format("{} has no kernel driver, though nvidia {} is loaded",
                               gpu.pci.id.str(), facts.driver.module_version),
                   {fmt::format("echo {} > /sys/bus/pci/drivers_probe", gpu.pci.id.str()),
                    "dmesg | grep -i nvrm   # says when the driver is too old for the card"});
    }
  }
}

// Only of a window that can be larger: that of a T4 has 256 MiB for good.
void SmallBar(const Facts& facts, Findings& findings) {
  constexpr unsigned kLarger = 9;  // bit 8 stands for 256 MiB
  for (const GpuFacts& gpu : Present(facts)) {
    const auto largest = std::ranges::max_element(gpu.pci.bar_sizes);
    const bool is_for_computing = gpu.pci.class_code >> 8 == 0x0302;
    const bool can_grow = gpu.window_sizes.value_or(0) >> kLarger != 0;
    if (is_for_computing && can_grow && !gpu.has_unplaced_bar &&
        largest != gpu.pci.bar_sizes.end() && *largest <= kSmallBar) {
      findings.Add(
          fmt::format("{}: its largest memory window has 256 MiB or less, and can have more",
                      gpu.pci.id.str()),
          {"# firmware setup: \"Above 4G Decoding\" and \"Resizable BAR\" on", "reboot"});
    }
  }
}

void UnplacedBar(const Facts& facts, Findings& findings) {
  for (const GpuFacts& gpu : Present(facts)) {
    if (gpu.has_unplaced_bar) {
      findings.Add(
          fmt::format("{}: a memory window has no address", gpu.pci.id.str()),
          {"# firmware setup: \"Above 4G Decoding\" on, \"MMIO High Size\" larger",
           "# where that is not to be had: pci=realloc on the kernel's command line", "reboot"});
    }
  }
}

// The lanes of the slot, where the kernel tells; else those of the card.
uint64_t SlotWidth(const GpuFacts& gpu, uint64_t card) {
  const uint64_t port = gpu.bridges.empty() ? 0 : gpu.bridges.back().link_width_max.value_or(0);
  return port == 0 ? card : port;
}

void NarrowLink(const Facts& facts, Findings& findings) {
  for (const GpuFacts& gpu : Present(facts)) {
    const uint64_t width = gpu.link_width.value_or(0);
    const uint64_t card = gpu.link_width_max.value_or(0);
    const uint64_t slot = SlotWidth(gpu, card);
    if (width == 0 || width >= card) {
      continue;
    }
    if (width >= slot) {
      findings.AddInfo(
          fmt::format("{}: {} of {} lanes, all that its slot has", gpu.pci.id.str(), width, card),
          {"# nothing to mend; a slot with all lanes is faster"});
      continue;
    }
    findings.Add(
        fmt::format("{}: {} of {} lanes", gpu.pci.id.str(), width, std::min(card, slot)),
        {fmt::format("lspci -vv -s {} | grep -i lnksta", gpu.pci.id.str()),
         "# power off, seat the card and its riser again; mind which slots have all lanes"});
  }
}

void FatalErrors(const Facts& facts, Findings& findings) {
  for (const GpuFacts& gpu : Present(facts)) {
    if (gpu.fatal_errors.value_or(0) > 0) {
      findings.Add(fmt::format("{}: {} fatal errors on its PCIe link since boot", gpu.pci.id.str(),
                               *gpu.fatal_errors),
                   {"dmesg | grep -i -e aer -e xid",
                    "# power off, seat the card again; then riser, cable, card"});
    }
  }
}

void NumaUnknown(const Facts& facts, Findings& findings) {
  for (const GpuFacts& gpu : Present(facts)) {
    if (facts.pci.numa_nodes > 1 && gpu.has_numa_answer && !gpu.pci.numa_node) {
      findings.Add(
          fmt::format("{} has no NUMA node on a host of {}", gpu.pci.id.str(),
                      facts.pci.numa_nodes),
          {"# firmware: update it; setup: NUMA on", "cat /sys/bus/pci/devices/*/numa_node"});
    }
  }
}

// GPUs that may read each other's memory. None where the host keeps cards for virtual machines as
// well: what holds those apart stays.
std::vector<GpuFacts> Peers(const Facts& facts) {
  std::vector<GpuFacts> peers;
  for (const GpuFacts& gpu : facts.pci.gpus) {
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
  const std::vector<GpuFacts> gpus = Peers(facts);
  const auto translated = std::ranges::find_if(
      gpus, [](const GpuFacts& gpu) { return gpu.iommu_type.starts_with("DMA"); });
  if (gpus.size() < 2 || translated == gpus.end()) {
    return;
  }
  // "iommu" is read by x86 alone. Source: the kernel's kernel-parameters.txt.
  std::vector<std::string> mend =
      AddKernelParameter(facts, facts.system.is_arm64 ? "iommu.passthrough=1" : "iommu=pt");
  mend.emplace_back("reboot");
  findings.Add(fmt::format("the IOMMU translates what {} GPUs send each other (group of {}: {})",
                           gpus.size(), translated->pci.id.str(), translated->iommu_type),
               std::move(mend));
}

// How many bridges both have above them.
size_t SharedBridges(const GpuFacts& one, const GpuFacts& other) {
  size_t count = 0;
  while (count < one.bridges.size() && count < other.bridges.size() &&
         one.bridges[count].address == other.bridges[count].address) {
    ++count;
  }
  return count;
}

// The bridges of a GPU that stand between it and a GPU below the same switch: what goes further up
// passes the CPU anyway.
std::vector<Bridge> BridgesToPeers(const GpuFacts& gpu, const std::vector<GpuFacts>& gpus) {
  size_t first = gpu.bridges.size();
  for (const GpuFacts& other : gpus) {
    const size_t shared = other.pci.id == gpu.pci.id ? 0 : SharedBridges(gpu, other);
    first = shared == 0 ? first : std::min(first, shared);
  }
  return {gpu.bridges.begin() + static_cast<ptrdiff_t>(first), gpu.bridges.end()};
}

void AcsRedirects(const Facts& facts, Findings& findings) {
  constexpr unsigned kRedirects = kRequestRedirect | kCompletionRedirect;
  std::set<std::string> told;
  const std::vector<GpuFacts> gpus = Peers(facts);
  for (const GpuFacts& gpu : gpus) {
    for (const Bridge& bridge : BridgesToPeers(gpu, gpus)) {
      const unsigned control = bridge.acs_control.value_or(0);
      if ((control & kRedirects) != 0 && told.insert(bridge.address).second) {
        findings.Add(
            fmt::format("bridge {} above {} sends traffic between GPUs by way of the CPU "
                        "(ACS control {:#06x})",
                        bridge.address, gpu.pci.id.str(), control),
            {fmt::format("setpci -s {} {:x}.w=0:{:x}", bridge.address, bridge.acs_offset,
                         kRedirects),
             "# until the next boot; for good: firmware setup, ACS off. Not on hosts that hand "
             "cards to virtual machines"});
      }
    }
  }
}

constexpr std::array kPciChecks = {
    Check{"pci-no-gpu", "No NVIDIA GPU on the PCI bus", Severity::kError,
          "Everything else needs a card that the kernel sees. A card that is not seated or has no "
          "power does not show, nor does one that its hypervisor did not hand over. In a container "
          "mount the host's /sys and name its place with --host-root. Where nothing of NVIDIA's "
          "driver is installed it is a remark only.",
          NoGpu},
    Check{"pci-gpu-off-bus", "A GPU has fallen off the bus", Severity::kError,
          "Its configuration space reads as all ones: the card no longer answers at all. Only a "
          "reset of the slot brings it back, in most machines that is a restart.",
          OffBus},
    Check{
        "pci-gpu-held-by-other-driver", "Another kernel driver holds a GPU", Severity::kError,
        "vfio-pci, pci-stub and the like hold cards that are meant for virtual machines. NVIDIA's "
        "driver never sees them until they are unbound.",
        HeldByOther},
    Check{"pci-gpu-held-by-nobody", "NVIDIA's driver has not taken a GPU", Severity::kError,
          "The module is loaded and this card has no driver: the module is too old for it, wants "
          "the open flavour of itself, or failed to start the card. The kernel's log says which.",
          HeldByNobody},
    Check{"pci-bar-small", "A GPU's memory window is small", Severity::kWarning,
          "A card for computing shows all of its memory in one window when the firmware leaves "
          "room above 4 GiB, if it can change its window at all. Without it, GPUs can not read "
          "each other's memory over PCIe and RDMA "
          "cards can not reach it.",
          SmallBar},
    Check{"pci-bar-unplaced", "The firmware gave a GPU's memory window no address",
          Severity::kError,
          "The driver refuses such a card (\"This PCI I/O region assigned to your NVIDIA device is "
          "invalid\"): the firmware ran out of address space.",
          UnplacedBar},
    Check{"pci-link-narrow", "A GPU's link has lost lanes", Severity::kWarning,
          "Half the lanes are half the bandwidth to the host. The width does not follow the load, "
          "as the speed does: it is set when the link is trained, and a bad contact is the usual "
          "reason.",
          NarrowLink},
    Check{"pci-link-errors", "A GPU's link has had fatal errors", Severity::kWarning,
          "Counted by the kernel from PCIe's advanced error reporting. A link that fails so takes "
          "the GPU off the bus sooner or later.",
          FatalErrors},
    Check{"pci-numa-unknown", "The firmware does not say which NUMA node a GPU is near",
          Severity::kInfo,
          "Without it neither kgpu nor the kubelet's topology manager can place a container's CPUs "
          "beside its GPU.",
          NumaUnknown},
    Check{
        "pci-iommu-translates", "The IOMMU stands between GPUs", Severity::kWarning,
        "With an IOMMU that translates, traffic from GPU to GPU over PCIe goes by way of the root "
        "complex, is slow, and in some machines fails outright. In pass-through mode (iommu=pt) "
        "the host's own devices are left alone and virtual machines still work.",
        IommuTranslates},
    Check{"pci-acs-redirects", "PCIe bridges send GPU-to-GPU traffic by way of the CPU",
          Severity::kWarning,
          "Access Control Services make a switch send everything upwards, so that devices of "
          "different virtual machines are apart. On a host that runs containers they only halve "
          "the bandwidth between GPUs, and hang NCCL on some machines.",
          AcsRedirects},
};

}  // namespace

std::span<const Check> PciChecks() {
  return kPciChecks;
}

}  // namespace kgpu::doctor
