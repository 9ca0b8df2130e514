#include "src/cluster/chart/chart_files.h"

#include <algorithm>

namespace kgpu::chart {

const ChartFile* FindChartFile(std::string_view path) {
  const std::span<const ChartFile> files = ChartFiles();
  const auto found = std::ranges::find(files, path, &ChartFile::path);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace kgpu::chart
