#include "src/node/mig/model_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "src/gpu/device/mig.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

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

std::vector<std::string> ProfilesOf(const std::vector<Demand>& demands) {
  std::vector<std::string> names;
  names.reserve(demands.size());
  for (const Demand& demand : demands) {
    names.push_back(demand.kind.profile);
  }
  return names;
}

Status CheckProfiles(const std::vector<std::string>& profiles, const Geometry& geometry,
                     const std::string& model) {
  for (const std::string& profile : profiles) {
    if (geometry.Find(profile)) {
      continue;
    }
    std::vector<std::string> names;
    names.reserve(geometry.profiles().size());
    for (const device::MigProfile& known : geometry.profiles()) {
      names.push_back(known.name);
    }
    return InvalidArgument("--profiles: {} has no profile {}; it has {}", model, profile,
                           Join(names, ", "));
  }
  return OkStatus();
}

// Errors: InvalidArgument (--have).
StatusOr<std::vector<std::vector<Instance>>> WaysOf(const Geometry& geometry,
                                                    const std::string& have) {
  const auto entries = ParseEntries(have);
  RETURN_IF_ERROR(Annotate(entries.status(), "--have"));
  auto ways = WaysToHave(geometry, *entries);
  if (ways.empty()) {
    return InvalidArgument("--have: no GPU of this model can have {}", Printable(have, 200));
  }
  return ways;
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

StatusOr<ModelPlan> PlanModel(const ModelRequest& request) {
  if (request.profiles.empty()) {
    return InvalidArgument("--model: give --profiles");
  }
  ASSIGN_OR_RETURN(const auto demand, ParseDemands("--profiles", request.profiles));
  const std::vector<std::string> profiles = ProfilesOf(demand);
  const auto model = device::FindMigModel(request.model, profiles);
  RETURN_IF_ERROR(Annotate(model.status(), "--model"));
  ASSIGN_OR_RETURN(Geometry made, Geometry::OfModel(model->pci_device_ids.front()));
  const auto geometry = std::make_shared<const Geometry>(std::move(made));
  RETURN_IF_ERROR(CheckProfiles(profiles, *geometry, model->name));
  ASSIGN_OR_RETURN(const auto ways, WaysOf(*geometry, request.have));
  ASSIGN_OR_RETURN(PlannedGpus best, PlanBestOf(geometry, request.count, ways, demand));
  return ModelPlan{.model = model->name, .planned = std::move(best)};
}

}  // namespace kgpu::mig
