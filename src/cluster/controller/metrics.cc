#include "src/cluster/controller/metrics.h"

#include <array>
#include <string_view>

#include "src/platform/metrics/exposition.h"

namespace kgpu::controller {
namespace {

using metrics::Exposition;
using metrics::Type;

struct Series {
  std::string_view name;
  std::string_view help;
  size_t GroupSummary::* value;
};

constexpr std::array<Series, 7> kSeries = {{
    {"kgpu_controller_group_nodes", "Nodes with GPUs in a group of a GpuPolicy.",
     &GroupSummary::nodes},
    {"kgpu_controller_group_nodes_ready", "Nodes whose GPUs pods can get now.",
     &GroupSummary::ready},
    {"kgpu_controller_group_nodes_up_to_date", "Nodes with the driver that the group asks for.",
     &GroupSummary::up_to_date},
    {"kgpu_controller_group_nodes_upgrading", "Nodes whose driver is being replaced.",
     &GroupSummary::upgrading},
    {"kgpu_controller_group_nodes_failed", "Nodes whose driver upgrade failed.",
     &GroupSummary::failed},
    {"kgpu_controller_group_nodes_quarantined", "Nodes that are fenced for broken GPUs.",
     &GroupSummary::quarantined},
    {"kgpu_controller_group_nodes_unavailable", "Nodes that count against maxUnavailable.",
     &GroupSummary::unavailable},
}};

void AddOne(Exposition& page, std::string_view name, Type type, std::string_view help,
            double value) {
  page.Family(name, type, help);
  page.Sample(value);
}

}  // namespace

std::string MetricsText(const Figures& figures) {
  Exposition page;
  AddOne(page, "kgpu_controller_leader", Type::kGauge, "Whether this process holds the lease.",
         figures.is_leader ? 1 : 0);
  AddOne(page, "kgpu_controller_nodes", Type::kGauge, "Nodes of the cluster.",
         static_cast<double>(figures.nodes));
  AddOne(page, "kgpu_controller_plans_total", Type::kCounter, "Plans made.",
         static_cast<double>(figures.plans));
  AddOne(page, "kgpu_controller_plan_seconds", Type::kGauge, "Time to make the last plan.",
         std::chrono::duration<double>(figures.last_plan).count());
  AddOne(page, "kgpu_controller_requests_waiting", Type::kGauge,
         "Requests of the last plan that have not begun.", static_cast<double>(figures.waiting));
  AddOne(page, "kgpu_controller_requests_total", Type::kCounter, "Requests that change objects.",
         static_cast<double>(figures.counts.requests));
  AddOne(page, "kgpu_controller_failures_total", Type::kCounter, "Requests that failed.",
         static_cast<double>(figures.counts.failures));
  AddOne(page, "kgpu_controller_conflicts_total", Type::kCounter,
         "Requests for an object that somebody else had changed.",
         static_cast<double>(figures.counts.conflicts));
  AddOne(page, "kgpu_controller_evictions_blocked_total", Type::kCounter,
         "Evictions that a disruption budget did not allow.",
         static_cast<double>(figures.counts.blocked));
  for (const Series& series : kSeries) {
    page.Family(series.name, Type::kGauge, series.help);
    if (figures.policies == nullptr) {
      continue;
    }
    for (const auto& [policy, summary] : *figures.policies) {
      for (const GroupSummary& group : summary.groups) {
        page.Sample({{"policy", policy}, {"group", group.name}},
                    static_cast<double>(group.*series.value));
      }
    }
  }
  return page.Take();
}

}  // namespace kgpu::controller
