#include "src/driver/planner.h"

#include <fmt/format.h>

#include "src/base/status_macros.h"
#include "src/driver/common_steps.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

Status AddFamilySteps(const HostFacts& facts, Plan& plan, Traits& traits) {
  if (facts.distribution.family == Family::kDebian) {
    return AddDebianSteps(facts, plan, traits);
  }
  return Unimplemented("{}: no distribution whose packages are known here: take --source FILE.run",
                       facts.distribution.name);
}

}  // namespace

StatusOr<Plan> PlanDriver(const HostFacts& facts, const Request& request) {
  ASSIGN_OR_RETURN(Choice choice, Choose(facts, request));
  Plan plan;
  plan.version = choice.version;
  plan.kind = choice.kind;
  plan.source = choice.source;
  plan.kernel = facts.kernel.release;
  plan.why = std::move(choice.why);
  plan.notes = std::move(choice.notes);
  Traits traits;
  traits.page = pages::kGuide;
  Plan packages = plan;
  packages.notes.clear();
  RETURN_IF_ERROR(AddFamilySteps(facts, packages, traits));
  AddBefore(facts, traits, plan);
  plan.steps.insert(plan.steps.end(), packages.steps.begin(), packages.steps.end());
  plan.notes.insert(plan.notes.end(), packages.notes.begin(), packages.notes.end());
  AddAfter(facts, traits, plan);
  return plan;
}

}  // namespace kgpu::driver
