// A GPU of nothing but time, in memory that the benchmark and its tenants' drivers share: tenants
// queue nanoseconds of work, the benchmark does them in turns.
#pragma once

#include <cstdint>

namespace kgpu::bench {

inline constexpr unsigned kMostTenants = 4;

struct TimedGpu {
  struct Tenant {
    uint64_t queued;  // nanoseconds, since the beginning
    uint64_t done;    // of them
  };
  Tenant tenants[kMostTenants];
};

}  // namespace kgpu::bench
