// The flags by which people choose the values of the chart: of render and install.
#pragma once

#include <string>
#include <vector>

#include "src/cluster/chart/values.h"
#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

struct ChartValuesOptions {
  std::vector<std::string> files;
  std::vector<std::string> settings;
  std::string distribution;
  std::string name_space{chart::kNamespace};
};

// --values, --set, --for and --namespace.
void AddChartValuesOptions(CLI::App& command, ChartValuesOptions& options);
// Reads the files that the flags name. Errors: as ReadTextFile.
StatusOr<chart::ValuesRequest> ValuesRequestOf(const ChartValuesOptions& options);
// The values. Errors: as ValuesRequestOf and chart::ReadValues.
StatusOr<chart::Values> ReadChartValues(const ChartValuesOptions& options);

}  // namespace kgpu::cli
