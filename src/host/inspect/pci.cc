#include "src/host/inspect/pci.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

constexpr std::string_view kPciFolder = "sys/bus/pci/devices";
constexpr size_t kSysfsLimit = 4096;
constexpr size_t kConfigHeader = 64;

uint16_t Le16(std::string_view bytes, size_t offset) {
  const auto low = static_cast<unsigned char>(bytes[offset]);
  const auto high = static_cast<unsigned char>(bytes[offset + 1]);
  return static_cast<uint16_t>(low | (high << 8));
}

// Reads the attributes of one device and remembers the first one that could not be read.
class Attributes {
 public:
  Attributes(const sys::Root& host, std::string folder) : host_(host), folder_(std::move(folder)) {}

  std::optional<std::string> Text(std::string_view name) {
    const StatusOr<std::string> text =
        host_.ReadFile(fmt::format("{}/{}", folder_, name), kSysfsLimit);
    if (!text.ok()) {
      Note(std::string(Message(text.status())));
      return std::nullopt;
    }
    return *text;
  }

  std::optional<uint64_t> Hex(std::string_view name) {
    const std::optional<std::string> text = Text(name);
    if (!text) {
      return std::nullopt;
    }
    const std::optional<uint64_t> value = ParseUint(Trim(*text), 16);
    if (!value) {
      Note(fmt::format("{}/{}: \"{}\" is not a hexadecimal number", host_.At(folder_), name,
                       Printable(Trim(*text), 20)));
    }
    return value;
  }

  const std::string& problem() const { return problem_; }

 private:
  void Note(std::string text) {
    if (problem_.empty()) {
      problem_ = std::move(text);
    }
  }

  const sys::Root& host_;
  std::string folder_;
  std::string problem_;
};

// -1 in numa_node means that the firmware gave none.
std::optional<unsigned> ReadNumaNode(const sys::Root& host, const std::string& folder) {
  const StatusOr<std::string> text = host.ReadFile(folder + "/numa_node", kSysfsLimit);
  if (!text.ok()) {
    return std::nullopt;
  }
  const std::optional<uint64_t> node = ParseUint(Trim(*text));
  if (!node || *node > 65535) {
    return std::nullopt;
  }
  return static_cast<unsigned>(*node);
}

// The last part of what a link in sysfs leads to; empty: there is none.
std::string LinkedName(const sys::Root& host, const std::string& link) {
  const StatusOr<std::string> target = host.ReadLink(link);
  return target.ok() ? target->substr(target->rfind('/') + 1) : std::string();
}

// No vendor has the number 0xffff: nothing answers there.
bool IsAllOnes(std::string_view config) {
  return config.size() >= kConfigHeader && Le16(config, 0x00) == 0xffff;
}

// Values that sysfs files did not give are taken from configuration space, which names the class
// and the ids too.
void FillFromConfig(const sys::Root& host, const std::string& folder, PciDevice& device) {
  // Reading configuration space wakes a GPU that runtime power management has put to sleep.
  const StatusOr<std::string> power = host.ReadFile(folder + "/power/runtime_status", kSysfsLimit);
  if (power.ok() && Trim(*power) == "suspended") {
    return;
  }
  const StatusOr<std::string> bytes = host.ReadFile(folder + "/config", kSysfsLimit);
  if (!bytes.ok()) {
    return;
  }
  const StatusOr<PciConfig> config = ParsePciConfig(*bytes);
  if (!config.ok()) {
    device.problem = fmt::format("{}/config: {}", host.At(folder), Message(config.status()));
    device.is_off_bus = IsAllOnes(*bytes);
    return;
  }
  if (device.class_code == 0) {
    device.class_code = config->class_code;
  }
  if (device.device_id == 0) {
    device.device_id = config->device_id;
  }
  if (device.subsystem_vendor_id == 0) {
    device.subsystem_vendor_id = config->subsystem_vendor_id;
    device.subsystem_device_id = config->subsystem_device_id;
  }
}

// Nothing if the device is not NVIDIA's, or its vendor is unknown.
std::optional<PciDevice> ReadDevice(const sys::Root& host, const std::string& name) {
  const StatusOr<device::PciBusId> id = device::PciBusId::Parse(name);
  if (!id.ok()) {
    return std::nullopt;
  }
  const std::string folder = fmt::format("{}/{}", kPciFolder, name);
  Attributes attributes(host, folder);
  const uint64_t vendor = attributes.Hex("vendor").value_or(0);
  PciDevice device;
  device.id = *id;
  if (vendor == 0) {
    const StatusOr<std::string> bytes = host.ReadFile(folder + "/config", kSysfsLimit);
    const StatusOr<PciConfig> config =
        bytes.ok() ? ParsePciConfig(*bytes) : StatusOr<PciConfig>(bytes.status());
    if (!config.ok() || config->vendor_id != kNvidiaPciVendor) {
      return std::nullopt;
    }
  } else if (vendor != kNvidiaPciVendor) {
    return std::nullopt;
  }
  device.vendor_id = kNvidiaPciVendor;
  device.class_code = static_cast<uint32_t>(attributes.Hex("class").value_or(0) & 0xffffff);
  if (device.class_code != 0 && !device.is_gpu() && !device.is_nvswitch()) {
    return std::nullopt;  // the audio and USB functions of a graphics board
  }
  device.device_id = static_cast<uint16_t>(attributes.Hex("device").value_or(0));
  device.subsystem_vendor_id =
      static_cast<uint16_t>(attributes.Hex("subsystem_vendor").value_or(0));
  device.subsystem_device_id =
      static_cast<uint16_t>(attributes.Hex("subsystem_device").value_or(0));
  device.problem = attributes.problem();
  FillFromConfig(host, folder, device);
  device.numa_node = ReadNumaNode(host, folder);
  device.kernel_driver = LinkedName(host, folder + "/driver");
  device.driver_module = LinkedName(host, folder + "/driver/module");
  if (const StatusOr<std::string> text = host.ReadFile(folder + "/resource", kSysfsLimit);
      text.ok()) {
    device.bar_sizes = ParsePciResources(*text);
  }
  return device;
}

}  // namespace

std::string PciClassName(uint32_t class_code) {
  switch (class_code >> 8) {
    case 0x0300:
      return "vga";
    case 0x0302:
      return "3d-controller";
    case 0x0680:
      return "bridge";
    default:
      return fmt::format("0x{:04x}", class_code >> 8);
  }
}

StatusOr<PciConfig> ParsePciConfig(std::string_view bytes) {
  if (bytes.size() < kConfigHeader) {
    return InvalidArgument(
        "configuration space has {} bytes, its header {}: run as root to read all of it",
        bytes.size(), kConfigHeader);
  }
  PciConfig config;
  config.vendor_id = Le16(bytes, 0x00);
  config.device_id = Le16(bytes, 0x02);
  if (IsAllOnes(bytes)) {
    return InvalidArgument(
        "configuration space reads as all ones: the device has fallen off the bus: reset it or "
        "restart the host");
  }
  config.class_code =
      static_cast<uint32_t>(static_cast<unsigned char>(bytes[0x09])) | (Le16(bytes, 0x0a) << 8);
  const unsigned header_type = static_cast<unsigned char>(bytes[0x0e]) & 0x7f;
  if (header_type == 0) {
    config.subsystem_vendor_id = Le16(bytes, 0x2c);
    config.subsystem_device_id = Le16(bytes, 0x2e);
  }
  return config;
}

std::vector<Bytes> ParsePciResources(std::string_view text) {
  constexpr size_t kBars = 6;
  std::vector<Bytes> sizes;
  const std::vector<std::string_view> lines = Split(text, '\n');
  for (size_t bar = 0; bar < std::min(kBars, lines.size()); ++bar) {
    const std::vector<std::string_view> words = Words(lines[bar]);
    if (words.size() != 3) {
      continue;
    }
    const std::optional<uint64_t> start = ParseUint(words[0], 16);
    const std::optional<uint64_t> end = ParseUint(words[1], 16);
    if (start && end && *end > *start) {
      sizes.push_back(Bytes{*end - *start + 1});
    }
  }
  return sizes;
}

StatusOr<std::vector<PciDevice>> ScanNvidiaPci(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, host.ListDir(kPciFolder));
  std::vector<PciDevice> devices;
  for (const std::string& name : names) {
    std::optional<PciDevice> device = ReadDevice(host, name);
    if (device && (device->is_gpu() || device->is_nvswitch())) {
      devices.push_back(*std::move(device));
    }
  }
  std::ranges::sort(devices, {}, &PciDevice::id);
  return devices;
}

}  // namespace kgpu::host
