// Private to the module: reads a payload of fixed layout from bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::probe {

// Copies, since a message may be at any address.
template <typename T>
StatusOr<T> Read(std::span<const std::byte> bytes, std::string_view what) {
  if (bytes.size() != sizeof(T)) {
    return InvalidArgument("probe frame: {} has {} bytes, must have {}", what, bytes.size(),
                           sizeof(T));
  }
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace kgpu::probe
