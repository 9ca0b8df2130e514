#include "src/cli/gpu/health_look.h"

#include <memory>
#include <utility>

#include "src/gpu/health/fault_tracker.h"
#include "src/gpu/health/measures.h"
#include "src/platform/base/clock.h"

namespace kgpu::cli {
namespace {

// A reason that is there already is the cause.
void Show(const health::FaultTracker& tracker, device::Gpu& gpu) {
  device::Gpu judged = gpu;
  tracker.Apply(judged);
  if (gpu.health.is_healthy) {
    gpu.health = judged.health;
  }
  for (size_t i = 0; i < gpu.mig_devices.size(); ++i) {
    if (gpu.mig_devices[i].health.is_healthy) {
      gpu.mig_devices[i].health = judged.mig_devices[i].health;
    }
  }
}

}  // namespace

report::HealthReport ReportOf(const Observation& observation) {
  device::Snapshot snapshot = *observation.snapshot;
  report::HealthReport report;
  if (observation.samples) {
    const RealClock clock;
    health::FaultTracker tracker(clock, {}, {});
    tracker.SetGpus(snapshot.gpus);
    health::Measures().Judge(*observation.samples, tracker);
    for (device::Gpu& gpu : snapshot.gpus) {
      Show(tracker, gpu);
    }
    report.overview.open = tracker.Open();
  }
  report.snapshot = std::make_shared<const device::Snapshot>(std::move(snapshot));
  return report;
}

}  // namespace kgpu::cli
