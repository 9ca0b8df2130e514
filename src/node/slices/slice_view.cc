#include "src/node/slices/slice_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "src/node/report/table.h"
#include "src/platform/base/bytes.h"

namespace kgpu::slices {
namespace {

namespace json = boost::json;

void AddNumber(json::object& object, const char* key, const std::optional<double>& number) {
  if (number) {
    object[key] = *number;
  }
}

std::string Percent(const std::optional<double>& number) {
  return number ? fmt::format("{:.0f}%", *number) : "";
}

}  // namespace

json::array SliceFiguresJson(const std::vector<telemetry::SliceFigures>& slices) {
  json::array array;
  for (const telemetry::SliceFigures& slice : slices) {
    json::object object{
        {"namespace", slice.user.pod_namespace},   {"pod", slice.user.pod},
        {"container", slice.user.container},       {"device", slice.device_uuid},
        {"memoryLimit", slice.memory_limit.count}, {"memoryPeak", slice.memory_peak.count}};
    AddNumber(object, "refusedAllocations", slice.refused);
    AddNumber(object, "computeShare", slice.compute_share);
    AddNumber(object, "computeTarget", slice.compute_target);
    AddNumber(object, "computeError", slice.compute_error);
    AddNumber(object, "waitedSeconds", slice.waited_seconds);
    array.push_back(std::move(object));
  }
  return array;
}

std::string SliceTable(const std::vector<telemetry::SliceFigures>& slices) {
  if (slices.empty()) {
    return "";
  }
  const bool has_shares = std::ranges::any_of(
      slices, [](const telemetry::SliceFigures& slice) { return slice.compute_share.has_value(); });
  std::vector<std::string> head = {"CONTAINER", "DEVICE", "LIMIT", "PEAK", "REFUSED"};
  if (has_shares) {
    head.insert(head.end(), {"SHARE", "TARGET", "ERROR"});
  }
  report::Table table(std::move(head));
  for (const telemetry::SliceFigures& slice : slices) {
    std::vector<std::string> row = {
        fmt::format("{}/{}/{}", slice.user.pod_namespace, slice.user.pod, slice.user.container),
        slice.device_uuid, FormatQuantity(slice.memory_limit),
        fmt::format("{}Mi", slice.memory_peak.mebi()),
        slice.refused ? fmt::format("{:.0f}", *slice.refused) : ""};
    if (has_shares) {
      row.insert(row.end(), {Percent(slice.compute_share), Percent(slice.compute_target),
                             Percent(slice.compute_error)});
    }
    table.AddRow(std::move(row));
  }
  return "\n" + table.Render();
}

}  // namespace kgpu::slices
