// CDI specs of what GPU programs use besides GPUs: IMEX channels, GPUDirect Storage, GDRCopy, RDMA
// cards.
#pragma once

#include <string>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/gpu/device/snapshot.h"
#include "src/host/inspect/driver_root.h"

namespace kgpu::inject {

struct CompanionSpecs {
  std::vector<cdi::Spec> specs;
  std::vector<std::string> notes;  // for people: what was left out and why
};

// "kgpu.dev/gds", "nvidia.com/gds", …: all kinds that BuildCompanionSpecs returns, in order.
std::vector<std::string> CompanionKinds();

// One spec per kind, without devices if `snapshot` has none of it. An IMEX channel has a name
// of its own ("0") besides "all"; the others only have "all". `root` is searched for related
// files.
CompanionSpecs BuildCompanionSpecs(const device::Snapshot& snapshot, const host::DriverRoot& root);

}  // namespace kgpu::inject
