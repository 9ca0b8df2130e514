#include "src/node/sharing/mig/layout.h"

#include <algorithm>
#include <memory>

#include "src/gpu/device/mig.h"
#include "src/node/mig/geometry.h"
#include "src/node/mig/planner.h"
#include "src/node/mig/request.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::sharing {
namespace {

// Nothing: GPUs of the model can have the layout; else why not.
StatusOr<std::string> ObstacleOn(const device::MigModel& model,
                                 const std::vector<mig::Demand>& layout) {
  ASSIGN_OR_RETURN(mig::Geometry made, mig::Geometry::OfModel(model.pci_device_ids.front()));
  const auto geometry = std::make_shared<const mig::Geometry>(std::move(made));
  const bool has_all = std::ranges::all_of(layout, [&](const mig::Demand& demand) {
    return geometry->Find(demand.kind.profile).has_value();
  });
  if (!has_all) {
    return NotFound("not all of the profiles");
  }
  ASSIGN_OR_RETURN(const mig::Plan plan,
                   mig::PlanLayout({.id = model.name, .geometry = geometry}, layout));
  return plan.is_feasible ? "" : plan.reason;
}

}  // namespace

Status CheckMigLayout(const std::vector<std::string>& profiles) {
  std::vector<mig::Entry> entries;
  for (const std::string& profile : profiles) {
    ASSIGN_OR_RETURN(mig::Entry entry, mig::ParseProfileName(profile));
    entries.push_back(std::move(entry));
  }
  ASSIGN_OR_RETURN(const std::vector<mig::Demand> layout, mig::DemandsOf(entries));
  std::vector<std::string> reasons;
  for (const device::MigModel& model : device::MigModels()) {
    const auto obstacle = ObstacleOn(model, layout);
    if (obstacle.ok() && obstacle->empty()) {
      return OkStatus();
    }
    if (obstacle.ok()) {
      reasons.push_back(fmt::format("{}: {}", model.name, *obstacle));
    }
  }
  if (reasons.empty()) {
    return InvalidArgument(
        "no model has all of these profiles ({}): kgpu mig list shows those of your GPUs",
        Join(profiles, ", "));
  }
  return InvalidArgument("no GPU can have all of it: {}: remove instances", Join(reasons, "; "));
}

}  // namespace kgpu::sharing
