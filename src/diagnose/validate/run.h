// Lets one GPU compute, in a process of its own: a driver call that hangs or crashes costs that
// process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/validate/report.h"
#include "src/platform/base/status.h"

namespace kgpu::validate {

struct RunOptions {
  std::string program;                   // kgpu-cuda
  std::string version;                   // that it must have; empty: any
  std::string library;                   // libcuda.so.1
  std::vector<std::string> preloads;     // what that library loads by bare names
  std::vector<std::string> environment;  // all of the helper's
  std::string ptx;                       // empty: our own kernels
  uint64_t copy_bytes = uint64_t{64} << 20;
  std::chrono::milliseconds burn{0};
  // How long a phase may take; compiling takes seconds on a machine that is busy.
  std::chrono::milliseconds deadline{60'000};
  // The same for the phases in which the driver may have to start all GPUs of the machine: without
  // persistence that takes seconds for each, and more of them with confidential computing.
  std::chrono::milliseconds start_deadline{180'000};
  // Called once, when the driver has been silent for so long in such a phase.
  std::chrono::milliseconds patience{2'500};
  std::function<void()> on_silence{};
};

// Called as each phase begins.
using PhaseListener = std::function<void(std::string_view phase)>;

// Returns when the run has ended; a helper that outlives SIGKILL is left behind. A GPU that fails
// is a report. Errors: NotFound (no helper), FailedPrecondition (a helper of another version, or no
// helper of ours at all), ResourceExhausted. Thread: any.
StatusOr<Report> Run(const RunOptions& options, const PhaseListener& on_phase);

}  // namespace kgpu::validate
