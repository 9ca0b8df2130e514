#include "src/host/facts/pci_facts.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/host/inspect/rivals.h"
#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

constexpr size_t kExtendedStart = 0x100;
constexpr size_t kExtendedEnd = 0x1000;
constexpr uint32_t kAcsId = 0x000d;
constexpr size_t kWithoutRoot = 64;  // what the kernel shows of a configuration space to others
// Flags of a line in sysfs' `resource`. Source: include/linux/ioport.h of the kernel.
constexpr uint64_t kIsMemory = 0x200;
constexpr uint64_t kIsUnset = 0x20000000;

uint32_t LittleEndian(std::string_view bytes, size_t offset, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= uint32_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
  }
  return value;
}

// A memory region with a size and no place: the firmware ran out of address space.
bool HasUnplacedBar(std::string_view resource) {
  size_t number = 0;
  for (const std::string_view line : Split(resource, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() != 3 || ++number > 6) {
      continue;
    }
    const uint64_t start = ParseUint(words[0], 16).value_or(0);
    const uint64_t flags = ParseUint(words[2], 16).value_or(0);
    if ((flags & kIsMemory) != 0 && (start == 0 || (flags & kIsUnset) != 0)) {
      return true;
    }
  }
  return false;
}

// "TOTAL_ERR_FATAL 0" is the last line of the file.
std::optional<uint64_t> CountFatalErrors(std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() == 2 && words[0] == "TOTAL_ERR_FATAL") {
      return ParseUint(words[1]);
    }
  }
  return std::nullopt;
}

std::vector<Bridge> ReadBridges(Sight& sight, const std::string& folder) {
  const StatusOr<std::string> path = sight.host().Resolve(folder);
  if (!path.ok()) {
    return {};
  }
  std::vector<Bridge> bridges;
  std::string at;
  const std::vector<std::string_view> parts = Split(*path, '/');
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    at += fmt::format("/{}", parts[i]);
    const auto id = device::PciBusId::Parse(parts[i]);
    if (!id.ok()) {
      continue;
    }
    Bridge bridge;
    bridge.address = id->str();
    const std::string config = sight.Text(at + "/config").value_or("");
    if (config.size() == kWithoutRoot) {
      sight.Say(
          "Access Control Services of PCIe bridges: only root can read their full config space");
    }
    if (const std::optional<AcsControl> acs = FindAcsControl(config)) {
      bridge.acs_control = acs->value;
      bridge.acs_offset = acs->offset;
    }
    bridge.link_width_max = sight.Number(at + "/max_link_width");
    bridges.push_back(std::move(bridge));
  }
  return bridges;
}

GpuFacts ReadGpu(Sight& sight, const PciDevice& pci) {
  const std::string folder = fmt::format("sys/bus/pci/devices/{}", pci.id.str());
  GpuFacts gpu;
  gpu.pci = pci;
  gpu.has_unplaced_bar = HasUnplacedBar(sight.Text(folder + "/resource").value_or(""));
  gpu.link_width = sight.Number(folder + "/current_link_width");
  gpu.link_width_max = sight.Number(folder + "/max_link_width");
  gpu.window_sizes = ParseUint(sight.Line(folder + "/resource1_resize"), 16);
  gpu.fatal_errors = CountFatalErrors(sight.Text(folder + "/aer_dev_fatal").value_or(""));
  gpu.has_numa_answer = sight.host().Exists(folder + "/numa_node");
  gpu.iommu_type = sight.Line(folder + "/iommu_group/type");
  gpu.bridges = ReadBridges(sight, folder);
  return gpu;
}

size_t CountNumaNodes(Sight& sight) {
  const std::vector<std::string> names = sight.Names("sys/devices/system/node");
  return static_cast<size_t>(std::ranges::count_if(names, [](const std::string& name) {
    return name.starts_with("node") && ParseUint(std::string_view(name).substr(4)).has_value();
  }));
}

}  // namespace

std::optional<AcsControl> FindAcsControl(std::string_view config) {
  size_t at = kExtendedStart;
  // Each capability is 8 bytes at least: a list that goes round ends too.
  for (size_t seen = 0; seen < (kExtendedEnd - kExtendedStart) / 8; ++seen) {
    if (at < kExtendedStart || at + 8 > config.size()) {
      return std::nullopt;
    }
    const uint32_t header = LittleEndian(config, at, 4);
    if ((header & 0xffff) == kAcsId) {
      return AcsControl{.offset = static_cast<unsigned>(at + 6),
                        .value = static_cast<uint16_t>(LittleEndian(config, at + 6, 2))};
    }
    at = header >> 20;
  }
  return std::nullopt;
}

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

void MarkGuestGpus(PciFacts& pci, const std::set<std::string>& guest_ids) {
  for (GpuFacts& gpu : pci.gpus) {
    const std::string id = fmt::format("{:04x}:{:04x}", gpu.pci.vendor_id, gpu.pci.device_id);
    const bool is_free = gpu.pci.kernel_driver.empty() && !gpu.pci.is_off_bus;
    gpu.is_for_guests = IsForGuests(gpu.pci.kernel_driver) || (is_free && guest_ids.contains(id));
  }
}

PciFacts ReadPciFacts(Sight& sight) {
  PciFacts facts;
  const StatusOr<std::vector<PciDevice>> devices = ScanNvidiaPci(sight.host());
  if (!devices.ok()) {
    // Without a bus at all, sysfs is not mounted here: that is not a bus without GPUs.
    const bool has_bus = sight.host().Exists("sys/bus");
    facts.is_unreadable = devices.status().code() != StatusCode::kNotFound || !has_bus;
    sight.Note(devices.status());
    if (!has_bus) {
      sight.Say("GPUs on the PCI bus: /sys/bus not found");
    }
  } else {
    for (const PciDevice& device : *devices) {
      if (device.is_gpu()) {
        facts.gpus.push_back(ReadGpu(sight, device));
      } else if (device.is_nvswitch()) {
        facts.nvswitches.push_back(device);
      }
    }
  }
  facts.numa_nodes = CountNumaNodes(sight);
  return facts;
}

}  // namespace kgpu::host
