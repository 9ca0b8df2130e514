#include "src/node/sharing/kind.h"

namespace kgpu::sharing {

constinit const Kind kWhole{Traits{.is_lendable = true}};

void Kind::Check(const GivenFields& /*given*/, Share& /*share*/, const Refuse& /*refuse*/) const {
}

std::vector<PoolProblem> Kind::CheckPool(const PoolFacts& /*facts*/) const {
  return {};
}

Status Kind::CheckReplicas(unsigned /*replicas*/) const {
  return OkStatus();
}

Status Kind::CheckDevice(const Share& /*share*/, const Device& /*device*/) const {
  return OkStatus();
}

StatusOr<std::vector<Cut>> Kind::CutsOf(const Share& share, std::optional<Bytes> /*usable*/) const {
  return std::vector<Cut>{{.share = share, .slots = 1}};
}

std::string Kind::ShapeOf(const Share& /*share*/, const Limits& /*limits*/) const {
  return "\n";
}

Status Kind::CheckRequest(std::span<const SlotPart> /*slots*/, const Share& /*share*/) const {
  return OkStatus();
}

Access Kind::AccessTo(std::span<const SlotPart> /*slots*/, const Share& /*share*/,
                      const Places& /*places*/) const {
  return {};
}

std::optional<Bytes> UsableMemory(const Device& device) {
  const std::optional<Bytes> usable =
      device.mig != nullptr ? device.mig->memory : device.gpu->usable_memory;
  // The part that drivers keep differs by some MiB from one start to the next.
  constexpr uint64_t kStep = MebiBytes(64).count;
  return usable ? std::optional(Bytes{usable->count / kStep * kStep}) : std::nullopt;
}

}  // namespace kgpu::sharing
