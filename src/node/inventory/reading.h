// The driver's raw answers from one pass over everything.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/gpu/nvml/abi.h"
#include "src/gpu/probe/report.h"
#include "src/platform/base/clock.h"

namespace kgpu::inventory {

struct GpuReading {
  nvml::Return result = nvml::kSuccess;  // of finding the GPU at all
  std::string hang{};                    // the call that did not return; empty if none
  bool is_garbled = false;               // the driver reported impossible values
  probe::GpuReport gpu;
  probe::NvLinkReport nvlinks;
  probe::TopologyReport topology;
  std::map<unsigned, probe::MigReport> mig_devices;  // by NVML's index
};

struct Reading {
  SteadyTime begun{};
  bool has_registered_events = false;  // for every GPU, before reading it
  probe::DriverReport driver;
  std::vector<GpuReading> gpus;  // by NVML index
};

}  // namespace kgpu::inventory
