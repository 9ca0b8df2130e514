#include "src/host/features/pci_uevent.h"

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

constexpr uint64_t kMaxId = 0xffff;
constexpr uint64_t kMaxClass = 0xffffff;

// "10DE:20B0" as two ids.
bool ParsePair(std::string_view text, std::string& first, std::string& second) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  const std::optional<uint64_t> left = ParseUint(text.substr(0, colon), 16);
  const std::optional<uint64_t> right = ParseUint(text.substr(colon + 1), 16);
  if (!left || !right || *left > kMaxId || *right > kMaxId) {
    return false;
  }
  first = fmt::format("{:04x}", *left);
  second = fmt::format("{:04x}", *right);
  return true;
}

bool ParseClass(std::string_view text, std::string& out) {
  const std::optional<uint64_t> code = ParseUint(text, 16);
  if (!code || *code > kMaxClass) {
    return false;
  }
  out = fmt::format("{:04x}", *code >> 8);
  return true;
}

}  // namespace

std::optional<PciIds> ParsePciUevent(std::string_view text) {
  PciIds ids;
  bool has_class = false;
  bool has_id = false;
  bool has_subsystem = false;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == "PCI_CLASS") {
      has_class = ParseClass(value, ids.pci_class);
    } else if (key == "PCI_ID") {
      has_id = ParsePair(value, ids.vendor, ids.device);
    } else if (key == "PCI_SUBSYS_ID") {
      has_subsystem = ParsePair(value, ids.subsystem_vendor, ids.subsystem_device);
    }
  }
  if (!has_class || !has_id || !has_subsystem) {
    return std::nullopt;
  }
  return ids;
}

}  // namespace kgpu::features
