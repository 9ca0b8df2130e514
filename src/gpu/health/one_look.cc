#include "src/gpu/health/one_look.h"

#include "src/gpu/health/fault_tracker.h"
#include "src/gpu/health/measures.h"

namespace kgpu::health {
namespace {

void Show(const FaultTracker& tracker, device::Gpu& gpu) {
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

std::vector<OpenFault> JudgeOnce(const device::SampleSet& samples, const Clock& clock,
                                 std::span<device::Gpu> gpus) {
  FaultTracker tracker(clock, {}, {});
  tracker.SetGpus(gpus);
  Measures measures(Measures::Span::kOneLook);
  measures.SetGpus(gpus);
  measures.Judge(samples, tracker);
  for (device::Gpu& gpu : gpus) {
    Show(tracker, gpu);
  }
  return tracker.Open();
}

}  // namespace kgpu::health
