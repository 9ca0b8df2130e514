#include "src/setup/driver/another_kernel.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

bool IsOfFile(const Plan& ours) {
  return ours.source == SourceKind::kRunFile || ours.source == SourceKind::kLocalRepo;
}

Status CheckModulesCanBeAdded(const HostFacts& facts, const Plan& ours) {
  const std::string& release = facts.kernel.release;
  if (facts.distribution.immutable != host::Immutable::kNone) {
    return FailedPrecondition(
        "--kernel: {}: driver {} was built for kernel {} of this image: run kgpu driver remove, "
        "then kgpu driver install",
        release, ours.version, ours.kernel);
  }
  if (ours.source == SourceKind::kRunFile && !facts.host.kernel.dkms) {
    return FailedPrecondition(
        "--kernel: {}: NVIDIA's installer built driver {} only for kernel {}, because DKMS was "
        "missing: run kgpu driver remove, install dkms, then run kgpu driver install --source "
        "FILE.run",
        release, ours.version, ours.kernel);
  }
  return OkStatus();
}

// Keeps the plan's steps for one kernel. The driver's own packages are already installed, as are
// package sources and streams.
void KeepStepsOfKernel(const std::string& release, Plan& plan) {
  constexpr std::array<std::string_view, 3> kWhole = {"package-lists", "headers", "modules"};
  // "5.14.0-570.55.1" of "5.14.0-570.55.1.el9_6.x86_64": names of built modules end with it.
  const std::string stem = release.substr(0, release.find(".el"));
  std::erase_if(plan.steps, [&](Step& step) {
    auto* packages = std::get_if<InstallPackages>(&step.action);
    if (step.id != "packages" || packages == nullptr) {
      return std::ranges::find(kWhole, step.id) == kWhole.end();
    }
    std::erase_if(packages->names,
                  [&stem](const std::string& name) { return name.find(stem) == name.npos; });
    step.title = "install the packages for this kernel";
    return packages->names.empty();
  });
}

// Files that the driver's plan wrote are here.
void DropFilesOf(const Plan& ours, Plan& plan) {
  std::erase_if(plan.steps, [&ours](const Step& step) {
    return std::holds_alternative<WriteFile>(step.action) &&
           std::ranges::find(ours.steps, step.id, &Step::id) != ours.steps.end();
  });
}

}  // namespace

StatusOr<Plan> PlanAnotherKernel(const HostFacts& facts, const Plan& ours) {
  RETURN_IF_ERROR(CheckModulesCanBeAdded(facts, ours));
  Choice choice;
  choice.version = ours.version;
  choice.kind = ours.kind;
  choice.source = ours.source;
  choice.why = {fmt::format("driver {}, installed by kgpu for kernel {}, stays unchanged",
                            ours.version, ours.kernel)};
  Plan plan = PlanOf(facts, choice);
  Traits traits;
  traits.page = pages::kGuide;
  Planning planning{.facts = facts, .choice = choice, .plan = plan, .traits = traits};
  if (IsOfFile(ours)) {
    // The file that the driver came from may be gone: what it left here is DKMS's.
    AddHeaders(planning, pages::kPreInstall, false);
    traits.has_persistence = ours.source != SourceKind::kRunFile;
  } else {
    RETURN_IF_ERROR(AddFamilySteps(planning));
  }
  KeepStepsOfKernel(plan.kernel, plan);
  AddAfter(facts, traits, plan);
  DropFilesOf(ours, plan);
  return plan;
}

}  // namespace kgpu::driver
