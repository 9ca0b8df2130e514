#include "src/node/telemetry/reference.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "src/node/report/table.h"
#include "src/node/telemetry/render.h"
#include "src/node/telemetry/series.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::telemetry {
namespace {

namespace json = boost::json;

using doc::View;

constexpr std::string_view kAgent = "agent";

// What the samples of a series describe.
std::vector<std::string> ThingsOf(const Series& series) {
  std::vector<std::string> things;
  const Collectors& collect = series.collect;
  const auto add = [&](bool is_collected, std::string_view thing) {
    if (is_collected) {
      things.emplace_back(thing);
    }
  };
  add(collect.node != nullptr, "node");
  add(collect.gpu != nullptr, "GPU");
  add(collect.mig != nullptr, "MIG");
  add(collect.container != nullptr, "container");
  add(collect.process != nullptr, "process");
  add(things.empty(), kAgent);
  return things;
}

template <typename Visit>
void ForEachGroup(NameSets names, const Visit& visit) {
  for (const SeriesGroup& group : AllSeries()) {
    if (names.Has(group.set)) {
      visit(group);
    }
  }
}

}  // namespace

std::string ReferenceTable(NameSets names) {
  report::Table table({"NAME", "TYPE", "OF", "LABELS", "MEANING"});
  ForEachGroup(names, [&](const SeriesGroup& group) {
    for (const Series& series : group.series) {
      table.AddRow({std::string(series.name),
                    std::string(TypeWord(series.type, metrics::Format::kOpenMetrics)),
                    Join(ThingsOf(series), ", "), std::string(series.labels),
                    std::string(series.help)});
    }
  });
  return table.Render();
}

json::value ReferenceJson(NameSets names) {
  json::array all;
  ForEachGroup(names, [&](const SeriesGroup& group) {
    for (const Series& series : group.series) {
      json::array things;
      for (const std::string& thing : ThingsOf(series)) {
        things.emplace_back(thing);
      }
      all.push_back(
          json::object{{"name", View(series.name)},
                       {"names", View(ToString(group.set))},
                       {"type", View(TypeWord(series.type, metrics::Format::kOpenMetrics))},
                       {"unit", View(series.unit)},
                       {"of", std::move(things)},
                       {"labels", View(series.labels)},
                       {"help", View(series.help)}});
    }
  });
  return json::object{{"series", std::move(all)}};
}

std::string ReferenceMarkdown(NameSets names) {
  std::string text;
  ForEachGroup(names, [&](const SeriesGroup& group) {
    if (!text.empty()) {
      text += '\n';
    }
    fmt::format_to(std::back_inserter(text),
                   "### {}\n"
                   "| Series | Type | Subject | Further labels | Meaning |\n"
                   "|---|---|---|---|---|\n",
                   group.title);
    for (const Series& series : group.series) {
      fmt::format_to(std::back_inserter(text), "| `{}` | {} | {} | {} | {} |\n", series.name,
                     TypeWord(series.type, metrics::Format::kOpenMetrics),
                     Join(ThingsOf(series), ", "), series.labels, series.help);
    }
  });
  return text;
}

std::vector<std::string> PatternsOfNothing(const std::vector<std::string>& patterns) {
  std::vector<std::string> idle;
  for (const std::string& pattern : patterns) {
    const bool is_idle = std::ranges::none_of(AllSeries(), [&](const SeriesGroup& group) {
      return std::ranges::any_of(group.series, [&](const Series& series) {
        return ThingsOf(series).front() != kAgent && FitsPattern(series.name, pattern);
      });
    });
    if (is_idle) {
      idle.push_back(pattern);
    }
  }
  return idle;
}

}  // namespace kgpu::telemetry
