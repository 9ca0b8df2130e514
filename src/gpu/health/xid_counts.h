// Counts each XID of a GPU once, although two sources report it: NVML and the kernel log.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "src/gpu/health/rule.h"
#include "src/platform/base/clock.h"

namespace kgpu::health {

class XidCounts {
 public:
  // The maximum time between the two reports of one XID.
  static constexpr std::chrono::seconds kWindow{5};
  // Number of codes that are counted separately; all others are counted as kOther.
  static constexpr size_t kMaxCodes = 256;
  static constexpr uint64_t kOther = ~uint64_t{0};

  struct Count {
    uint64_t xid = 0;
    uint64_t count = 0;
    // Reported by one source and not yet by the other.
    uint64_t awaited_of_driver = 0;
    uint64_t awaited_of_kernel = 0;
    SteadyTime last_of_driver{};
    SteadyTime last_of_kernel{};
  };

  // False: the other source has just reported this same XID; not counted again.
  bool Note(uint64_t xid, Source source, SteadyTime now);
  const std::vector<Count>& counts() const { return counts_; }  // by code

 private:
  Count& At(uint64_t xid);
  std::vector<Count> counts_;
};

}  // namespace kgpu::health
