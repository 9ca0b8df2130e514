// News for tests.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "src/gpu/health/happening.h"

namespace kgpu::health {

inline device::GpuUuid TestGpu(unsigned number) {
  return device::GpuUuid::Parse(fmt::format("GPU-00000000-0000-0000-0000-0000000000{:02x}", number))
      .value();
}

// XID 79 on a GPU at a fixed time, `seconds` later.
inline Happening TestXid(unsigned gpu, HappeningKind kind = HappeningKind::kRaised,
                         int seconds = 0) {
  Happening news;
  news.kind = kind;
  news.when = WallTime(std::chrono::seconds(1'767'323'045 + seconds));
  news.gpu = TestGpu(gpu);
  news.rule = "Xid79";
  news.xid = 79;
  news.fault_class = FaultClass::kBus;
  news.action = Action::kReboot;
  news.is_unhealthy = true;
  news.message = "The GPU has fallen off the bus: restart the host.";
  return news;
}

}  // namespace kgpu::health
