// Which generation a GPU is, from its PCI device id alone: the choice of a driver has to be made
// before any driver can be asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/cuda/version.h"
#include "src/platform/base/status.h"

namespace kgpu::driver {

// In the order of time.
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
// What that takes, the oldest first.
std::vector<std::string> GenerationNames();

// kUnknown for ids of no range: older than Fermi, or newer than this table.
Generation GenerationOf(uint16_t device_id);

// What drives a generation. Branches are the first number of the driver's version.
struct Support {
  unsigned first_branch = 0;  // the oldest that knows every GPU of it
  unsigned last_branch = 0;   // the last one that knows it; 0: no end is known
  bool can_open = false;      // NVIDIA's open kernel modules drive it
  bool can_closed = true;     // the proprietary ones do
  // The least of it, where a CUDA known here no longer takes that.
  std::optional<cuda::ComputeCapability> compute{};
};
Support SupportOf(Generation generation);

// GPUs of HGX boards with NVLink 5: the B100, the B200 and the B300.
bool IsHgxBlackwell(uint16_t device_id);
// The small one of a single chip, without links to others.
bool IsGb10(uint16_t device_id);

// Superchips with Grace have the open modules only, whatever the generation.
bool IsGrace(uint16_t device_id);

}  // namespace kgpu::driver
