#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "src/node/report/table.h"

namespace kgpu::bench {

double Samples::Quantile(double fraction) const {
  if (values_.empty()) {
    return 0;
  }
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  const auto rank =
      static_cast<size_t>(std::lround(fraction * static_cast<double>(sorted.size() - 1)));
  return sorted[rank];
}

double MedianRatio(const std::vector<double>& values, const std::vector<double>& floors) {
  Samples ratios;
  for (size_t i = 0; i < std::min(values.size(), floors.size()); ++i) {
    ratios.Add(values[i] / floors[i]);
  }
  return ratios.Median();
}

std::string RenderRows(const std::vector<Row>& rows) {
  report::Table table(
      {"what", "unit", "n", "p50", "p90", "max", "floor", "floor p50", "ratio", "budget"});
  for (const Row& row : rows) {
    const double floor = row.floor.Median();
    table.AddRow({row.what, row.unit, fmt::format("{}", row.samples.size()),
                  fmt::format("{:.2f}", row.samples.Median()),
                  fmt::format("{:.2f}", row.samples.Quantile(0.9)),
                  fmt::format("{:.2f}", row.samples.Quantile(1.0)), row.floor_name,
                  fmt::format("{:.2f}", floor),
                  floor > 0 ? fmt::format("{:.1f}x", row.samples.Median() / floor) : "",
                  row.budget});
  }
  return table.Render();
}

}  // namespace kgpu::bench
