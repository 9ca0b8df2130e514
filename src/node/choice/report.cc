#include "src/node/choice/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::choice {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 4> kStates = {"waiting", "applied", "invalid", "unknown"};
constexpr std::string_view kApplied = "ConfigApplied";
constexpr std::string_view kInvalid = "ConfigInvalid";
constexpr std::string_view kUnknown = "ConfigUnknown";
constexpr std::string_view kRuns = "runs ";
// Limit for a message; kgpu config show has all of it.
constexpr size_t kMaxProblem = 800;

// The first error of a file stands for all.
std::string Short(const std::string& problem) {
  const std::vector<std::string_view> lines = Split(problem, '\n');
  std::string text(lines.front().substr(0, kMaxProblem));
  if (lines.size() > 1) {
    text += fmt::format("; and {} more: kgpu config show", lines.size() - 1);
  }
  return text;
}

std::string StateOf(const Condition& condition) {
  if (condition.reason == kApplied) {
    return std::string(ToString(State::kApplied));
  }
  if (condition.reason == kInvalid || condition.reason == kUnknown) {
    return std::string(ToString(condition.reason == kInvalid ? State::kInvalid : State::kUnknown));
  }
  return condition.reason;
}

}  // namespace

std::string_view ToString(State state) {
  return kStates.at(static_cast<size_t>(state));
}

std::string RunningText(const Report& report) {
  if (!report.is_running) {
    return "none";
  }
  if (!report.name.empty()) {
    return fmt::format("{} from {}", report.name, report.from);
  }
  return report.file.empty() ? "built in" : report.file;
}

// RowOf reads the message again: what runs, why in brackets, the problem after a semicolon.
std::optional<Condition> ConditionOf(const Report& report) {
  if (report.state == State::kWaiting || (!report.is_chosen_by_node && report.problem.empty())) {
    return std::nullopt;
  }
  const bool is_applied = report.state == State::kApplied;
  Condition condition{.status = is_applied ? "True" : "False",
                      .reason = std::string(is_applied                        ? kApplied
                                            : report.state == State::kUnknown ? kUnknown
                                                                              : kInvalid),
                      .message = fmt::format("{}{}", kRuns, RunningText(report))};
  if (report.is_running) {
    condition.message += fmt::format(" ({})", report.why);
  }
  if (!report.problem.empty()) {
    condition.message += fmt::format("; {}", Short(report.problem));
  }
  return condition;
}

NodeRow RowOf(std::string node, const std::optional<Condition>& condition) {
  NodeRow row{.node = std::move(node)};
  if (!condition) {
    row.config = row.chosen_by = "default";
    row.state = ToString(State::kApplied);
    return row;
  }
  row.state = StateOf(*condition);
  std::string_view text = condition->message;
  if (!text.starts_with(kRuns)) {
    row.problem = condition->message;
    return row;
  }
  text.remove_prefix(kRuns.size());
  const size_t end = std::min(text.find("; "), text.size());
  std::string_view runs = text.substr(0, end);
  row.problem = end == text.size() ? "" : text.substr(end + 2);
  if (const size_t bracket = runs.find(" ("); bracket != std::string_view::npos) {
    row.chosen_by = runs.substr(bracket + 2, runs.size() - bracket - 3);
    runs = runs.substr(0, bracket);
  }
  row.config = runs;
  return row;
}

std::string RowsTable(const std::vector<NodeRow>& rows) {
  report::Table table({"NODE", "CONFIG", "CHOSEN BY", "STATE", "PROBLEM"});
  for (const NodeRow& row : rows) {
    table.AddRow({row.node, row.config, row.chosen_by, row.state, row.problem});
  }
  return table.Render();
}

json::value RowsJson(const std::vector<NodeRow>& rows) {
  json::array list;
  for (const NodeRow& row : rows) {
    list.push_back(json::object{{"node", row.node},
                                {"config", row.config},
                                {"chosenBy", row.chosen_by},
                                {"state", row.state},
                                {"problem", row.problem}});
  }
  return json::object{{"nodes", std::move(list)}};
}

json::value ReportJson(const Report& report) {
  return json::object{{"name", report.name},
                      {"from", report.from},
                      {"file", report.file},
                      {"chosenBy", report.why},
                      {"state", doc::View(ToString(report.state))},
                      {"problem", report.problem},
                      {"notes", doc::Texts(report.notes)}};
}

std::string ReportTable(const Report& report) {
  std::string text = fmt::format("runs       {}\n", RunningText(report));
  if (!report.name.empty()) {
    text += fmt::format("file       {}\n", report.file);
  }
  if (!report.why.empty()) {
    text += fmt::format("chosen by  {}\n", report.why);
  }
  text += fmt::format("state      {}\n", ToString(report.state));
  for (const std::string_view line : Split(report.problem, '\n')) {
    if (!line.empty()) {
      text += fmt::format("problem    {}\n", line);
    }
  }
  for (const std::string& note : report.notes) {
    text += fmt::format("note       {}\n", note);
  }
  return text;
}

}  // namespace kgpu::choice
