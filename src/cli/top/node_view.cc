#include "src/cli/top/node_view.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/cli/top/figures.h"
#include "src/cli/top/header.h"
#include "src/cli/top/node_items.h"
#include "src/cli/top/node_layout.h"
#include "src/platform/base/strings.h"

namespace kgpu::top {
namespace {

using terminal::Color;
using terminal::Line;
using terminal::Look;
using terminal::Safe;

constexpr std::array<SortKey, 5> kNodeSorts = {
    {{'i', "index"}, {'u', "utilization"}, {'m', "memory"}, {'t', "temperature"}, {'p', "power"}}};

std::optional<double> MeasureOf(const LiveGpu& gpu, size_t sort) {
  switch (sort) {
    case 1:
      return gpu.utilization;
    case 2:
      return gpu.memory_used ? std::optional(static_cast<double>(*gpu.memory_used)) : std::nullopt;
    case 3:
      return gpu.temperature;
    case 4:
      return gpu.watts;
    default:
      return std::nullopt;
  }
}

// By index upwards, by measures downwards; GPUs without the figure come last either way.
void Sort(const ListState& state, std::vector<LiveGpu>& gpus) {
  std::ranges::stable_sort(gpus, {}, &LiveGpu::index);
  if (state.sort == 0) {
    if (state.is_reversed) {
      std::ranges::reverse(gpus);
    }
    return;
  }
  std::ranges::stable_sort(gpus, [&](const LiveGpu& a, const LiveGpu& b) {
    const std::optional<double> first = MeasureOf(a, state.sort);
    const std::optional<double> second = MeasureOf(b, state.sort);
    if (!first || !second) {
      return first.has_value() && !second;
    }
    return state.is_reversed ? *first < *second : *first > *second;
  });
}

std::string SpanText(const LiveDocument& document) {
  uint64_t seconds = 0;
  for (const LiveGpu& gpu : document.gpus) {
    seconds = std::max(seconds, gpu.history.step_seconds * gpu.history.utilization.size());
  }
  return seconds == 0    ? "HISTORY"
         : seconds < 120 ? fmt::format("LAST {}s", seconds)
                         : fmt::format("LAST {}m", seconds / 60);
}

std::string DriverText(const LiveDocument& document) {
  std::string text;
  if (!document.driver_version.empty()) {
    text = "driver " + document.driver_version;
  }
  if (!document.cuda_version.empty()) {
    text += fmt::format("{}CUDA {}", text.empty() ? "" : " ", document.cuda_version);
  }
  return text;
}

Line FirstLine(const LiveDocument& document, size_t columns, const Look& look) {
  Header header(columns, look);
  const size_t count = document.gpus.size();
  const auto wrong =
      static_cast<size_t>(std::ranges::count(document.gpus, false, &LiveGpu::is_healthy));
  header.Add("kgpu top", {.is_bold = true});
  header.Add(document.node);
  header.Add(fmt::format("{} GPU{}", count, count == 1 ? "" : "s"));
  if (wrong > 0) {
    header.Add(fmt::format("{} unhealthy", wrong), {.color = Color::kRed, .is_bold = true});
  }
  header.Add(ClockText(document.time));
  header.Add(DriverText(document));
  return header.line();
}

Line PoolsLine(const LiveDocument& document, size_t columns, const Look& look) {
  Header header(columns, look);
  for (const PoolUse& pool : document.pools) {
    header.Add(
        fmt::format("{} {}/{} used{}", pool.name, pool.used, pool.total,
                    pool.unhealthy == 0 ? "" : fmt::format(", {} unhealthy", pool.unhealthy)),
        {.color = pool.unhealthy == 0 ? Color::kNone : Color::kRed});
  }
  return header.line();
}

std::string DriverProblem(const LiveDocument& document) {
  return document.driver_reason.empty() ? "" : "driver: " + document.driver_reason;
}

}  // namespace

std::span<const SortKey> NodeSorts() {
  return kNodeSorts;
}

View NodeView(const LiveDocument& document, const ListState& state, size_t columns,
              const Look& look, const std::string& trouble) {
  LiveDocument sorted = document;
  Sort(state, sorted.gpus);
  const NodeLayout layout = LayOutNode(columns);
  View view{.sorts = kNodeSorts};
  view.header.push_back(FirstLine(document, columns, look));
  if (!document.pools.empty()) {
    view.header.push_back(PoolsLine(document, columns, look));
  }
  for (const std::string& problem : {trouble, document.problem, DriverProblem(document)}) {
    if (!problem.empty()) {
      view.header.emplace_back(Safe(problem, look), terminal::Style{.color = Color::kRed});
    }
  }
  view.columns = NodeColumns(layout, SpanText(document), look);
  view.rows = RowsOf(NodeItems(sorted, state, layout, look), state, layout.name, look);
  view.nothing = document.gpus.empty() ? "no GPUs" : "";
  return view;
}

}  // namespace kgpu::top
