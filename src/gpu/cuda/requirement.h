// What an image says it needs of the host (NVIDIA_REQUIRE_*, CUDA_VERSION), held against what the
// host has. Pure, and done in time proportional to the text; docs/reference/requirements.md has the
// grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::cuda {

// One image's requirements may have so many bytes; those of NVIDIA's own have some 4,000.
inline constexpr size_t kRequirementLimit = size_t{64} << 10;

// An empty text is not known; conditions on what is not known count as met, as NVIDIA's own check
// counts them. So does a text that is no version.
struct GpuFacts {
  std::string name;                // for people: "GPU 0"; may be empty
  std::string compute_capability;  // "8.0"
  std::string brand;               // "tesla", in any case
};

struct HostFacts {
  std::string driver_version;  // "535.104.05"
  std::string cuda_version;    // "12.2": of the driver; where not known, taken from driver_version
  std::vector<GpuFacts> gpus;  // those that the container is to see; each must suffice
};

enum class Outcome : uint8_t { kSatisfied, kUnsatisfied, kMalformed };

// "satisfied", "unsatisfied", "malformed".
std::string_view ToString(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::kSatisfied;
  std::string reason;              // one line with the fix; empty when satisfied
  std::vector<std::string> notes;  // for people, whatever the outcome: what could not be judged
};

// One value of a NVIDIA_REQUIRE_* variable: "cuda>=12.4 brand=tesla,driver>=535,driver<536".
Verdict CheckRequirement(std::string_view expression, const HostFacts& host);

// All that an image's environment ("NAME=value", the last of equal names counts) asks for:
// every NVIDIA_REQUIRE_* but NVIDIA_REQUIRE_JETPACK*, and CUDA_VERSION where NVIDIA_REQUIRE_CUDA is
// not set. Satisfied when NVIDIA_DISABLE_REQUIRE is true.
Verdict CheckEnvironment(std::span<const std::string> environment, const HostFacts& host);

}  // namespace kgpu::cuda
