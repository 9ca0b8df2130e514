#include "src/gpu/cuda/version.h"

#include <fmt/format.h>

#include <cstddef>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cuda {
namespace {

constexpr size_t kMostDigits = 9;  // fits 32 bits

Status NoVersion(std::string_view text) {
  return InvalidArgument("\"{}\" must be a version: numbers separated by dots, e.g. 12.4",
                         Printable(text, 40));
}

}  // namespace

StatusOr<VersionNumbers> ParseVersionNumbers(std::string_view text) {
  VersionNumbers numbers{};
  size_t count = 0;
  size_t i = 0;
  while (i < text.size()) {
    const size_t start = i;
    uint32_t number = 0;
    while (i < text.size() && IsDigit(text[i]) && i - start < kMostDigits) {
      number = number * 10 + static_cast<uint32_t>(text[i] - '0');
      ++i;
    }
    const bool is_end = i == text.size();
    if (i == start || count == numbers.size() || (!is_end && text[i] != '.')) {
      return NoVersion(text);
    }
    numbers.at(count++) = number;
    // A dot at the end is let pass, as NVIDIA's own reader does.
    i += is_end ? 0 : 1;
  }
  if (count == 0) {
    return NoVersion(text);
  }
  return numbers;
}

StatusOr<CudaVersion> CudaVersion::Parse(std::string_view text) {
  ASSIGN_OR_RETURN(const VersionNumbers numbers, ParseVersionNumbers(text));
  return CudaVersion{numbers[0], numbers[1]};
}

std::string CudaVersion::str() const {
  return fmt::format("{}.{}", major, minor);
}

StatusOr<DriverVersion> DriverVersion::Parse(std::string_view text) {
  ASSIGN_OR_RETURN(const VersionNumbers numbers, ParseVersionNumbers(text));
  return DriverVersion{numbers};
}

std::string DriverVersion::str() const {
  size_t count = numbers.size();
  while (count > 1 && numbers.at(count - 1) == 0) {
    --count;
  }
  std::string text = std::to_string(numbers[0]);
  for (size_t i = 1; i < count; ++i) {
    text += fmt::format(".{:02}", numbers.at(i));
  }
  return text;
}

StatusOr<ComputeCapability> ComputeCapability::Parse(std::string_view text) {
  ASSIGN_OR_RETURN(const VersionNumbers numbers, ParseVersionNumbers(text));
  return ComputeCapability{numbers[0], numbers[1]};
}

std::string ComputeCapability::str() const {
  return fmt::format("{}.{}", major, minor);
}

}  // namespace kgpu::cuda
