// The parts of the table, by what they describe.
#pragma once

#include <span>

#include "src/node/telemetry/series.h"

namespace kgpu::telemetry {

std::span<const Series> KgpuNodeSeries();
std::span<const Series> KgpuUseSeries();        // of GPUs: utilisation, memory, heat, power, clocks
std::span<const Series> KgpuConditionSeries();  // of GPUs: errors, links, health
std::span<const Series> KgpuProfilingSeries();
std::span<const Series> KgpuMigSeries();
std::span<const Series> KgpuSliceSeries();      // of containers with slices of a GPU
std::span<const Series> KgpuContainerSeries();  // and of processes and pods
std::span<const Series> DcgmSeries();
std::span<const Series> GkeSeries();

}  // namespace kgpu::telemetry
