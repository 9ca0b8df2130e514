// Which pool takes which device: the first half of AssignDevices, before resources have names.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"

namespace kgpu::pools {

// A GPU or, with `mig`, one of its MIG devices; both belong to the snapshot.
struct Device {
  const device::Gpu* gpu = nullptr;
  const device::MigDevice* mig = nullptr;

  const std::string& uuid() const { return mig != nullptr ? mig->uuid.str() : gpu->uuid.str(); }
};

struct Claim {
  Device device;
  size_t pool = 0;
  bool is_by_strategy = false;  // a MIG device taken with its GPU, not named by the selector
};

struct Refusal {
  Device device;
  std::string reason;
};

struct Claims {
  std::vector<Claim> claims;      // by card, MIG device
  std::vector<Refusal> refusals;  // by card, MIG device: not taken, or not possible
};

// Every device of the snapshot is in one of the lists, by itself or as part of its whole GPU.
Claims ClaimDevices(const device::Snapshot& snapshot, const config::NodeConfig& config);

void SortByCard(std::vector<Refusal>& refusals);

config::MigStrategy StrategyOf(const config::NodeConfig& config, size_t pool);

// "pools[1] (model=T4)".
std::string PoolName(const config::NodeConfig& config, size_t pool);

}  // namespace kgpu::pools
