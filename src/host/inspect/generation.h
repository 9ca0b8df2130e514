// A GPU's generation from its PCI device id alone: a driver must be chosen before any driver can be
// asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/cuda/version.h"
#include "src/platform/base/status.h"

namespace kgpu::host {

// In chronological order.
enum class Generation : uint8_t {
  kUnknown,
  kFermi,
  kKepler,
  kMaxwell,
  kPascal,
  kVolta,
  kTuring,
  kAmpere,
  kAda,
  kHopper,
  kBlackwell,
  kRubin,
};
std::string_view ToString(Generation generation);  // "kepler", …, "unknown"
// --gpu. Errors: InvalidArgument.
StatusOr<Generation> ParseGeneration(std::string_view text);
// The values it accepts, oldest first.
std::vector<std::string> GenerationNames();

// kUnknown for ids outside all ranges: older than Fermi, or newer than this table.
Generation GenerationOf(uint16_t device_id);

// Which drivers support a generation. A branch is the first number of the driver's version.
struct Support {
  unsigned first_branch = 0;  // the oldest that supports all of its GPUs
  unsigned last_branch = 0;   // the last that supports it; 0: no end is known
  bool can_open = false;      // NVIDIA's open kernel modules support it
  bool can_closed = true;     // the proprietary ones do
  // Its lowest capability, if a known CUDA version no longer supports that.
  std::optional<cuda::ComputeCapability> compute{};
};
Support SupportOf(Generation generation);

// GPUs of HGX boards with NVLink 5: the B100, the B200 and the B300.
bool IsHgxBlackwell(uint16_t device_id);
// The small single-chip one, without links to others.
bool IsGb10(uint16_t device_id);

// Superchips with Grace only work with the open modules, whatever the generation.
bool IsGrace(uint16_t device_id);

}  // namespace kgpu::host
