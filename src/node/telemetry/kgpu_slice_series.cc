// kgpu_container_memory_limit_bytes, kgpu_container_compute_*: slices of GPUs.
#include <array>

#include "src/node/telemetry/follow.h"
#include "src/node/telemetry/series_tables.h"

namespace kgpu::telemetry {
namespace {

using enum metrics::Type;

constexpr double kSlicePercent = 100;

// Of this container on this device; null: it has no slice there.
const SliceFigures* FiguresOf(const ContainerView& view) {
  const auto& slices = view.gpu->slices;
  if (slices == nullptr) {
    return nullptr;
  }
  const std::string& device =
      view.mig == nullptr ? view.gpu->gpu->uuid.str() : view.mig->mig->uuid.str();
  for (const SliceFigures& figures : *slices) {
    if (figures.device_uuid == device && figures.user.pod == view.use->user.pod &&
        figures.user.pod_namespace == view.use->user.pod_namespace &&
        figures.user.container == view.use->user.container) {
      return &figures;
    }
  }
  return nullptr;
}

template <auto field, double divisor = 1.0>
void OfSlice(const ContainerView& view, Values& out) {
  if (const SliceFigures* figures = FiguresOf(view)) {
    out.Divided(Follow<field>(*figures), divisor);
  }
}

constexpr std::array kSlice = {
    Series{"kgpu_container_memory_limit_bytes", kGauge,
           "Device memory that the container's slices of the device allow. The configuration.",
           "bytes", "", Only(&OfSlice<&SliceFigures::memory_limit>)},
    Series{"kgpu_container_memory_peak_bytes", kGauge,
           "The most device memory that the container with a slice has used in a round. NVML's "
           "lists of processes.",
           "bytes", "", Only(&OfSlice<&SliceFigures::memory_peak>)},
    Series{"kgpu_container_memory_refused_total", kCounter,
           "Allocations that the container was refused by its limit, as its own ledger claims.", "",
           "", Only(&OfSlice<&SliceFigures::refused>)},
    Series{"kgpu_container_compute_share_ratio", kGauge,
           "The container's share of the device's time. The configuration.", "ratio", "",
           Only(&OfSlice<&SliceFigures::compute_share, kSlicePercent>)},
    Series{"kgpu_container_compute_target_ratio", kGauge,
           "What it is to have now: its share and its part of what others leave; absent while it "
           "need not wait for anybody.",
           "ratio", "", Only(&OfSlice<&SliceFigures::compute_target, kSlicePercent>)},
    Series{"kgpu_container_compute_error_ratio", kGauge,
           "Measured use less target; absent while nothing is controlled. "
           "nvmlDeviceGetProcessUtilization.",
           "ratio", "", Only(&OfSlice<&SliceFigures::compute_error, kSlicePercent>)},
    Series{"kgpu_container_compute_waited_seconds_total", kCounter,
           "Time that the container's threads have waited for their share, as its own ledger "
           "claims.",
           "seconds", "", Only(&OfSlice<&SliceFigures::waited_seconds>)},
};

}  // namespace

std::span<const Series> KgpuSliceSeries() {
  return kSlice;
}

}  // namespace kgpu::telemetry
