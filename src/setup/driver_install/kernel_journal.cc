// One more kernel for a driver that is installed: what came with it is noted as the driver's own.
#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "src/setup/driver_install/journal.h"

namespace kgpu::driver_install {
namespace {

bool HasPackages(const driver::Step& step) {
  return std::holds_alternative<driver::InstallPackages>(step.action);
}

// Whether the driver installed the package, or another version was here before.
bool IsKnown(const Journal& ours, const std::string& name) {
  return std::ranges::any_of(ours.steps, [&name](const StepRecord& record) {
    return record.came.contains(name) || record.replaced.contains(name);
  });
}

// False: the driver came without packages.
bool TakePackages(StepRecord added, Journal& ours) {
  for (size_t i = 0; i < ours.steps.size(); ++i) {
    StepRecord& record = ours.steps[i];
    if (!HasPackages(ours.plan.steps[i]) || record.state != StepState::kDone) {
      continue;
    }
    const auto is_known = [&ours](const auto& one) { return IsKnown(ours, one.first); };
    std::erase_if(added.came, is_known);
    std::erase_if(added.replaced, is_known);
    record.came.merge(added.came);
    record.replaced.merge(added.replaced);
    record.configured.insert(record.configured.end(), added.configured.begin(),
                             added.configured.end());
    return true;
  }
  return false;
}

void InsertStep(driver::Step step, StepRecord record, size_t at, Journal& ours) {
  const auto place = static_cast<std::ptrdiff_t>(at);
  ours.plan.steps.insert(ours.plan.steps.begin() + place, std::move(step));
  ours.steps.insert(ours.steps.begin() + place, std::move(record));
}

}  // namespace

std::string TitleOf(const Journal& journal) {
  return journal.adds_kernel
             ? fmt::format("{} for kernel {}", journal.plan.version, journal.plan.kernel)
             : journal.plan.version;
}

Journal WithKernel(Journal added) {
  Journal ours = std::move(added.below.back());
  added.below.pop_back();
  ours.below = std::move(added.below);
  for (size_t i = 0; i < added.steps.size(); ++i) {
    driver::Step& step = added.plan.steps[i];
    if (HasPackages(step)) {
      if (!TakePackages(added.steps[i], ours)) {
        InsertStep(std::move(step), std::move(added.steps[i]), 0, ours);
      }
    } else if (std::ranges::find(ours.plan.steps, step.id, &driver::Step::id) ==
               ours.plan.steps.end()) {
      InsertStep(std::move(step), std::move(added.steps[i]), ours.steps.size(), ours);
    }
  }
  return ours;
}

}  // namespace kgpu::driver_install
