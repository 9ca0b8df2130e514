#include "src/cluster/chart/chart_files.h"

#include <algorithm>

namespace kgpu::chart {

const EmbeddedFile* FindChartFile(std::string_view path) {
  const std::span<const EmbeddedFile> files = ChartFiles();
  const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace kgpu::chart
