// Which pool takes which device: the first half of AssignDevices, before resources have names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/sharing/kind.h"

namespace kgpu::pools {

struct Claim {
  sharing::Device device;
  size_t pool = 0;
  bool is_by_strategy = false;  // a MIG device taken with its GPU, not named by the selector
};

struct Refusal {
  sharing::Device device;
  std::string reason;
  bool is_withdrawn = false;  // a pool selects it, but its MIG mode keeps programs from using it
};

struct Claims {
  std::vector<Claim> claims;      // by card, MIG device
  std::vector<Refusal> refusals;  // by card, MIG device: not taken, or not possible
};

// Every device of the snapshot is in one of the lists, by itself or as part of its whole GPU.
Claims ClaimDevices(const device::Snapshot& snapshot, const config::NodeConfig& config);

// Whether the MIG mode of a GPU keeps it from a pool that selects it.
bool IsSomeWithdrawn(const Claims& claims);

void SortByCard(std::vector<Refusal>& refusals);

config::MigStrategy StrategyOf(const config::NodeConfig& config, size_t pool);

// The first pool that selects the GPU as a whole.
std::optional<size_t> PoolOfGpu(const config::NodeConfig& config, const device::Gpu& gpu);

// Whether MIG devices of the GPU are made for claims, which reset no GPU.
bool MakesMigDevices(const config::NodeConfig& config, const device::Gpu& gpu);

// Whether those of them that belong to no claim go.
bool RemovesUnclaimed(const config::NodeConfig& config, const device::Gpu& gpu);

// "pools[1] (model=T4)".
std::string PoolName(const config::NodeConfig& config, size_t pool);

}  // namespace kgpu::pools
