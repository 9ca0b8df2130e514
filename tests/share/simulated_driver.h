// The simulated driver, whose memory all processes share, below programs with the library.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "testing/driver/memory_ledger.h"
#include "testing/driver/running_server.h"
#include "testing/driver/sample_state.h"
#include "tests/share/container.h"

namespace kgpu::share {

inline constexpr char kGpuUuid[] = "GPU-00000000-0000-0000-0000-000000000000";

class ShareSimulatedDriverTest : public ::testing::Test {
 protected:
  ShareSimulatedDriverTest() {
    constexpr unsigned kNoDriver = 511;
    unsigned minor = 0;
    for (const char* node : {"dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia0", "dev/nvidia1"}) {
      has_nodes_ = has_nodes_ && root_.MakeCharDevice(node, kNoDriver, minor++);
    }
    (void)chmod(root_.path().c_str(), 0755);
    root_.MakeDir("usr/lib64");
    std::filesystem::copy_file(KGPU_CUDA_LIBRARY, root_.At("usr/lib64/libcuda.so.1"));
    std::filesystem::copy_file(KGPU_NVIDIA_ML, root_.At("usr/lib64/libnvidia-ml.so.1"));
    server_ = std::make_unique<sim::RunningServer>(root_.path(), *sim::SampleState(2));
  }
  void SetUp() override {
    if (!has_nodes_) {
      GTEST_SKIP() << "this machine does not let us make device nodes";
    }
  }
  // A container with 20 GiB of the GPU. A context costs what the simulated driver takes for one.
  std::unique_ptr<Container> Start(const std::string& more = "") const {
    auto container = std::make_unique<Container>("", root_.At("usr/lib64"));
    container->Write(0, "version 1\ndevice " + std::string(kGpuUuid) + "\nmemory " +
                            std::to_string(20480 * kMiB) + "\ncontext " +
                            std::to_string(kContext * kMiB) + "\n" + more);
    return container;
  }
  // MiB that the driver says all processes together have.
  uint64_t DriverUsed() const {
    uint64_t used = 0;
    server_->Look([&](const sim::SimState& state) {
      for (const sim::SimProcess& process : state.gpus[0].processes) {
        used += process.pid != 0 ? process.used_bytes : 0;
      }
    });
    return used / kMiB;
  }

  static constexpr uint64_t kContext = sim::kDefaultContextMib;
  TempDir root_;
  bool has_nodes_ = true;
  std::unique_ptr<sim::RunningServer> server_;
};

}  // namespace kgpu::share
