// share.by: mig. The agent gives each GPU a MIG layout; the slots are its MIG devices.
#pragma once

#include "src/node/sharing/kind.h"

namespace kgpu::sharing {

class MigKind final : public Kind {
 public:
  constexpr MigKind() : Kind({.name = "mig", .makes_devices = true}) {}

  void Check(const GivenFields& given, Share& share, const Refuse& refuse) const override;
  std::vector<PoolProblem> CheckPool(const PoolFacts& facts) const override;
  StatusOr<std::vector<Cut>> CutsOf(const Share& share, std::optional<Bytes> usable) const override;
};

extern const MigKind kMig;

}  // namespace kgpu::sharing
