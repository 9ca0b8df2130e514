// A GPU of nothing but time, in memory that the benchmark and each tenant's driver share: a tenant
// queues nanoseconds of work, and the benchmark does those of all tenants in turns.
#pragma once

#include <cstdint>

namespace kgpu::bench {

// In the tenant's current folder.
inline constexpr char kWorkFile[] = "work";

struct TimedWork {
  uint64_t queued;  // nanoseconds, since the beginning
  uint64_t done;    // of them
};

}  // namespace kgpu::bench
