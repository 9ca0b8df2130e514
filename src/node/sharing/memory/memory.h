// share.by: memory. Each slot has a limit on device memory, and perhaps a part of the device's
// time; a library in the container keeps both.
#pragma once

#include "src/node/sharing/sliced.h"

namespace kgpu::sharing {

class MemoryKind final : public SlicedKind {
 public:
  constexpr MemoryKind()
      : SlicedKind({.name = "memory", .limits_memory = true, .is_lendable = true}) {}

  void Check(const GivenFields& given, Share& share, const Refuse& refuse) const override;
  Status CheckDevice(const Share& share, const Device& device) const override;
  StatusOr<std::vector<Cut>> CutsOf(const Share& share, std::optional<Bytes> usable) const override;
  std::string ShapeOf(const Share& share, const Limits& limits) const override;
};

extern const MemoryKind kMemory;

}  // namespace kgpu::sharing
