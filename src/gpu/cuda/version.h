// CUDA and driver versions as values of different types, never confused nor compared as text.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::cuda {

// Up to four numbers; missing ones are zero, so 12.2 equals 12.2.0.
using VersionNumbers = std::array<uint32_t, 4>;

// "12.4", "535.104.05". Errors: InvalidArgument (characters other than digits and dots, no leading
// digit, more than four numbers, a number of more than nine digits).
StatusOr<VersionNumbers> ParseVersionNumbers(std::string_view text);

// A CUDA version as programs and drivers name it, without the update (12.4.1 is 12.4).
struct CudaVersion {
  uint32_t major = 0;
  uint32_t minor = 0;

  // "12.4", "12.4.1", "12". Errors: as ParseVersionNumbers.
  static StatusOr<CudaVersion> Parse(std::string_view text);
  std::string str() const;  // "12.4"
  VersionNumbers numbers() const { return {major, minor, 0, 0}; }
  auto operator<=>(const CudaVersion&) const = default;
};

struct DriverVersion {
  VersionNumbers numbers{};

  // "535.104.05", "550.54", "580". Errors: as ParseVersionNumbers.
  static StatusOr<DriverVersion> Parse(std::string_view text);
  // As NVIDIA writes it: "535.104.05", "455.32", "580".
  std::string str() const;
  uint32_t branch() const { return numbers[0]; }
  auto operator<=>(const DriverVersion&) const = default;
};

// A GPU's compute capability: "8.0".
struct ComputeCapability {
  uint32_t major = 0;
  uint32_t minor = 0;

  // Errors: as ParseVersionNumbers.
  static StatusOr<ComputeCapability> Parse(std::string_view text);
  std::string str() const;
  VersionNumbers numbers() const { return {major, minor, 0, 0}; }
  auto operator<=>(const ComputeCapability&) const = default;
};

}  // namespace kgpu::cuda
