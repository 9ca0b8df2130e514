#include "src/cli/mig/mig_deps.h"

#include <chrono>
#include <string>
#include <vector>

#include "src/cli/base/output.h"
#include "src/cli/mig/mig_evict.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/run.h"

namespace kgpu::cli {
namespace {

constexpr std::chrono::seconds kResetDeadline{120};
constexpr std::chrono::seconds kEvictGrace{10};

StatusOr<sys::RunResult> RunSmi(const host::DriverRoot& root, std::vector<std::string> arguments) {
  const std::string program = sys::FindProgram(root.driver, "nvidia-smi");
  if (program.empty()) {
    return FailedPrecondition("nvidia-smi: not found below {}: install it, then try again",
                              root.driver.path());
  }
  arguments.insert(arguments.begin(), program);
  sys::RealRunner runner;
  return runner.Run(sys::RequestOf(root.driver, std::move(arguments), kResetDeadline));
}

// Source: nvidia-smi(1), --gpu-reset.
Status ResetGpu(const host::DriverRoot& root, const mig::HostGpu& gpu) {
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   RunSmi(root, {"--gpu-reset", "-i", gpu.uuid.str()}));
  return result.IsSuccess()
             ? OkStatus()
             : FailedPrecondition(
                   "nvidia-smi --gpu-reset: {}: stop what has the GPU open (the kgpu agent, DCGM, "
                   "nvidia-persistenced), then try again",
                   sys::Describe(result));
}

}  // namespace

mig::ApplyDeps MigDepsOf(const MigOptions& options, const host::DriverRoot& root) {
  mig::ApplyDeps deps;
  deps.open = [&] { return OpenMigSession(options.host, root); };
  deps.reset = [&](const mig::HostGpu& gpu) { return ResetGpu(root, gpu); };
  if (options.may_evict) {
    deps.evict = [&](const mig::HostGpu&, const std::vector<const mig::User*>& users) {
      return EvictMigUsers(root.host, users, kEvictGrace);
    };
  }
  deps.note = [](std::string_view line) { PrintNote(line); };
  deps.undoing = [](const Status&) { PrintNote("undoing the changes"); };
  return deps;
}

// Source: nvidia-smi compute-policy --help.
Status SetTimeSlice(const host::DriverRoot& root, const std::string& gpu, unsigned time_slice) {
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   RunSmi(root, {"compute-policy", "-i", gpu, "--set-timeslice",
                                 fmt::format("{}", time_slice)}));
  return result.IsSuccess() ? OkStatus()
                            : FailedPrecondition("nvidia-smi compute-policy --set-timeslice: {}",
                                                 sys::Describe(result));
}

}  // namespace kgpu::cli
