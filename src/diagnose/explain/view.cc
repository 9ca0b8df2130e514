#include "src/diagnose/explain/view.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

constexpr size_t kLine = 1000;

json::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

json::array TextsJson(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) {
    list.push_back(View(text));
  }
  return list;
}

json::array ReasonsJson(const std::vector<Reason>& reasons) {
  json::array list;
  for (const Reason& reason : reasons) {
    list.push_back(json::object{{"id", View(reason.id)},
                                {"blocks", reason.is_blocking()},
                                {"title", View(KindOf(reason.id).title)},
                                {"evidence", View(reason.evidence)},
                                {"mend", TextsJson(reason.mend)}});
  }
  return list;
}

json::object StocksJson(const std::vector<Stock>& stocks) {
  json::object all;
  for (const Stock& stock : stocks) {
    all[View(stock.resource)] = json::object{{"capacity", stock.capacity.milli / 1000},
                                             {"allocatable", stock.allocatable.milli / 1000},
                                             {"free", stock.free.milli / 1000}};
  }
  return all;
}

std::string ReasonText(const Reason& reason) {
  std::string text =
      fmt::format("  {}{}: {}\n    {}\n", reason.is_blocking() ? "" : "(remark) ", reason.id,
                  KindOf(reason.id).title, Printable(reason.evidence, kLine));
  for (const std::string& line : reason.mend) {
    text += fmt::format("      {}\n", Printable(line, kLine));
  }
  return text;
}

std::string StockText(const NodeVerdict& node) {
  std::vector<std::string> parts;
  for (const Stock& stock : node.stocks) {
    std::string part = fmt::format("{} {} free of {}", stock.resource, AmountText("", stock.free),
                                   AmountText("", stock.allocatable));
    if (stock.capacity > stock.allocatable) {
      part += fmt::format(" (has {})", AmountText("", stock.capacity));
    }
    parts.push_back(std::move(part));
  }
  return Join(parts, ", ");
}

std::string NodeText(const NodeVerdict& node, bool is_judged) {
  std::string text = fmt::format("{}: {}{}\n", Printable(node.name), StockText(node),
                                 is_judged && node.fits() ? "; fits" : "");
  for (const Reason& reason : node.reasons) {
    text += ReasonText(reason);
  }
  return text;
}

std::string RestText(const Report& report, size_t from) {
  std::map<std::string_view, size_t> counts;
  for (size_t i = from; i < report.nodes.size(); ++i) {
    std::string_view id = "fits";
    for (const Reason& reason : report.nodes[i].reasons) {
      id = id == "fits" && reason.is_blocking() ? reason.id : id;
    }
    ++counts[id];
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [id, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, id));
  }
  return fmt::format("… and {} more nodes, by what stands first: {} (--all-nodes shows them)\n",
                     report.nodes.size() - from, Join(parts, ", "));
}

std::string NodesText(const Report& report, size_t max_nodes) {
  const bool is_judged = report.state == State::kPending;
  std::string text;
  for (size_t i = 0; i < std::min(max_nodes, report.nodes.size()); ++i) {
    text += NodeText(report.nodes[i], is_judged);
  }
  if (report.nodes.size() > max_nodes) {
    text += RestText(report, max_nodes);
  }
  if (is_judged && report.other_nodes > 0) {
    text += fmt::format("{} node{} without GPUs {} not shown\n", report.other_nodes,
                        report.other_nodes == 1 ? "" : "s", report.other_nodes == 1 ? "is" : "are");
  }
  return text;
}

std::string ListText(std::string_view title, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += fmt::format("  {}\n", Printable(line, kLine));
  }
  return text.empty() ? "" : fmt::format("\n{}:\n{}", title, text);
}

}  // namespace

std::string ReportText(const Report& report, size_t max_nodes) {
  // What is wrong with the pod itself no node mends: a few of them are enough.
  constexpr size_t kFew = 3;
  if (HasBlocking(report.reasons) && max_nodes != SIZE_MAX) {
    max_nodes = std::min(max_nodes, kFew);
  }
  std::string text = fmt::format("{}: {}\n", Printable(report.pod), report.verdict);
  if (!report.wants.empty()) {
    std::vector<std::string> wants;
    wants.reserve(report.wants.size());
    for (const auto& [resource, amount] : report.wants) {
      wants.push_back(fmt::format("{} {}", resource, amount));
    }
    text += fmt::format("asks for: {}\n", Printable(Join(wants, ", "), kLine));
  }
  for (const std::string& device : report.has) {
    text += fmt::format("has: {}\n", Printable(device, kLine));
  }
  if (!report.reasons.empty()) {
    text += "\nThe pod\n";
  }
  for (const Reason& reason : report.reasons) {
    text += ReasonText(reason);
  }
  if (const std::string nodes = NodesText(report, max_nodes); !nodes.empty()) {
    text += fmt::format("\n{}", nodes);
  }
  text += ListText("Not judged", report.not_judged);
  text += ListText("Not seen", report.unseen);
  return text;
}

json::value ReportJson(const Report& report) {
  json::object wants;
  for (const auto& [resource, amount] : report.wants) {
    wants[View(resource)] = View(amount);
  }
  json::array nodes;
  for (const NodeVerdict& node : report.nodes) {
    nodes.push_back(json::object{{"name", View(node.name)},
                                 {"fits", node.fits()},
                                 {"resources", StocksJson(node.stocks)},
                                 {"reasons", ReasonsJson(node.reasons)}});
  }
  return json::object{{"pod", View(report.pod)},
                      {"well", IsWell(report)},
                      {"state", View(ToString(report.state))},
                      {"verdict", View(report.verdict)},
                      {"node", View(report.node)},
                      {"wants", std::move(wants)},
                      {"has", TextsJson(report.has)},
                      {"reasons", ReasonsJson(report.reasons)},
                      {"nodes", std::move(nodes)},
                      {"otherNodes", report.other_nodes},
                      {"notJudged", TextsJson(report.not_judged)},
                      {"unseen", TextsJson(report.unseen)}};
}

}  // namespace kgpu::explain
