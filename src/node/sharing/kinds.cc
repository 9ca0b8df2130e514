// The list of the ways to share a device: a new one is added here.
#include <array>

#include "src/node/sharing/kind.h"
#include "src/node/sharing/memory/memory.h"
#include "src/node/sharing/mig/mig.h"
#include "src/node/sharing/mps/mps.h"
#include "src/node/sharing/time/time.h"

namespace kgpu::sharing {

std::span<const Kind* const> Kinds() {
  static constexpr std::array<const Kind*, 4> kKinds = {&kTime, &kMemory, &kMps, &kMig};
  return kKinds;
}

}  // namespace kgpu::sharing
