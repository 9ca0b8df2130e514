// duty_cycle, memory_used, …: as GKE's device plugin names them, all of them gauges.
#include <array>

#include "src/node/telemetry/follow.h"
#include "src/node/telemetry/series_tables.h"

namespace kgpu::telemetry {
namespace {

using device::GpuSample;
using device::MemoryUse;
using device::Utilization;
using enum metrics::Type;

void CollectDutyCycle(const ContainerView& view, Values& out) {
  if (!view.is_owner()) {
    out.Put(view.use->sm);
  } else if (view.mig == nullptr) {
    out.Put(view.gpu->sample->utilization.duty_cycle);
  }
}

const std::optional<MemoryUse>& MemoryOf(const ContainerView& view) {
  return view.mig == nullptr ? view.gpu->sample->memory : view.mig->sample->memory;
}

void CollectMemoryTotal(const ContainerView& view, Values& out) {
  if (const auto& memory = MemoryOf(view)) {
    out.Put(static_cast<double>(memory->total.count));
  }
}

void CollectMemoryUsed(const ContainerView& view, Values& out) {
  if (!view.is_owner()) {
    out.Put(view.use->memory);
  } else if (const auto& memory = MemoryOf(view)) {
    out.Put(static_cast<double>(memory->used.count));
  }
}

void CollectRequest(const PageViews& views, Values& out) {
  for (const ResourceUse& use : views.resources()) {
    out.Put({{"namespace", use.user.pod_namespace},
             {"pod", use.user.pod},
             {"container", use.user.container},
             {"resource_name", use.resource}},
            use.count);
  }
}

constexpr std::array kGke = {
    Series{"duty_cycle", kGauge,
           "Time during which the container's GPU ran a kernel, over the last 10 s, percent.", "",
           "", Only(&CollectDutyCycle)},
    Series{"memory_total", kGauge, "Total memory of the container's GPU, bytes.", "", "",
           Only(&CollectMemoryTotal)},
    Series{"memory_used", kGauge, "Used memory of the container's GPU, bytes.", "", "",
           Only(&CollectMemoryUsed)},
    Series{"request", kGauge, "Devices of a resource allocated to the container.", "",
           "namespace, pod, container, resource_name", Only(&CollectRequest)},
    Series{"duty_cycle_gpu_node", kGauge,
           "Time during which the GPU ran a kernel, over the last 10 s, percent.", "", "",
           Only(&Plain<&GpuSample::utilization, &Utilization::duty_cycle>)},
    Series{"memory_total_gpu_node", kGauge, "Total memory of the GPU, bytes.", "", "",
           Only(&Plain<&GpuSample::memory, &MemoryUse::total>)},
    Series{"memory_used_gpu_node", kGauge, "Used memory of the GPU, bytes.", "", "",
           Only(&Plain<&GpuSample::memory, &MemoryUse::used>)},
};

}  // namespace

std::span<const Series> GkeSeries() {
  return kGke;
}

}  // namespace kgpu::telemetry
