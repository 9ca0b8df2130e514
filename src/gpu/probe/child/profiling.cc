#include "src/gpu/probe/child/profiling.h"

#include <cstring>

#include "src/gpu/probe/child/clock.h"

namespace kgpu::probe::child {
namespace {

// The hardware's counters are of no use over less.
constexpr uint64_t kLeastApartUs = 100'000;

// By ProfilingField.
constexpr uint32_t kMetricIds[kProfilingFieldCount] = {
    nvml::kGpmGraphicsUtil,  nvml::kGpmSmUtil,
    nvml::kGpmSmOccupancy,   nvml::kGpmAnyTensorUtil,
    nvml::kGpmFp64Util,      nvml::kGpmFp32Util,
    nvml::kGpmFp16Util,      nvml::kGpmDramBandwidthUtil,
    nvml::kGpmPcieTx,        nvml::kGpmPcieRx,
    nvml::kGpmNvLinkTotalTx, nvml::kGpmNvLinkTotalRx};

void ReadMetrics(Driver& driver, nvml::GpmSample older, nvml::GpmSample newer,
                 ProfilingValues* values) {
  nvml::GpmMetrics metrics;
  memset(&metrics, 0,
         offsetof(nvml::GpmMetrics, metrics) + kProfilingFieldCount * sizeof(nvml::GpmMetric));
  metrics.version = nvml::kGpmMetricsVersion;
  metrics.count = kProfilingFieldCount;
  metrics.older = older;
  metrics.newer = newer;
  for (uint32_t i = 0; i < kProfilingFieldCount; ++i) {
    metrics.metrics[i].id = kMetricIds[i];
  }
  if (driver.Call(nvml::kGpmMetricsGet, &metrics) != nvml::kSuccess) {
    return;
  }
  for (uint32_t i = 0; i < kProfilingFieldCount; ++i) {
    if (metrics.metrics[i].nvml_return == nvml::kSuccess) {
      values->has |= 1U << i;
      values->values[i] = metrics.metrics[i].value;
    }
  }
}

}  // namespace

bool Profiling::IsSupported(Driver& driver, nvml::Device device) {
  if (support_ == Support::kUnknown) {
    nvml::GpmSupport support{.version = nvml::kGpmSupportVersion, .is_supported = 0};
    const nvml::Return result = driver.Call(nvml::kGpmQueryDeviceSupport, device, &support);
    support_ = result == nvml::kSuccess && support.is_supported != 0 ? Support::kYes : Support::kNo;
  }
  return support_ == Support::kYes;
}

void Profiling::Free(Driver& driver, Pair& pair) {
  if (pair.older != nullptr) {
    (void)driver.Call(nvml::kGpmSampleFree, pair.older);
  }
  if (pair.newer != nullptr) {
    (void)driver.Call(nvml::kGpmSampleFree, pair.newer);
  }
  memset(&pair, 0, sizeof(pair));
}

// Takes a sample and leaves in `values` what happened since the one before; those of before stay
// when that is too short ago. True while there was nothing to compare with.
template <typename Take>
bool Profiling::Advance(Driver& driver, Pair& pair, Take take) {
  const uint64_t now = MicrosecondsOf(CLOCK_MONOTONIC);
  if (pair.has_newer && now - pair.taken_us < kLeastApartUs) {
    return !pair.has_values;
  }
  memset(&pair.values, 0, sizeof(pair.values));
  if (pair.older == nullptr && driver.Call(nvml::kGpmSampleAlloc, &pair.older) != nvml::kSuccess) {
    pair.older = nullptr;
    return false;
  }
  if (take(pair.older) != nvml::kSuccess) {
    Free(driver, pair);
    return false;
  }
  nvml::GpmSample const taken = pair.older;
  pair.older = pair.newer;
  pair.newer = taken;
  pair.taken_us = now;
  if (!pair.has_newer) {
    pair.has_newer = true;
    return true;
  }
  ReadMetrics(driver, pair.older, pair.newer, &pair.values);
  pair.has_values = true;
  return false;
}

void Profiling::BeginRound(Driver& driver) {
  for (Pair& pair : instances_) {
    if (!pair.is_used && pair.has_newer) {
      Free(driver, pair);
    }
    pair.is_used = false;
  }
}

bool Profiling::ReadGpu(Driver& driver, nvml::Device device, ProfilingValues* values) {
  if (!IsSupported(driver, device)) {
    return false;
  }
  const bool is_first = Advance(driver, gpu_, [&](nvml::GpmSample sample) {
    return driver.Call(nvml::kGpmSampleGet, device, sample);
  });
  *values = gpu_.values;
  return is_first;
}

void Profiling::ReadInstance(Driver& driver, nvml::Device parent, uint32_t gpu_instance,
                             ProfilingValues* values) {
  if (gpu_instance >= kMaxGpuInstances || !IsSupported(driver, parent)) {
    return;
  }
  Pair& pair = instances_[gpu_instance];
  if (!pair.is_used) {
    (void)Advance(driver, pair, [&](nvml::GpmSample sample) {
      return driver.Call(nvml::kGpmMigSampleGet, parent, gpu_instance, sample);
    });
    pair.is_used = true;
  }
  *values = pair.values;
}

void Profiling::FreeAll(Driver& driver) {
  Free(driver, gpu_);
  for (Pair& pair : instances_) {
    Free(driver, pair);
  }
}

}  // namespace kgpu::probe::child
