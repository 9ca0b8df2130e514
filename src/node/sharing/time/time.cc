#include "src/node/sharing/time/time.h"

#include "src/node/sharing/checks.h"

namespace kgpu::sharing {

constinit const TimeKind kTime;

void TimeKind::Check(const GivenFields& given, Share& /*share*/, const Refuse& refuse) const {
  if (!given.replicas) {
    refuse("replicas: missing: set the number of slots per device");
  }
  if (given.size || given.layout || given.memory) {
    refuse(
        "size, layout, context, pinned, unknown and onExcess are for by: memory and by: mps, "
        "compute is for by: memory: remove them");
  }
  RefuseThreads(given, refuse);
}

StatusOr<std::vector<Cut>> TimeKind::CutsOf(const Share& share,
                                            std::optional<Bytes> /*usable*/) const {
  return std::vector<Cut>{{.share = share, .slots = share.replicas}};
}

}  // namespace kgpu::sharing
