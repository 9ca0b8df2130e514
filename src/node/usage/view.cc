#include "src/node/usage/view.h"

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "src/node/report/table.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::usage {
namespace {

namespace json = boost::json;

Hour FirstHour(const UsageQuery& query) {
  return std::chrono::floor<std::chrono::hours>(query.now - query.since);
}

Hour LastHour(const UsageQuery& query) {
  return std::chrono::floor<std::chrono::hours>(query.now);
}

std::string Hours(double seconds) {
  constexpr double kSecondsOfAnHour = 3600;
  return fmt::format("{:.2f}", seconds / kSecondsOfAnHour);
}

std::string BusyHours(const Amounts& amounts) {
  const auto busy = ReportedBusy(amounts);
  return busy ? Hours(*busy) : "-";
}

// How much of the time that it had GPUs a pod has used them.
std::string Share(const Amounts& amounts) {
  constexpr double kPercent = 100;
  const auto busy = ReportedBusy(amounts);
  if (!busy) {
    return "-";
  }
  return amounts.gpu_seconds <= 0 ? ""
                                  : fmt::format("{:.0f}%", kPercent * *busy / amounts.gpu_seconds);
}

Amounts SumOf(const std::vector<UsageRow>& rows) {
  Amounts sum;
  for (const UsageRow& row : rows) {
    sum += row.amounts;
  }
  return sum;
}

// Whole seconds: a double would be printed with an exponent.
json::object AmountsJson(const Amounts& amounts) {
  const auto busy = ReportedBusy(amounts);
  return {{"gpuSeconds", std::llround(amounts.gpu_seconds)},
          {"busyGpuSeconds", busy ? json::value(std::llround(*busy)) : json::value()},
          {"gibSeconds", std::llround(amounts.gib_seconds)}};
}

std::string TimeText(Hour hour) {
  return FormatTime(hour);
}

}  // namespace

StatusOr<GroupBy> ParseGroupBy(std::string_view what, std::string_view text) {
  if (text == "pod") {
    return GroupBy::kPod;
  }
  if (text == "namespace") {
    return GroupBy::kNamespace;
  }
  return InvalidArgument("{}: \"{}\" must be pod or namespace", what, Printable(text, 40));
}

std::vector<UsageRow> UsageRows(const Ledger& ledger, const UsageQuery& query) {
  std::map<PodName, Amounts> sums;
  ledger.ForEachBetween(
      FirstHour(query), LastHour(query), [&](Hour, const PodName& pod, const Amounts& amounts) {
        const bool is_pod = query.by == GroupBy::kPod;
        sums[{.pod_namespace = pod.pod_namespace, .pod = is_pod ? pod.pod : ""}] += amounts;
      });
  std::vector<UsageRow> rows;
  rows.reserve(sums.size());
  for (auto& [pod, amounts] : sums) {
    rows.push_back({.pod = pod, .amounts = amounts});
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const UsageRow& row) { return row.amounts.gpu_seconds; });
  return rows;
}

std::string UsageTable(const std::vector<UsageRow>& rows, const UsageQuery& query) {
  const bool is_pod = query.by == GroupBy::kPod;
  std::vector<std::string> header = {"NAMESPACE"};
  if (is_pod) {
    header.emplace_back("POD");
  }
  header.insert(header.end(), {"GPU-HOURS", "BUSY-HOURS", "BUSY %", "GIB-HOURS"});
  report::Table table(header);
  const auto add = [&](const PodName& pod, const Amounts& amounts) {
    std::vector<std::string> cells = {pod.pod_namespace};
    if (is_pod) {
      cells.push_back(pod.pod);
    }
    cells.insert(cells.end(), {Hours(amounts.gpu_seconds), BusyHours(amounts), Share(amounts),
                               Hours(amounts.gib_seconds)});
    table.AddRow(std::move(cells));
  };
  for (const UsageRow& row : rows) {
    add(row.pod, row.amounts);
  }
  add({.pod_namespace = "total", .pod = ""}, SumOf(rows));
  return fmt::format("Since {}\n{}", TimeText(FirstHour(query)), table.Render());
}

json::value UsageJson(const std::vector<UsageRow>& rows, const UsageQuery& query) {
  json::array list;
  for (const UsageRow& row : rows) {
    json::object fields{{"namespace", row.pod.pod_namespace}};
    if (query.by == GroupBy::kPod) {
      fields["pod"] = row.pod.pod;
    }
    for (const auto& amount : AmountsJson(row.amounts)) {
      fields[amount.key()] = amount.value();
    }
    list.push_back(std::move(fields));
  }
  return json::object{{"since", TimeText(FirstHour(query))},
                      {"usage", std::move(list)},
                      {"total", AmountsJson(SumOf(rows))}};
}

}  // namespace kgpu::usage
