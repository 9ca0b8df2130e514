#include "src/diagnose/explain/view.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/report/print.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

using doc::View;

constexpr size_t kLine = 1000;

json::value FreeJson(const Stock& stock) {
  return stock.is_free_known ? json::value(stock.free.milli / 1000) : json::value();
}

json::object StocksJson(const std::vector<Stock>& stocks) {
  json::object all;
  for (const Stock& stock : stocks) {
    all[View(stock.resource)] = json::object{{"capacity", stock.capacity.milli / 1000},
                                             {"allocatable", stock.allocatable.milli / 1000},
                                             {"free", FreeJson(stock)},
                                             {"own", stock.own.milli / 1000}};
  }
  return all;
}

std::string StockText(const NodeVerdict& node) {
  std::vector<std::string> parts;
  for (const Stock& stock : node.stocks) {
    std::string part = fmt::format("{} {} free of {}", stock.resource,
                                   stock.is_free_known ? AmountText("", stock.free) : "?",
                                   AmountText("", stock.allocatable));
    if (stock.own > Amount()) {
      part += fmt::format(", {} used by this pod", AmountText("", stock.own));
    }
    if (stock.capacity > stock.allocatable) {
      part += fmt::format(" (has {})", AmountText("", stock.capacity));
    }
    parts.push_back(std::move(part));
  }
  return Join(parts, ", ");
}

std::string NodeText(const NodeVerdict& node, bool is_judged, bool has_color) {
  return fmt::format(
      "{}: {}{}\n{}", Printable(node.name), StockText(node),
      is_judged && node.fits() ? "; fits" : "",
      report::FindingsText(node.reasons, {.has_color = has_color, .subject = node.name}));
}

std::string RestText(const Report& report, size_t from) {
  std::map<std::string_view, size_t> counts;
  for (size_t i = from; i < report.nodes.size(); ++i) {
    const auto first = std::ranges::find_if(report.nodes[i].reasons, IsBlocking);
    ++counts[first == report.nodes[i].reasons.end() ? "fits" : std::string_view(first->id)];
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [id, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, id));
  }
  return fmt::format("… and {} more nodes, by first reason: {} (use --all-nodes to show them)\n",
                     report.nodes.size() - from, Join(parts, ", "));
}

std::string NodesText(const Report& report, size_t max_nodes, bool has_color) {
  const bool is_judged = report.state == State::kPending;
  std::string text;
  for (size_t i = 0; i < std::min(max_nodes, report.nodes.size()); ++i) {
    text += NodeText(report.nodes[i], is_judged, has_color);
  }
  if (report.nodes.size() > max_nodes) {
    text += RestText(report, max_nodes);
  }
  if (is_judged && report.other_nodes > 0) {
    text += fmt::format("{} node{} without {} {} not shown\n", report.other_nodes,
                        report.other_nodes == 1 ? "" : "s",
                        report.kind == "claim" ? "such devices" : "GPUs",
                        report.other_nodes == 1 ? "is" : "are");
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

std::string ReportText(const Report& report, size_t max_nodes, bool has_color) {
  // A problem of the pod or claim itself is the same on every node: a few nodes are enough.
  constexpr size_t kFew = 3;
  if (report::HasError(report.reasons) && max_nodes != SIZE_MAX) {
    max_nodes = std::min(max_nodes, kFew);
  }
  std::string text = fmt::format("{}: {}\n", Printable(report.name), report.verdict);
  if (!report.wants.empty()) {
    std::vector<std::string> wants;
    wants.reserve(report.wants.size());
    for (const auto& [resource, amount] : report.wants) {
      wants.push_back(fmt::format("{} {}", resource, amount));
    }
    text += fmt::format("requests: {}\n", Printable(Join(wants, ", "), kLine));
  }
  for (const std::string& device : report.has) {
    text += fmt::format("has: {}\n", Printable(device, kLine));
  }
  if (!report.reasons.empty()) {
    text += fmt::format("\nThe {}\n", report.kind);
  }
  text += report::FindingsText(report.reasons, {.has_color = has_color, .subject = report.name});
  if (const std::string nodes = NodesText(report, max_nodes, has_color); !nodes.empty()) {
    text += fmt::format("\n{}", nodes);
  }
  text += ListText("Not checked", report.not_judged);
  text += ListText("Could not read", report.unreadable);
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
                                 {"findings", report::FindingsJson(node.reasons)}});
  }
  return json::object{{View(report.kind), View(report.name)},
                      {"healthy", IsHealthy(report)},
                      {"state", View(ToString(report.state))},
                      {"verdict", View(report.verdict)},
                      {"mayFitLater", MayFitLater(report)},
                      {"node", View(report.node)},
                      {"wants", std::move(wants)},
                      {"has", doc::Texts(report.has)},
                      {"findings", report::FindingsJson(report.reasons)},
                      {"nodes", std::move(nodes)},
                      {"otherNodes", report.other_nodes},
                      {"notJudged", doc::Texts(report.not_judged)},
                      {"unreadable", doc::Texts(report.unreadable)}};
}

}  // namespace kgpu::explain
