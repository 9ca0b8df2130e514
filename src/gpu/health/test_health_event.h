// Health events for tests.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "src/gpu/health/health_event.h"

namespace kgpu::health {

inline device::GpuUuid TestGpu(unsigned number) {
  return device::GpuUuid::Parse(fmt::format("GPU-00000000-0000-0000-0000-0000000000{:02x}", number))
      .value();
}

// XID 79 on a GPU, `seconds` after a fixed time.
inline HealthEvent TestXid(unsigned gpu, HealthEventKind kind = HealthEventKind::kRaised,
                           int seconds = 0) {
  HealthEvent event;
  event.kind = kind;
  event.when = WallTime(std::chrono::seconds(1'767'323'045 + seconds));
  event.gpu = TestGpu(gpu);
  event.rule = "Xid79";
  event.xid = 79;
  event.fault_class = FaultClass::kBus;
  event.action = Action::kReboot;
  event.is_unhealthy = true;
  event.message = "The GPU has fallen off the bus: restart the host.";
  return event;
}

}  // namespace kgpu::health
