// Checked values of the payloads in mig_protocol.h. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/device/mig.h"
#include "src/gpu/nvml/abi.h"
#include "src/platform/base/status.h"

namespace kgpu::probe {

struct ComputeInstanceReport {
  unsigned id = 0;
  unsigned slices = 0;
  bool operator==(const ComputeInstanceReport&) const = default;
};

struct GpuInstanceReport {
  unsigned id = 0;
  unsigned profile_id = 0;
  unsigned start = 0;  // memory slices
  unsigned size = 0;
  std::vector<ComputeInstanceReport> compute;  // by id
  bool operator==(const GpuInstanceReport&) const = default;
};

struct MigLayoutReport {
  device::MigMode mode;
  std::vector<GpuInstanceReport> instances;  // by start
};

struct MigModeReport {
  nvml::Return activation = nvml::kSuccess;  // why the mode is only pending
  device::MigMode mode;
};

// Where a new instance is.
struct CreatedInstance {
  unsigned id = 0;
  unsigned start = 0;
  unsigned size = 0;
};

// Errors: InvalidArgument naming the value that is out of range.
//
// Profiles for which the driver names a placement; a name that it does not say is empty.
StatusOr<std::vector<device::MigProfile>> DecodeMigProfiles(std::span<const std::byte> payload);
StatusOr<MigLayoutReport> DecodeMigLayout(std::span<const std::byte> payload);
StatusOr<MigModeReport> DecodeMigMode(std::span<const std::byte> payload);
StatusOr<CreatedInstance> DecodeGpuInstance(std::span<const std::byte> payload);
StatusOr<unsigned> DecodeComputeInstance(std::span<const std::byte> payload);

}  // namespace kgpu::probe
