#include "src/host/inspect/vgpu.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

constexpr size_t kConfigSize = 256;
constexpr size_t kStatus = 0x06;
constexpr uint8_t kStatusHasCapabilities = 0x10;
constexpr size_t kFirstCapability = 0x34;
constexpr uint8_t kVendorSpecific = 0x09;
// In the capability: id, next, length, "VF", then records.
constexpr size_t kSignature = 3;
constexpr size_t kFirstRecord = 5;
constexpr size_t kRecordHeader = 2;
constexpr size_t kTextSize = 10;

uint8_t At(std::string_view bytes, size_t offset) {
  return offset < bytes.size() ? static_cast<uint8_t>(bytes[offset]) : 0;
}

// The bytes of the first capability with this id.
std::string_view FindCapability(std::string_view config, uint8_t id) {
  if (config.size() < kConfigSize || (At(config, kStatus) & kStatusHasCapabilities) == 0) {
    return {};
  }
  std::array<bool, kConfigSize> seen{};  // a list that bites its tail ends
  size_t at = At(config, kFirstCapability);
  while (at != 0 && !seen.at(at)) {
    seen.at(at) = true;
    if (At(config, at) == id) {
      return config.substr(at, At(config, at + 2));
    }
    at = At(config, at + 1);
  }
  return {};
}

std::string TextAt(std::string_view bytes, size_t offset) {
  const std::string_view text = bytes.substr(offset, kTextSize);
  return Printable(text.substr(0, text.find('\0')), kTextSize);
}

}  // namespace

std::optional<VgpuHost> ParseVgpuCapability(std::string_view config) {
  const std::string_view capability = FindCapability(config, kVendorSpecific);
  if (capability.size() < kFirstRecord || capability.substr(kSignature, 2) != "VF") {
    return std::nullopt;
  }
  size_t at = kFirstRecord;
  while (At(capability, at) != 0 && At(capability, at + 1) != 0 && at < capability.size()) {
    at += At(capability, at + 1);
  }
  if (At(capability, at) != 0 || at + kRecordHeader + 2 * kTextSize > capability.size()) {
    return VgpuHost{};
  }
  return VgpuHost{.driver_version = TextAt(capability, at + kRecordHeader),
                  .driver_branch = TextAt(capability, at + kRecordHeader + kTextSize)};
}

std::optional<VgpuHost> FindVgpuHost(const sys::Root& host,
                                     const std::vector<device::PciBusId>& gpus) {
  for (const device::PciBusId& gpu : gpus) {
    const auto config =
        host.ReadFile(fmt::format("sys/bus/pci/devices/{}/config", gpu.str()), size_t{4096});
    if (!config.ok()) {
      continue;
    }
    if (auto vgpu = ParseVgpuCapability(*config)) {
      return vgpu;
    }
  }
  return std::nullopt;
}

}  // namespace kgpu::host
