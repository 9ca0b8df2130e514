// One pass over everything the driver says, as raw answers.
#pragma once

#include <map>
#include <vector>

#include "src/gpu/nvml/abi.h"
#include "src/gpu/probe/report.h"
#include "src/platform/base/clock.h"

namespace kgpu::inventory {

struct GpuReading {
  nvml::Return result = nvml::kSuccess;  // of finding the GPU at all
  bool is_garbled = false;               // the driver said impossible things of it
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
