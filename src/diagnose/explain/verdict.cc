#include "src/diagnose/explain/verdict.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "src/diagnose/explain/readers.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

const report::Finding* FirstBlocking(const Reasons& reasons) {
  const auto found = std::ranges::find_if(reasons, IsBlocking);
  return found == reasons.end() ? nullptr : &*found;
}

// The devices that the pod asks for: "2 free nvidia.com/gpu".
std::string FreeWanted(const Report& report) {
  std::vector<std::string> parts;
  for (const auto& [resource, amount] : report.wants) {
    if (IsExtended(resource)) {
      parts.push_back(fmt::format("{} free {}", amount, resource));
    }
  }
  return Join(parts, " and ");
}

// Whether devices alone keep the node from fitting.
bool LacksDevices(const NodeVerdict& node) {
  constexpr std::string_view kIds[] = {
      "gpu-in-use",           "gpu-withheld",    "gpu-too-few",           "resource-other",
      "resource-not-offered", "claim-no-device", "plugin-not-registered", "mig-layout-open"};
  return std::ranges::all_of(node.reasons, [&](const report::Finding& reason) {
    return !IsBlocking(reason) || std::ranges::find(kIds, reason.id) != std::end(kIds);
  });
}

std::string InShort(const NodeVerdict& node) {
  std::vector<std::string> ids;
  for (const report::Finding& reason : node.reasons) {
    if (IsBlocking(reason) && std::ranges::find(ids, reason.id) == ids.end()) {
      ids.emplace_back(reason.id);
    }
  }
  std::vector<std::string> stocks;
  for (const Stock& stock : node.stocks) {
    if (stock.allocatable.milli > 0) {
      stocks.push_back(fmt::format("{} free of {}", AmountText("", stock.free),
                                   AmountText("", stock.allocatable)));
    }
  }
  return fmt::format("{} {}({})", node.name,
                     stocks.empty() ? "" : fmt::format("has {} ", Join(stocks, ", ")),
                     Join(ids, ", "));
}

std::string NoNode(const Report& report) {
  constexpr size_t kNamed = 3;
  const bool is_by_devices =
      !FreeWanted(report).empty() && std::ranges::all_of(report.nodes, LacksDevices);
  std::string text = is_by_devices ? fmt::format("waits for a node with {}", FreeWanted(report))
                                   : "waits for a node that fits";
  for (size_t i = 0; i < std::min(kNamed, report.nodes.size()); ++i) {
    text += fmt::format("; {}", InShort(report.nodes[i]));
  }
  if (report.nodes.size() > kNamed) {
    text += fmt::format("; and {} more", report.nodes.size() - kNamed);
  }
  return text;
}

// Empty: nothing.
std::string SchedulerSays(const Report& report) {
  const auto says = std::ranges::find(report.reasons, "scheduler-says", &report::Finding::id);
  return says == report.reasons.end() ? "" : says->evidence.front();
}

// A user who may not list nodes can still read the scheduler's message.
std::string NotListed(const Report& report) {
  const std::string said = SchedulerSays(report);
  return said.empty()
             ? "no nodes were listed, so none could be checked"
             : fmt::format("the scheduler reported: {} (no nodes were listed to check it)", said);
}

std::string Pending(const Report& report) {
  if (const report::Finding* own = FirstBlocking(report.reasons)) {
    return fmt::format("{}: {}", own->message, own->evidence.front());
  }
  const auto fitting = std::ranges::count_if(report.nodes, &NodeVerdict::fits);
  if (fitting == 0) {
    if (report.nodes.empty()) {
      return report.other_nodes == 0 ? NotListed(report)
             : report.kind == "claim"
                 ? "waits for a node with devices: none has them"
                 : "waits for a node with GPUs or the requested resources: none has them";
    }
    return NoNode(report);
  }
  if (report.kind == "claim") {
    return fmt::format("waits for a pod that uses it; {} has devices for it",
                       report.nodes.front().name);
  }
  const std::string said = SchedulerSays(report);
  return fmt::format("waits for the scheduler{}; {} fits as far as checked{}",
                     said.empty() ? "" : fmt::format(", which reported: {}", said),
                     report.nodes.front().name,
                     fitting == 1 ? "" : fmt::format(", and {} more nodes", fitting - 1));
}

std::string Placed(const Report& report) {
  if (const report::Finding* own = FirstBlocking(report.reasons)) {
    if (own->id == "no-gpu-asked" && !report.node.empty()) {
      return fmt::format("on {} without a GPU: no container requests one", report.node);
    }
    return fmt::format("{}{}: {}", report.node.empty() ? "" : fmt::format("on {}: ", report.node),
                       own->message, own->evidence.front());
  }
  std::vector<std::string> asked;
  for (const auto& [resource, amount] : report.wants) {
    if (IsExtended(resource)) {
      asked.push_back(fmt::format("{} {}", amount, resource));
    } else if (resource.starts_with("claim ")) {
      asked.push_back(resource);
    }
  }
  if (report.state == State::kStarting) {
    return fmt::format("waits for its containers to start on {}, which has reserved {} for it",
                       report.node, Join(asked, ", "));
  }
  return fmt::format("{} {} on {}{}", report.state == State::kRunning ? "has" : "had",
                     Join(asked, ", "), report.node,
                     report.has.empty() ? "" : fmt::format(": {}", Join(report.has, "; ")));
}

}  // namespace

std::string VerdictOf(const Report& report) {
  std::string text;
  switch (report.state) {
    case State::kAbsent:
      // The last reason is why it was not created, and says most.
      text = report.reasons.empty() ? "" : report.reasons.back().evidence.front();
      break;
    case State::kPending:
      text = Pending(report);
      break;
    case State::kAllocated:
      text = Join(report.has, "; ");
      break;
    default:
      text = Placed(report);
  }
  return fmt::format("{}: {}", ToString(report.state), Printable(text, 1000));
}

std::string CardIn(std::string_view annotation, std::string_view uuid) {
  const auto cards = doc::ParseJson(annotation, "kgpu.dev/gpus", {.bytes = size_t{256} << 10});
  if (!cards.ok()) {
    return "";
  }
  std::string found;
  const json::value list = json::object{{"cards", *cards}};
  const auto look = [&](const json::value& card) {
    bool is_it = Text(card, {"uuid"}) == uuid;
    const auto look_mig = [&](const json::value& mig) { is_it |= Text(mig, {"uuid"}) == uuid; };
    ForEach(card, {"mig"}, look_mig);
    if (is_it) {
      found = fmt::format("{}, {}", Text(card, {"model"}), Text(card, {"pci"}));
    }
  };
  ForEach(list, {"cards"}, look);
  return found;
}

}  // namespace kgpu::explain
