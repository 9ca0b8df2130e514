// Tests one GPU in a separate process: a driver call that hangs or crashes only costs that
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
  std::string version;                   // the required version; empty: any
  std::string library;                   // libcuda.so.1
  std::vector<std::string> preloads;     // libraries that it loads by bare name
  std::vector<std::string> environment;  // the helper's whole environment
  std::string ptx;                       // empty: our own kernels
  uint64_t copy_bytes = uint64_t{64} << 20;
  std::chrono::milliseconds burn{0};
  // Limit for a phase; compiling takes seconds on a busy machine.
  std::chrono::milliseconds deadline{60'000};
  // The same for phases in which the driver may have to start all GPUs of the machine: without
  // persistence this takes seconds per GPU, and longer with confidential computing.
  std::chrono::milliseconds start_deadline{180'000};
  // Called once, if the driver is silent for this long in such a phase.
  std::chrono::milliseconds patience{2'500};
  std::function<void()> on_silence{};
};

// Called as each phase begins.
using PhaseListener = std::function<void(std::string_view phase)>;

// Returns when the run has ended; abandons a helper that survives SIGKILL. A GPU that fails is a
// report. Errors: NotFound (no helper), FailedPrecondition (a helper of another version, or not our
// helper), ResourceExhausted. Thread: any.
StatusOr<Report> Run(const RunOptions& options, const PhaseListener& on_phase);

}  // namespace kgpu::validate
