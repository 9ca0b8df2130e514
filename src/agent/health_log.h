// Lines of the log about the GPUs' health: few, however much happens.
#pragma once

#include "src/agent/log_budget.h"
#include "src/gpu/health/health_event.h"
#include "src/platform/base/clock.h"

namespace kgpu::agent {

// Lives on the loop's thread. What is merely seen, the faults of programs mostly, has a budget of
// its own: a program that crashes in a circle hides no fault of a GPU.
class HealthLog {
 public:
  explicit HealthLog(const LogBudget::Options& options) : verdicts_(options), seen_(options) {}

  void Write(const health::HealthEvent& event, SteadyTime now);

 private:
  LogBudget verdicts_;
  LogBudget seen_;
};

}  // namespace kgpu::agent
