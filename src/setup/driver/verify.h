// Whether the driver is on a host as a plan wanted it: looked at, never trusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/gpu/cuda/version.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// Sentences for people, in the order in which they were looked at.
struct Verified {
  std::vector<std::string> passed;
  std::vector<std::string> failed;    // what is wrong, and where its fix begins
  std::vector<std::string> warned{};  // what is healthy now, and not for long
  std::vector<std::string> skipped;   // what could not be looked at here, and why
  bool operator==(const Verified&) const = default;
};

// What may be asked of a driver besides a version.
struct Demands {
  std::optional<cuda::CudaVersion> cuda{};  // it must have all of it
  std::optional<ModuleKind> kind{};
};

// The module is there for the kernel and of the version wanted, DKMS calls it installed, the files
// of the driver's packages are there, the libraries are of the module's version and known to the
// dynamic linker; where that kernel runs:
// the module is loaded, its nodes are there, nouveau is not. Runs the host's modinfo, dkms and rpm.
// An empty kernel means the running one, an empty version any. Changes nothing, never fails.
Verified VerifyDriver(const Verify& request, const Demands& demands, const host::DriverRoot& root,
                      sys::ProgramRunner& runner);

}  // namespace kgpu::driver
