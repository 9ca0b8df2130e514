// Counts the XIDs of one GPU once each, though two sources tell of them: NVML and the kernel's log.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "src/gpu/health/rule.h"
#include "src/platform/base/clock.h"

namespace kgpu::health {

class XidCounts {
 public:
  // How far apart the two tell of one XID, at most.
  static constexpr std::chrono::seconds kWindow{5};
  // Codes that are counted; further ones are counted together as kOther.
  static constexpr size_t kMaxCodes = 256;
  static constexpr uint64_t kOther = ~uint64_t{0};

  struct Count {
    uint64_t xid = 0;
    uint64_t count = 0;
    // Told by one source and not yet by the other.
    uint64_t awaited_of_driver = 0;
    uint64_t awaited_of_kernel = 0;
    SteadyTime last_of_driver{};
    SteadyTime last_of_kernel{};
  };

  // False: the other source reported this very XID a moment ago; nothing was counted.
  bool Note(uint64_t xid, Source source, SteadyTime now);
  const std::vector<Count>& counts() const { return counts_; }  // by code

 private:
  Count& At(uint64_t xid);
  std::vector<Count> counts_;
};

}  // namespace kgpu::health
