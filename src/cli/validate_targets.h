// Which devices `kgpu validate` lets compute.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct ValidateTarget {
  std::string uuid;        // what CUDA is to show; empty: what it shows by itself
  std::string name;        // of what is absent
  std::string why_absent;  // the host has this GPU and CUDA will not show it; with the fix
  bool operator==(const ValidateTarget&) const = default;
};

// Every GPU and MIG device. A GPU that the host has and the driver does not show is absent, unless
// it is given to virtual machines (vfio-pci). Errors: FailedPrecondition (the driver does not
// answer), NotFound (no GPU).
StatusOr<std::vector<ValidateTarget>> AllTargets(const device::Snapshot& snapshot);

// The GPU or MIG device that `wanted` names (see device::FindDevice). A GPU in MIG mode means its
// MIG devices. A UUID is taken as it is where the driver's library does not answer: CUDA may be
// there without it. Errors: InvalidArgument, NotFound, FailedPrecondition (in MIG mode without
// devices).
StatusOr<std::vector<ValidateTarget>> TargetsOf(const device::Snapshot& snapshot,
                                                std::string_view wanted);

}  // namespace kgpu::cli
