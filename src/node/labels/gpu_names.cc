#include "src/node/labels/gpu_names.h"

#include <cstddef>

#include "src/platform/base/ascii.h"

namespace kgpu::labels {
namespace {

constexpr size_t kMaxValue = 63;

bool IsNameBlank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::string SanitizedValue(std::string_view text) {
  std::string value;
  bool is_gap = false;
  for (const char c : text) {
    if (IsNameBlank(c)) {
      is_gap = true;
    } else if (IsAlphanumeric(c) || c == '-' || c == '_' || c == '.') {
      if (is_gap && !value.empty()) {
        value += '-';
      }
      is_gap = false;
      value += c;
    }
  }
  value.resize(std::min(value.size(), kMaxValue));
  // A value begins and ends with a letter or a digit.
  while (!value.empty() && !IsAlphanumeric(value.back())) {
    value.pop_back();
  }
  size_t first = 0;
  while (first < value.size() && !IsAlphanumeric(value[first])) {
    ++first;
  }
  return value.substr(first);
}

std::string_view GpuFamily(const device::ComputeCapability& compute) {
  switch (compute.major) {
    case 1:
      return "tesla";
    case 2:
      return "fermi";
    case 3:
      return "kepler";
    case 5:
      return "maxwell";
    case 6:
      return "pascal";
    case 7:
      return compute.minor < 5 ? "volta" : "turing";
    case 8:
      return compute.minor < 9 ? "ampere" : "ada-lovelace";
    case 9:
      return "hopper";
    case 10:
    case 12:
      return "blackwell";
    case 13:
      return "rubin";
    default:
      return "undefined";
  }
}

std::string_view GpuMode(uint32_t pci_class) {
  switch (pci_class) {
    case 0x0302:
      return "compute";
    case 0x0300:
      return "graphics";
    default:
      return "unknown";
  }
}

}  // namespace kgpu::labels
