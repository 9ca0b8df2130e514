// Log lines about the GPUs' health: few, whatever happens.
#pragma once

#include "src/gpu/health/health_event.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/log_budget.h"

namespace kgpu::faults {

// Lives on the loop's thread. Repeats and signs, mostly faults of programs, have a separate budget:
// a program that crashes in a loop hides no GPU fault.
class HealthLog {
 public:
  explicit HealthLog(const LogBudget::Options& options) : verdicts_(options), seen_(options) {}

  void Write(const health::HealthEvent& event, SteadyTime now);

 private:
  LogBudget verdicts_;
  LogBudget seen_;
};

}  // namespace kgpu::faults
