// Tests only: an inventory over the real probe, a fake driver library and a folder as the
// host.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>

#include "src/gpu/probe/testdata/test_probe.h"
#include "src/host/inspect/driver_root.h"
#include "src/node/inventory/inventory.h"
#include "src/node/inventory/test_host.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::inventory {

class TestInventory : public ::testing::Test {
 protected:
  void SetUp() override {
    loop_ = *EpollLoop::Create();
    host_.AddGpu(0);
    host_.AddGpu(1);
    options_.probe_path = probe::kProbeProgram;
    options_.nvml_library = probe::kFakeNvml;
    options_.probe_environment = control_.environment();
    options_.first_backoff = std::chrono::milliseconds(5);
    options_.last_backoff = std::chrono::milliseconds(10);
    options_.kill_grace = std::chrono::milliseconds(50);
    options_.health.hold_down = std::chrono::milliseconds(30);
    options_.slow_poll = std::chrono::minutes(10);
  }

  TestHost host_;
  probe::FakeNvmlControl control_;
  InventoryOptions options_;
  std::unique_ptr<EpollLoop> loop_;
  std::optional<host::DriverRoot> root_;
};

}  // namespace kgpu::inventory
