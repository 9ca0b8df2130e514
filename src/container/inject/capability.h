// Which parts of the driver a container needs, by the words of NVIDIA_DRIVER_CAPABILITIES, and
// which capability each driver library belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::inject {

enum class Capability : uint8_t {
  kCompute = 1 << 0,   // CUDA, OpenCL
  kUtility = 1 << 1,   // nvidia-smi, NVML
  kGraphics = 1 << 2,  // OpenGL, Vulkan, EGL
  kVideo = 1 << 3,     // encoding, decoding
  kDisplay = 1 << 4,   // X servers
  kNgx = 1 << 5,
  kCompat32 = 1 << 6,  // the 32-bit libraries of the others
};

// A set of capabilities.
class CapabilitySet {
 public:
  constexpr CapabilitySet() = default;
  // A single capability is a set of one.
  constexpr CapabilitySet(Capability one)  // NOLINT(google-explicit-constructor): a set of one
      : bits_(static_cast<uint8_t>(one)) {}
  constexpr bool Has(Capability one) const { return (bits_ & static_cast<uint8_t>(one)) != 0; }
  constexpr bool Meets(CapabilitySet other) const { return (bits_ & other.bits_) != 0; }
  constexpr CapabilitySet operator|(CapabilitySet other) const {
    CapabilitySet both;
    both.bits_ = bits_ | other.bits_;
    return both;
  }
  constexpr bool operator==(const CapabilitySet&) const = default;

 private:
  uint8_t bits_ = 0;
};

constexpr CapabilitySet operator|(Capability a, Capability b) {
  return CapabilitySet(a) | CapabilitySet(b);
}

inline constexpr CapabilitySet kDefaultCapabilities = Capability::kCompute | Capability::kUtility;
inline constexpr CapabilitySet kAllCapabilities = kDefaultCapabilities | Capability::kGraphics |
                                                  Capability::kVideo | Capability::kDisplay |
                                                  Capability::kNgx | Capability::kCompat32;

// "compute,utility", "all". Errors: InvalidArgument listing the known words.
StatusOr<CapabilitySet> ParseCapabilities(std::string_view text);
// In enumeration order: "compute,utility".
std::string ToString(CapabilitySet set);

// Which capabilities need the library `file_name` ("libcuda.so.535.104.05"). A driver library that
// is not in our table counts as a new part of compute and graphics.
CapabilitySet CapabilitiesOfLibrary(std::string_view file_name);

}  // namespace kgpu::inject
