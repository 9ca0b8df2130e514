#include "src/node/telemetry/series.h"

#include <vector>

#include "src/node/telemetry/own_series.h"
#include "src/node/telemetry/series_tables.h"

namespace kgpu::telemetry {

std::vector<SeriesGroup> AllSeries() {
  return {
      {NameSet::kKgpu, "The node", KgpuNodeSeries()},
      {NameSet::kKgpu, "GPUs: utilization, temperature, power, clocks", KgpuUseSeries()},
      {NameSet::kKgpu, "GPUs: health, errors, links", KgpuConditionSeries()},
      {NameSet::kKgpu, "GPUs: performance monitors", KgpuProfilingSeries()},
      {NameSet::kKgpu, "MIG devices", KgpuMigSeries()},
      {NameSet::kKgpu, "Containers, processes, pods", KgpuContainerSeries()},
      {NameSet::kKgpu, "Containers with slices of GPUs", KgpuSliceSeries()},
      {NameSet::kKgpu, "The agent itself", kOwnSeries},
      {NameSet::kDcgm, "Names of NVIDIA's DCGM exporter", DcgmSeries()},
      {NameSet::kGke, "Names of GKE's device plugin", GkeSeries()},
  };
}

}  // namespace kgpu::telemetry
