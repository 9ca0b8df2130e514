// Device names as types of their own, so that a GPU's UUID, a MIG device's UUID and a PCI address
// cannot be confused.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::device {

// "GPU-" and a UUID: 8-4-4-4-12 lower-case hex digits. Source: nvmlDeviceGetUUID.
class GpuUuid {
 public:
  GpuUuid() = default;
  // Errors: InvalidArgument. Accepts upper-case digits and lowers them.
  static StatusOr<GpuUuid> Parse(std::string_view text);
  const std::string& str() const { return text_; }
  auto operator<=>(const GpuUuid&) const = default;

 private:
  explicit GpuUuid(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// "MIG-" and a UUID; also "MIG-GPU-<uuid>/<gi>/<ci>", the form before driver 470, unchanged.
class MigUuid {
 public:
  MigUuid() = default;
  static StatusOr<MigUuid> Parse(std::string_view text);
  const std::string& str() const { return text_; }
  auto operator<=>(const MigUuid&) const = default;

 private:
  explicit MigUuid(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// A PCI function: domain, bus, device, function. NVML writes "00000000:07:00.0", the kernel
// "0000:07:00.0"; both are accepted, and str() returns the kernel's form (sysfs names).
struct PciBusId {
  uint32_t domain = 0;
  uint8_t bus = 0;
  uint8_t device = 0;
  uint8_t function = 0;

  // Errors: InvalidArgument.
  static StatusOr<PciBusId> Parse(std::string_view text);
  std::string str() const;
  // With eight domain digits, upper case, as NVML and nvidia-smi print it.
  std::string nvml_str() const;
  auto operator<=>(const PciBusId&) const = default;
};

}  // namespace kgpu::device
