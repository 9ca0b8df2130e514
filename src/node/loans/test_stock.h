// GPUs to lend, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/loans/choose.h"
#include "src/node/pools/assignment.h"
#include "src/node/sharing/memory/memory.h"
#include "testing/status_matchers.h"

namespace kgpu::loans {

inline device::GpuUuid TestGpu(unsigned index) {
  return *device::GpuUuid::Parse(fmt::format("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b{:04x}", index));
}

inline std::vector<device::GpuUuid> TestGpus(std::initializer_list<unsigned> indices) {
  std::vector<device::GpuUuid> gpus;
  for (const unsigned index : indices) {
    gpus.push_back(TestGpu(index));
  }
  return gpus;
}

// The slice of that number, of a GPU of TestStock.
inline slices::SliceSlot TestSlice(unsigned gpu, unsigned replica, uint64_t gibi) {
  return {.id = SlotIdOf(TestGpu(gpu), replica),
          .device_uuid = TestGpu(gpu).str(),
          .memory = GibiBytes(gibi),
          .share = {.by = &sharing::kMemory, .size = sharing::SliceSize{.bytes = GibiBytes(gibi)}}};
}

inline std::vector<std::string> IdsOf(const LentSlices& slices) {
  std::vector<std::string> ids;
  for (const slices::SliceSlot& slice : slices) {
    ids.push_back(slice.id);
  }
  return ids;
}

// A host with the GPUs of `models`, and what its configuration makes of them.
class TestStock {
 public:
  explicit TestStock(const std::vector<std::string>& models,
                     std::string_view pools = "pools:\n- provider: local\n") {
    snapshot_.driver.state = device::DriverState::kReady;
    for (const std::string& model : models) {
      device::Gpu& gpu = snapshot_.gpus.emplace_back();
      gpu.index = static_cast<unsigned>(snapshot_.gpus.size()) - 1;
      gpu.uuid = TestGpu(gpu.index);
      gpu.pci = {.domain = 0, .bus = static_cast<uint8_t>(gpu.index), .device = 0, .function = 0};
      gpu.model = model;
      gpu.name = "NVIDIA " + model;
      gpu.usable_memory = GibiBytes(model == "T4" ? 15 : 79);
    }
    const auto config = config::ParseNodeConfig(
        fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\n{}", pools), "n.yaml");
    EXPECT_OK(config);
    config_ = config.value_or(config::DefaultNodeConfig());
    Assign();
  }

  void Assign() { assignment_ = pools::AssignDevices(snapshot_, config_); }
  void MarkUnhealthy(unsigned index) {
    snapshot_.gpus.at(index).health = {
        .is_healthy = false, .reason = "Xid79", .message = "The GPU has fallen off the bus."};
    Assign();
  }

  device::Snapshot& snapshot() { return snapshot_; }
  pools::Assignment& assignment() { return assignment_; }
  std::map<std::string, std::string>& obstacles() { return obstacles_; }

  Stock stock() const {
    return {.config = &config_,
            .snapshot = &snapshot_,
            .assignment = assignment_,
            .obstacle = [this](const device::GpuUuid& gpu) {
              const auto found = obstacles_.find(gpu.str());
              return found == obstacles_.end() ? std::string() : found->second;
            }};
  }
  StatusOr<Choice> Choose(const LoanRequest& request, const Ledger& ledger = {}) const {
    return ChooseGpus(request, ledger, stock());
  }

 private:
  device::Snapshot snapshot_;
  config::NodeConfig config_;
  pools::Assignment assignment_;
  std::map<std::string, std::string> obstacles_;  // by UUID
};

}  // namespace kgpu::loans
