// All series: one table. Pages, `kgpu metrics list` and docs/reference/metrics.md all come from
// it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "src/node/telemetry/values.h"
#include "src/node/telemetry/views.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::telemetry {

// What a series has samples of. One series may cover several kinds of things.
struct Collectors {
  void (*node)(const PageViews&, Values&) = nullptr;
  void (*gpu)(const GpuView&, Values&) = nullptr;
  void (*mig)(const MigView&, Values&) = nullptr;
  void (*container)(const ContainerView&, Values&) = nullptr;
  void (*process)(const ProcessView&, Values&) = nullptr;
};

// For one kind of things only.
constexpr Collectors Only(void (*node)(const PageViews&, Values&)) {
  return {.node = node};
}
constexpr Collectors Only(void (*gpu)(const GpuView&, Values&)) {
  return {.gpu = gpu};
}
constexpr Collectors Only(void (*mig)(const MigView&, Values&)) {
  return {.mig = mig};
}
constexpr Collectors Only(void (*container)(const ContainerView&, Values&)) {
  return {.container = container};
}
constexpr Collectors Only(void (*process)(const ProcessView&, Values&)) {
  return {.process = process};
}

struct Series {
  std::string_view name;
  metrics::Type type = metrics::Type::kGauge;
  std::string_view help;    // names the source
  std::string_view unit;    // as OpenMetrics has it; "": none
  std::string_view labels;  // beside those of the thing: "link, type"
  Collectors collect{};     // none: the agent itself writes them
};

// The series of one name set, in the order of the page.
struct SeriesGroup {
  NameSet set = NameSet::kKgpu;
  std::string_view title;  // for people
  std::span<const Series> series;
};

// All groups.
std::vector<SeriesGroup> AllSeries();

}  // namespace kgpu::telemetry
