#include "src/node/mig/model_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::mig {
namespace {

// The instances of a layout if it has exactly the entries, those with a start at their place.
std::optional<std::vector<Instance>> InstancesIn(const Geometry& geometry, const Layout& layout,
                                                 const std::vector<Entry>& entries) {
  std::vector<Placement> left = layout;
  std::vector<Instance> instances;
  const auto take = [&](const Entry& entry) {
    const auto place = std::ranges::find_if(left, [&](const Placement& placement) {
      return geometry.profile(placement).name == entry.profile &&
             (!entry.start || *entry.start == placement.start);
    });
    if (place == left.end()) {
      return false;
    }
    instances.push_back(
        {.kind = {.profile = entry.profile}, .start = place->start, .use = entry.use});
    left.erase(place);
    return true;
  };
  for (const bool is_placed : {true, false}) {
    for (const Entry& entry : entries) {
      for (unsigned i = 0; i < entry.count && entry.start.has_value() == is_placed; ++i) {
        if (!take(entry)) {
          return std::nullopt;
        }
      }
    }
  }
  return left.empty() ? std::optional(std::move(instances)) : std::nullopt;
}

bool IsBetter(const Plan& plan, const Plan& other) {
  return std::tuple(!plan.is_feasible, plan.evicted, plan.destroyed, plan.changes.size()) <
         std::tuple(!other.is_feasible, other.evicted, other.destroyed, other.changes.size());
}

}  // namespace

std::vector<std::vector<Instance>> WaysToHave(const Geometry& geometry,
                                              const std::vector<Entry>& entries) {
  std::vector<std::vector<Instance>> ways;
  for (const Layout& layout : geometry.AllLayouts()) {
    if (auto instances = InstancesIn(geometry, layout, entries)) {
      ways.push_back(*std::move(instances));
    }
  }
  std::ranges::reverse(ways);
  return ways;
}

StatusOr<PlannedGpus> PlanBestOf(const std::shared_ptr<const Geometry>& geometry, size_t count,
                                 const std::vector<std::vector<Instance>>& present,
                                 const std::vector<Demand>& demand) {
  PlannedGpus best;
  for (const std::vector<Instance>& instances : present) {
    PlannedGpus made;
    for (size_t i = 0; i < count; ++i) {
      made.gpus.push_back({.id = fmt::format("{}", i), .geometry = geometry});
    }
    made.gpus.front().instances = instances;
    ASSIGN_OR_RETURN(made.plan, PlanDemand(made.gpus, demand));
    if (best.gpus.empty() || IsBetter(made.plan, best.plan)) {
      best = std::move(made);
    }
    if (best.plan.is_feasible && best.plan.destroyed == 0) {
      break;
    }
  }
  return best;
}

}  // namespace kgpu::mig
