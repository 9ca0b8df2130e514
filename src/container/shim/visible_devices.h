// Parses the texts in which containers request GPUs: NVIDIA_VISIBLE_DEVICES and its relatives.
// Source: internal/config/image of NVIDIA/nvidia-container-toolkit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::shim {

// No host has as many devices: a longer list is a mistake or an attack.
inline constexpr size_t kMostNames = 1024;
inline constexpr size_t kLongestList = size_t{64} << 10;
inline constexpr size_t kLongestName = 256;

// "kgpu.dev/gds=all", split in two.
struct CdiName {
  std::string kind;
  std::string device;
  bool operator==(const CdiName&) const = default;
  std::string str() const { return kind + "=" + device; }
};

struct DeviceList {
  enum class Kind : uint8_t {
    kNothing,     // unset, empty, "void": no container with GPUs
    kDriverOnly,  // "none": the driver's files without a GPU
    kDevices,
  };
  Kind kind = Kind::kNothing;
  bool all = false;
  std::vector<std::string> names;  // "0", "GPU-…", "MIG-…", "0:1", in the order given
  std::vector<CdiName> cdi;
  bool operator==(const DeviceList&) const = default;
};

// A comma-separated list; blanks around words are allowed. Errors: InvalidArgument naming the word
// and the rule: too long, too many, an invalid character, "none" together with devices.
StatusOr<DeviceList> ParseVisibleDevices(std::string_view text);

// A comma-separated list of names with a kind. Errors: InvalidArgument.
StatusOr<std::vector<CdiName>> ParseCdiNames(std::string_view text);

// One name with a kind. Errors: InvalidArgument.
StatusOr<CdiName> ParseCdiName(std::string_view text);

// NVIDIA_IMEX_CHANNELS: numbers below 2^20. Errors: InvalidArgument.
StatusOr<std::vector<std::string>> ParseImexChannels(std::string_view text);

}  // namespace kgpu::shim
