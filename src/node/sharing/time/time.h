// share.by: time. Containers take turns on the device, as the driver lets them; nothing limits
// their memory.
#pragma once

#include "src/node/sharing/kind.h"

namespace kgpu::sharing {

class TimeKind final : public Kind {
 public:
  constexpr TimeKind()
      : Kind({.name = "time",
              .foreign = {
                  .label = "time-slicing", .section = "timeSlicing", .gke = "time-sharing"}}) {}

  void Check(const GivenFields& given, Share& share, const Refuse& refuse) const override;
  StatusOr<std::vector<Cut>> CutsOf(const Share& share, std::optional<Bytes> usable) const override;
};

extern const TimeKind kTime;

}  // namespace kgpu::sharing
