// What the driver reports about this host's GPUs, through kgpu-probe.
#pragma once

#include <chrono>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"

namespace kgpu::doctor {

struct DriverAnswer {
  device::SnapshotPtr snapshot{};  // null: none before the deadline
  device::SampleSetPtr
      samples{};  // null: there were none before the deadline, or the driver is down
  std::chrono::milliseconds deadline{0};
  bool is_late = false;  // the deadline passed before the answer was complete

  bool is_ready() const {
    return snapshot && snapshot->driver.state == device::DriverState::kReady;
  }
  bool is_unresponsive() const {
    return is_late || (snapshot && snapshot->driver.state == device::DriverState::kUnresponsive);
  }
};

}  // namespace kgpu::doctor
