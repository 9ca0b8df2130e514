#include "src/gpu/device/ids.h"

#include <limits>

#include "src/platform/base/strings.h"

namespace kgpu::device {
namespace {

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// 8-4-4-4-12 lower-case hex digits.
bool IsUuid(std::string_view text) {
  if (text.size() != 36) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' : !IsHex(text[i])) {
      return false;
    }
  }
  return true;
}

// "<uuid>/<gi>/<ci>" behind "MIG-GPU-", as drivers before 470 write it.
bool IsLegacyMigName(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '/');
  return parts.size() == 3 && IsUuid(parts[0]) && parts[1].size() <= 3 && parts[2].size() <= 3 &&
         ParseUint(parts[1]) && ParseUint(parts[2]);
}

// The text with lower-case digits after a prefix that must match exactly.
std::string LowerBehind(std::string_view prefix, std::string_view text) {
  return std::string(prefix) + ToLower(text.substr(prefix.size()));
}

std::optional<uint32_t> HexField(std::string_view text, size_t max_digits, uint32_t max_value) {
  if (text.empty() || text.size() > max_digits) {
    return std::nullopt;
  }
  for (const char c : text) {
    if (!IsHex(c)) {
      return std::nullopt;
    }
  }
  const std::optional<uint64_t> value = ParseUint(text, 16);
  if (!value || *value > max_value) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*value);
}

}  // namespace

StatusOr<GpuUuid> GpuUuid::Parse(std::string_view text) {
  constexpr std::string_view kPrefix = "GPU-";
  if (text.starts_with(kPrefix)) {
    const std::string lower = LowerBehind(kPrefix, text);
    if (IsUuid(std::string_view(lower).substr(kPrefix.size()))) {
      return GpuUuid(lower);
    }
  }
  return InvalidArgument("\"{}\" must be a GPU UUID: GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
                         Printable(text, 80));
}

StatusOr<MigUuid> MigUuid::Parse(std::string_view text) {
  constexpr std::string_view kPrefix = "MIG-";
  constexpr std::string_view kLegacyPrefix = "MIG-GPU-";
  if (text.starts_with(kLegacyPrefix)) {
    const std::string lower = LowerBehind(kLegacyPrefix, text);
    if (IsLegacyMigName(std::string_view(lower).substr(kLegacyPrefix.size()))) {
      return MigUuid(lower);
    }
  } else if (text.starts_with(kPrefix)) {
    const std::string lower = LowerBehind(kPrefix, text);
    if (IsUuid(std::string_view(lower).substr(kPrefix.size()))) {
      return MigUuid(lower);
    }
  }
  return InvalidArgument("\"{}\" must be a MIG UUID: MIG-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
                         Printable(text, 80));
}

StatusOr<PciBusId> PciBusId::Parse(std::string_view text) {
  const std::string lower = ToLower(text);
  const std::vector<std::string_view> parts = Split(lower, ':');
  const auto error = [text] {
    return InvalidArgument(
        "\"{}\" must be a PCI address: domain:bus:device.function, e.g. 0000:07:00.0",
        Printable(text, 40));
  };
  if (parts.size() != 3) {
    return error();
  }
  const std::vector<std::string_view> last = Split(parts[2], '.');
  if (last.size() != 2) {
    return error();
  }
  const auto domain = HexField(parts[0], 8, std::numeric_limits<uint32_t>::max());
  const auto bus = HexField(parts[1], 2, 0xff);
  const auto slot = HexField(last[0], 2, 0x1f);
  const auto function = HexField(last[1], 1, 0x7);
  if (!domain || !bus || !slot || !function) {
    return error();
  }
  return PciBusId{.domain = *domain,
                  .bus = static_cast<uint8_t>(*bus),
                  .device = static_cast<uint8_t>(*slot),
                  .function = static_cast<uint8_t>(*function)};
}

std::string PciBusId::str() const {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

std::string PciBusId::nvml_str() const {
  return fmt::format("{:08X}:{:02X}:{:02X}.{:X}", domain, bus, device, function);
}

}  // namespace kgpu::device
