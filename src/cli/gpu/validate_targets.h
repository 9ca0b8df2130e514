// Which devices `kgpu validate` tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct ValidateTarget {
  std::string uuid;        // the device for CUDA; empty: CUDA's own choice
  std::string name;        // of an absent GPU
  std::string why_absent;  // why CUDA does not show a GPU that the host has; with the fix
  bool operator==(const ValidateTarget&) const = default;
};

// Every GPU and MIG device. A GPU that the host has but the driver does not show is absent, unless
// it is assigned to virtual machines (vfio-pci). Errors: FailedPrecondition (the driver does not
// answer), NotFound (no GPU).
StatusOr<std::vector<ValidateTarget>> AllTargets(const device::Snapshot& snapshot);

// The GPU or MIG device that `wanted` names (see device::FindDevice). A GPU in MIG mode stands for
// its MIG devices. If the driver's library does not answer, uses a UUID without checking it: CUDA
// may work without that library. Errors: InvalidArgument, NotFound, FailedPrecondition (in MIG mode
// without devices).
StatusOr<std::vector<ValidateTarget>> TargetsOf(const device::Snapshot& snapshot,
                                                std::string_view wanted);

}  // namespace kgpu::cli
