// The files of deploy/chart, embedded: kgpu renders the same chart that helm installs.
#pragma once

#include <span>
#include <string_view>

namespace kgpu::chart {

struct ChartFile {
  std::string_view path;  // below the chart's folder: "templates/agent.yaml"
  std::string_view text;
};

// Sorted by path.
std::span<const ChartFile> ChartFiles();
// Null if the chart has no such file.
const ChartFile* FindChartFile(std::string_view path);

}  // namespace kgpu::chart
