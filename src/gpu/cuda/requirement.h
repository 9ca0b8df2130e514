// Checks what an image requires of the host (NVIDIA_REQUIRE_*, CUDA_VERSION) against what
// the host has. Pure, in time linear in the text; docs/reference/requirements.md has the
// grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::cuda {

// Size limit in bytes for one image's requirements; those of NVIDIA's own images have some 4,000.
inline constexpr size_t kRequirementLimit = size_t{64} << 10;

// An empty text means unknown, as does a text that is no version; conditions on unknown values
// count as met, as in NVIDIA's own check.
struct GpuFacts {
  std::string name;                // for people: "GPU 0"; may be empty
  std::string compute_capability;  // "8.0"
  std::string brand;               // "tesla", in any case
};

struct HostFacts {
  std::string driver_version;  // "535.104.05"
  std::string cuda_version;    // "12.2": of the driver; where not known, taken from driver_version
  std::vector<GpuFacts> gpus;  // those that the container will see; each must suffice
};

enum class Outcome : uint8_t { kSatisfied, kUnsatisfied, kMalformed };

// "satisfied", "unsatisfied", "malformed".
std::string_view ToString(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::kSatisfied;
  std::string reason;              // one line with the fix; empty if satisfied
  std::vector<std::string> notes;  // for people, whatever the outcome: what could not be checked
};

// Checks one NVIDIA_REQUIRE_* value: "cuda>=12.4 brand=tesla,driver>=535,driver<536".
Verdict CheckRequirement(std::string_view expression, const HostFacts& host);

// Checks everything that an image's environment ("NAME=value"; the last of equal names counts)
// requires: each NVIDIA_REQUIRE_* except NVIDIA_REQUIRE_JETPACK*, and CUDA_VERSION if
// NVIDIA_REQUIRE_CUDA is not set. Satisfied if NVIDIA_DISABLE_REQUIRE is true.
Verdict CheckEnvironment(std::span<const std::string> environment, const HostFacts& host);

}  // namespace kgpu::cuda
