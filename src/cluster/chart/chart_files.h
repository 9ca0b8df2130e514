// The files of deploy/chart, embedded: kgpu renders the same chart that helm installs.
#pragma once

#include <span>
#include <string_view>

#include "src/platform/base/embedded_file.h"

namespace kgpu::chart {

// Sorted by path.
std::span<const EmbeddedFile> ChartFiles();
// Null if the chart has no such file.
const EmbeddedFile* FindChartFile(std::string_view path);

}  // namespace kgpu::chart
