// Verifies that the driver on a host is as a plan intended: checks everything, trusts nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/gpu/cuda/version.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// Sentences for people, in the order of the checks.
struct Verified {
  std::vector<std::string> passed;
  std::vector<std::string> failed;    // what is wrong, and how to start fixing it
  std::vector<std::string> warned{};  // what works now, but not for long
  std::vector<std::string> skipped;   // what could not be checked here, and why
  bool operator==(const Verified&) const = default;
};

// Requirements for a driver besides a version.
struct Demands {
  std::optional<cuda::CudaVersion> cuda{};  // it must fully support this
  std::optional<ModuleKind> kind{};
};

// Checks: the module exists for the kernel in the wanted version, DKMS reports it installed, the
// files of the driver's packages exist, the libraries have the module's version and are known to
// the dynamic linker; if that kernel runs: the module is loaded, its nodes exist, nouveau is not
// loaded. Runs the host's modinfo, dkms and rpm. An empty kernel means the running one, an empty
// version any. Changes nothing, never fails.
Verified VerifyDriver(const Verify& request, const Demands& demands, const host::DriverRoot& root,
                      sys::ProgramRunner& runner);

}  // namespace kgpu::driver
