// What a pool's settings must agree on, with each other and with those of other pools.
#pragma once

#include <vector>

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"
#include "src/platform/doc/located.h"

namespace kgpu::config {

// Where a pool's fields are, for errors; a field that is missing is where the pool is.
struct PoolPlaces {
  doc::Position resource;
  doc::Position devices;
  doc::Position mig;
  doc::Position share;
};

// Adds a problem for each pool that contradicts itself or an earlier one: resources that are shared
// in two ways, names that are both the kubelet's and local, local pools of anything but whole GPUs
// and memory slices of them.
// `places` has as many entries as `pools`.
void CheckPools(const std::vector<Pool>& pools, const std::vector<PoolPlaces>& places,
                Problems& problems);

}  // namespace kgpu::config
