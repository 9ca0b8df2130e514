// Facts about a node with eight GPUs where everything is ok.
#pragma once

#include "src/node/object/chain.h"

namespace kgpu::node {

inline ChainFacts ReadyFacts() {
  ChainFacts facts;
  facts.gpus = 8;
  facts.driver = device::DriverState::kReady;
  facts.driver_version = "535.104.05";
  facts.handles = 8;
  facts.is_runtime_known = true;
  facts.is_cdi_written = true;
  facts.has_resources = true;
  facts.resources = {
      {.name = "nvidia.com/gpu", .devices = 8, .allocatable = 8, .is_registered = true}};
  facts.allocatable = Quantities{{"nvidia.com/gpu", "8"}};
  return facts;
}

}  // namespace kgpu::node
