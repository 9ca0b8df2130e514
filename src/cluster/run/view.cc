#include "src/cluster/run/view.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>

#include "src/kube/api/json.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/doc.h"

namespace kgpu::run {
namespace {

namespace json = boost::json;

using Row = std::array<std::string, 8>;

std::string AgeText(const std::string& created, WallTime now) {
  const auto time = ParseTime(created);
  if (!time.ok()) {
    return "-";
  }
  const auto seconds =
      std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - *time).count());
  if (seconds < 120) {
    return fmt::format("{}s", seconds);
  }
  const int64_t minutes = seconds / 60;
  const int64_t hours = minutes / 60;
  return minutes < 120 ? fmt::format("{}m", minutes)
         : hours < 48  ? fmt::format("{}h", hours)
                       : fmt::format("{}d", hours / 24);
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

}  // namespace

std::string RunsText(const std::vector<ShownRun>& runs, WallTime now) {
  if (runs.empty()) {
    return "no runs\n";
  }
  std::vector<Row> rows = {{"NAMESPACE", "NAME", "KIND", "GPUS", "STATE", "NODE", "AGE", "URL"}};
  for (const ShownRun& shown : runs) {
    const RunInfo& run = shown.run;
    rows.push_back({run.space, run.name, run.kind, std::to_string(run.gpus),
                    std::string(ToString(run.state)), OrDash(run.node), AgeText(run.created, now),
                    OrDash(shown.url)});
  }
  std::array<size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths.at(i) = std::max(widths.at(i), row.at(i).size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:<{}}  ", row.at(i), widths.at(i));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

json::value RunsJson(const std::vector<ShownRun>& runs) {
  json::array list;
  for (const ShownRun& shown : runs) {
    const RunInfo& run = shown.run;
    list.push_back({{"namespace", run.space},
                    {"name", run.name},
                    {"kind", run.kind},
                    {"image", run.image},
                    {"resource", run.resource},
                    {"gpus", run.gpus},
                    {"state", std::string(ToString(run.state))},
                    {"problem", run.problem},
                    {"pod", run.pod},
                    {"node", run.node},
                    {"created", run.created},
                    {"url", shown.url}});
  }
  return json::object{{"runs", std::move(list)}};
}

std::string ManifestText(std::vector<json::value> objects) {
  std::string text;
  for (json::value& object : objects) {
    if (kube::TextField(object, {"kind"}) == "Secret") {
      object.as_object()["stringData"].as_object()["token"] = "(random)";
    }
    text +=
        fmt::format("{}{}", text.empty() ? "" : "---\n", doc::Print(object, doc::Format::kYaml));
  }
  return text;
}

}  // namespace kgpu::run
