#include "src/cli/gpu/health_look.h"

#include <memory>
#include <utility>

#include "src/gpu/health/one_look.h"
#include "src/platform/base/clock.h"

namespace kgpu::cli {
report::HealthReport ReportOf(const Observation& observation) {
  device::Snapshot snapshot = *observation.snapshot;
  report::HealthReport report;
  if (observation.samples) {
    report.overview.open = health::JudgeOnce(*observation.samples, RealClock(), snapshot.gpus);
  }
  report.snapshot = std::make_shared<const device::Snapshot>(std::move(snapshot));
  return report;
}

}  // namespace kgpu::cli
