#include "src/diagnose/explain/explain.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/diagnose/explain/verdict.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

State StateOf(const Pod& pod) {
  if (pod.phase == "Succeeded") {
    return State::kSucceeded;
  }
  if (pod.phase == "Failed") {
    return State::kFailed;
  }
  if (pod.node.empty()) {
    return State::kPending;
  }
  const bool runs =
      !pod.statuses.empty() && std::ranges::all_of(pod.statuses, [](const ContainerStatus& status) {
        return status.is_running || status.exit_code == 0;
      });
  return pod.phase == "Running" && runs ? State::kRunning : State::kStarting;
}

bool Concerns(const Case& c, const Node& node) {
  if (HasGpus(node)) {
    return true;
  }
  for (const std::string& resource : c.devices) {
    if (AmountOf(node.capacity, resource).milli > 0 ||
        AmountOf(node.allocatable, resource).milli > 0) {
      return true;
    }
  }
  const bool has_gpu_resource = std::ranges::any_of(node.allocatable, [](const auto& entry) {
    return entry.first.starts_with("nvidia.com/") && entry.second.milli > 0;
  });
  return has_gpu_resource || (!c.pod.claims.empty() && c.slices.contains(node.name));
}

std::vector<Stock> StocksOf(const Case& c, const Node& node) {
  std::vector<Stock> stocks;
  stocks.reserve(c.devices.size());
  for (const std::string& resource : c.devices) {
    stocks.push_back({.resource = resource,
                      .capacity = AmountOf(node.capacity, resource),
                      .allocatable = AmountOf(node.allocatable, resource),
                      .free = c.FreeOn(node, resource)});
  }
  return stocks;
}

// The stocks of the node that the pod is on: the pod's own devices do not count as free.
std::vector<Stock> StocksWithPod(const Case& c, const Node& node, State state) {
  const bool has_ended = state == State::kSucceeded || state == State::kFailed;
  std::vector<Stock> stocks = StocksOf(c, node);
  for (Stock& stock : stocks) {
    stock.own = has_ended ? Amount() : AmountOf(c.wants, stock.resource);
    stock.free = std::max(stock.free - stock.own, Amount());
    stock.is_free_known = c.facts.Has("Pod");
  }
  return stocks;
}

bool IsNearer(const NodeVerdict& a, const NodeVerdict& b) {
  const auto blocks = [](const NodeVerdict& node) {
    return std::ranges::count_if(node.reasons, IsBlocking);
  };
  const auto free = [](const NodeVerdict& node) {
    return node.stocks.empty() ? 0 : node.stocks.front().free.milli;
  };
  return std::pair(blocks(a), -free(a)) < std::pair(blocks(b), -free(b));
}

void JudgeNodes(const Case& c, Report& report) {
  for (const Node& node : c.facts.nodes) {
    if (!Concerns(c, node)) {
      ++report.other_nodes;
      continue;
    }
    report.nodes.push_back(
        {.name = node.name, .stocks = StocksOf(c, node), .reasons = NodeReasons(c, node)});
  }
  SortBestFirst(report.nodes);
}

// For the node that a pod is on, judges only what still matters there.
void JudgeOwnNode(const Case& c, Report& report) {
  for (const Node& node : c.facts.nodes) {
    if (node.name != c.pod.node) {
      ++report.other_nodes;
      continue;
    }
    Reasons reasons = NodeReasons(c, node);
    std::erase_if(reasons, [](const report::Finding& reason) {
      return reason.id != "node-not-ready" && reason.id != "node-pressure" &&
             reason.id != "driver-too-old";
    });
    report.nodes.push_back({.name = node.name,
                            .stocks = StocksWithPod(c, node, report.state),
                            .reasons = std::move(reasons)});
  }
}

void FillWants(const Case& c, Report& report) {
  for (const auto& [resource, amount] : c.wants) {
    report.wants[resource] = AmountText(resource, amount);
  }
  for (const ClaimUse& use : c.pod.claims) {
    report.wants[fmt::format("claim {}", use.name)] =
        use.claim.empty() ? fmt::format("from template {}", use.made_from) : use.claim;
  }
}

// "A100-SXM4-80GB, 0000:07:00.0" of a device, from the node's annotation; empty: unknown.
std::string CardOf(const Case& c, std::string_view uuid) {
  for (const Node& node : c.facts.nodes) {
    const auto cards = node.annotations.find(std::string_view("kgpu.dev/gpus"));
    if (node.name == c.pod.node && cards != node.annotations.end()) {
      return CardIn(cards->second, uuid);
    }
  }
  return "";
}

void FillHas(const Case& c, Report& report) {
  for (const HeldDevice& device : c.facts.held) {
    const std::string_view uuid =
        std::string_view(device.id).substr(0, std::string_view(device.id).find("::"));
    const std::string card = CardOf(c, uuid);
    report.has.push_back(fmt::format(
        "{} {}{}{}", device.resource, device.id, card.empty() ? "" : fmt::format(" ({})", card),
        device.container.empty() ? "" : fmt::format(", container {}", device.container)));
  }
  for (const Claim* claim : c.claims) {
    for (const ClaimResult& result : claim->results) {
      report.has.push_back(fmt::format("claim {}: {}/{}/{}", claim->name, result.driver,
                                       result.pool, result.device));
    }
  }
}

void FillNotJudged(const Case& c, Report& report) {
  std::vector<std::string>& out = report.not_judged;
  const bool is_placed = !c.pod.node.empty();
  if (is_placed) {
    if (report.has.empty() && !c.devices.empty() && report.state == State::kRunning) {
      out.push_back(fmt::format(
          "the pod's devices: only the kubelet of {} knows them (run kgpu explain there)",
          c.pod.node));
    }
    return;
  }
  out = c.pod.not_judged;
  if (!c.facts.Has("Pod")) {
    out.emplace_back("users of the nodes' devices: no pods were listed");
  }
  if (!c.facts.Has("Node")) {
    out.emplace_back("nodes: none were listed");
  }
  if (!c.pod.runtime_class.empty() && !c.facts.Has("RuntimeClass")) {
    out.push_back(fmt::format("whether RuntimeClass {} exists", c.pod.runtime_class));
  }
  if (!c.pod.claims.empty()) {
    out.emplace_back(
        c.facts.Has("ResourceClaim")
            ? "which devices the claims' selectors (CEL) and constraints match: kgpu explain claim"
            : "resource claims: none were listed");
  }
  for (const std::string& resource : c.devices) {
    if (const DeviceClass* found = c.ClassOf(resource)) {
      out.push_back(
          fmt::format("{}: DRA's class {} provides it if the gate DRAExtendedResource is enabled "
                      "and no kubelet offers it",
                      resource, found->name));
    }
  }
  out.emplace_back("unscheduled pods for which the scheduler reserves room (nominated)");
  out.emplace_back("what the image itself requires of CUDA and driver");
}

// A command must be one line, whatever names it contains: a script may rely on it.
void Finish(std::string_view subject, Reasons& reasons) {
  const auto is_control = [](unsigned char c) { return c < ' '; };
  for (report::Finding& reason : reasons) {
    reason.subject = subject;
    for (std::string& line : reason.fix.commands) {
      std::ranges::replace_if(line, is_control, '?');
    }
  }
}

Report ExplainAbsent(const Facts& facts) {
  Report report{.name = fmt::format("{}/{}", facts.wanted_space, facts.wanted_name)};
  report.unreadable = facts.unreadable;
  report.reasons = AbsentReasons(facts);
  FinishReport(report);
  return report;
}

}  // namespace

void SortBestFirst(std::vector<NodeVerdict>& nodes) {
  std::ranges::stable_sort(nodes, IsNearer);
}

void FinishReport(Report& report) {
  Finish(report.name, report.reasons);
  for (NodeVerdict& node : report.nodes) {
    Finish(node.name, node.reasons);
  }
  report.verdict = VerdictOf(report);
}

std::string_view ToString(State state) {
  static constexpr std::array<std::string_view, 7> kWords = {
      "absent", "pending", "starting", "running", "succeeded", "failed", "allocated"};
  return kWords.at(static_cast<size_t>(state));
}

Report Explain(const Facts& facts) {
  if (!facts.pod) {
    return ExplainAbsent(facts);
  }
  const Case c(facts, *facts.pod);
  Report report{.name = c.pod.Title(), .state = StateOf(c.pod), .node = c.pod.node};
  report.unreadable = facts.unreadable;
  FillWants(c, report);
  FillHas(c, report);
  report.reasons = PodReasons(c);
  std::ranges::move(TroubleReasons(c), std::back_inserter(report.reasons));
  if (report.state == State::kPending && c.devices.empty() && c.pod.claims.empty()) {
    report.other_nodes = facts.nodes.size();
  } else if (report.state == State::kPending) {
    JudgeNodes(c, report);
  } else {
    JudgeOwnNode(c, report);
  }
  FillNotJudged(c, report);
  FinishReport(report);
  return report;
}

bool MayFitLater(const Report& report, OtherPods others) {
  // Reasons that pass without a new node, or another pod; others cause the last ones.
  static constexpr auto kPassing = std::to_array<std::string_view>(
      {"node-not-ready", "node-cordoned", "node-pressure", "gpu-gate-closed",
       "plugin-not-registered", "gpu-withheld", "mig-layout-open", "gpu-in-use", "quota-exceeded",
       "device-in-use", "device-capacity-short", "device-counter-short", "device-tainted",
       "device-pool-unusable", "device-unknown", "host-resources-short", "claim-no-device",
       "claim-elsewhere"});
  constexpr size_t kOfOthers = 3;
  const std::span passing(kPassing.data(),
                          kPassing.size() - (others == OtherPods::kLeftOut ? kOfOthers : 0));
  const auto are_passing = [passing](const Reasons& reasons) {
    return std::ranges::all_of(reasons, [passing](const report::Finding& reason) {
      return !IsBlocking(reason) || std::ranges::find(passing, reason.id) != passing.end();
    });
  };
  return report.state != State::kPending ||
         (are_passing(report.reasons) &&
          std::ranges::any_of(report.nodes, [&are_passing](const NodeVerdict& node) {
            return are_passing(node.reasons);
          }));
}

bool IsHealthy(const Report& report) {
  return (report.state == State::kRunning || report.state == State::kSucceeded ||
          report.state == State::kAllocated) &&
         !report::HasError(report.reasons);
}

}  // namespace kgpu::explain
