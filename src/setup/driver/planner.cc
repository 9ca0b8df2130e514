#include "src/setup/driver/planner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/immutable.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {

Plan PlanOf(const HostFacts& facts, const Choice& choice) {
  Plan plan;
  plan.version = choice.version;
  plan.kind = choice.kind;
  plan.source = choice.source;
  plan.kernel = facts.kernel.release;
  plan.why = choice.why;
  plan.notes = choice.notes;
  return plan;
}

Status NotServed(const Planning& planning, std::string_view instead) {
  return FailedPrecondition("--source {} is not supported on {}: use {}",
                            ToString(planning.choice.source), planning.facts.distribution.name,
                            instead);
}

Status AddFamilySteps(Planning& planning) {
  if (planning.choice.source == SourceKind::kRunFile) {
    return AddRunFileSteps(planning);
  }
  if (planning.choice.source == SourceKind::kLocalRepo) {
    return AddLocalRepoSteps(planning);
  }
  switch (planning.facts.distribution.family) {
    case host::Family::kDebian:
      return AddDebianSteps(planning);
    case host::Family::kUbuntu:
      return AddUbuntuSteps(planning);
    case host::Family::kRhel:
    case host::Family::kFedora:
    case host::Family::kAmazon:
      return AddRhelSteps(planning);
    case host::Family::kSuse:
      return AddSuseSteps(planning);
    default:
      break;
  }
  return FailedPrecondition(
      "{}: its packages are unknown to kgpu: use NVIDIA's installer with --source FILE.run",
      planning.facts.distribution.name);
}

namespace {

// Packages replace a driver by NVIDIA's installer; nothing of that one is kept.
void AddUninstaller(Planning& planning) {
  const bool is_wanted = planning.gives_up && planning.facts.existing == Existing::kRunFile &&
                         planning.choice.source != SourceKind::kRunFile;
  std::vector<Step>& steps = planning.plan.steps;
  constexpr std::array<std::string_view, 3> kFirst = {"branch", "modules", "packages"};
  const auto at = std::ranges::find_if(
      steps, [&](const Step& step) { return std::ranges::find(kFirst, step.id) != kFirst.end(); });
  if (!is_wanted || at == steps.end()) {
    return;
  }
  RunCommand run;
  run.command.argv = {"/usr/bin/nvidia-uninstall", "--silent"};
  run.command.deadline = std::chrono::minutes{30};
  steps.insert(at, {.id = "other-driver",
                    .title = "remove the driver of NVIDIA's installer",
                    .source = std::string(pages::kRunFile),
                    .action = std::move(run),
                    .loses = InstallersDriver(planning.facts)});
}

StatusOr<Plan> PlanImage(const HostFacts& facts, const Request& request) {
  const auto choice = Choose(facts, request);
  if (facts.distribution.immutable != host::Immutable::kRhcos || request.toolkit_image.empty()) {
    // The advice needs what fits the GPUs; missing packages do not matter for it.
    return AdviceFor(facts, choice.ok() ? *choice : Choice{});
  }
  if (!choice.ok()) {
    return choice.status();
  }
  Plan plan = PlanOf(facts, *choice);
  Traits traits;
  Planning planning{.facts = facts, .choice = *choice, .plan = plan, .traits = traits};
  RETURN_IF_ERROR(AddRhcosPlan(planning, request.toolkit_image));
  return plan;
}

// Packages of headers are left out; what a step brings besides stays.
void DropHeaders(const std::function<bool(const std::string&)>& is_dropped, Plan& plan) {
  std::erase_if(plan.steps, [&is_dropped](Step& step) {
    auto* install = std::get_if<InstallPackages>(&step.action);
    if (step.id != "headers" || install == nullptr) {
      return false;
    }
    std::erase_if(install->names, is_dropped);
    return install->names.empty();
  });
}

bool IsOfHeaders(const std::string& name) {
  return name.find("-headers-") != std::string::npos || name.starts_with("kernel");
}

// Where the kernel's headers are installed, no package of them is needed, whatever it is called;
// those of the kernels to come are.
void DropInstalledHeaders(const HostFacts& facts, Plan& plan) {
  std::string release = facts.kernel.release.substr(0, facts.kernel.release.find('+'));
  if (const std::string end = fmt::format("-{}", facts.kernel.flavour);
      facts.distribution.family == host::Family::kSuse && release.ends_with(end)) {
    release.resize(release.size() - end.size());  // there a version, without the flavor
  }
  const std::string& kernel = facts.kernel.release;
  DropHeaders(
      [&](const std::string& name) {
        const bool is_of_kernel = name.find(release) != std::string::npos || name.ends_with(kernel);
        return is_of_kernel && (name.find("-headers-") != std::string::npos ||
                                name.find("-devel") != std::string::npos);
      },
      plan);
}

}  // namespace

StatusOr<Plan> PlanDriver(const HostFacts& facts, const Request& request) {
  if (!request.toolkit_image.empty() && facts.distribution.immutable != host::Immutable::kRhcos) {
    return InvalidArgument(
        "--driver-toolkit: applies only to RHCOS, but this is {}: remove the flag",
        facts.distribution.name);
  }
  if (facts.distribution.immutable != host::Immutable::kNone) {
    return PlanImage(facts, request);
  }
  ASSIGN_OR_RETURN(const Choice choice, Choose(facts, request));
  Plan plan = PlanOf(facts, choice);
  Traits traits;
  traits.page = pages::kGuide;
  // Made first, since what comes before it depends on how the packages are.
  Plan middle = plan;
  Planning planning{.facts = facts,
                    .choice = choice,
                    .plan = middle,
                    .traits = traits,
                    .has_display = request.has_display,
                    .gives_up = request.gives_up};
  RETURN_IF_ERROR(AddFamilySteps(planning));
  AddUninstaller(planning);
  if (request.has_display) {
    AddDisplaySteps(planning);
  }
  if (request.has_headers) {
    DropHeaders(IsOfHeaders, middle);
  } else if (facts.kernel.has_headers) {
    DropInstalledHeaders(facts, middle);
  }
  AddBefore(facts, traits, plan);
  plan.steps.insert(plan.steps.end(), middle.steps.begin(), middle.steps.end());
  plan.notes = middle.notes;
  AddAfter(facts, traits, plan);
  return plan;
}

std::string InstallersDriver(const HostFacts& facts) {
  const std::string& version = facts.existing_version;
  return fmt::format("{}driver {}from NVIDIA's installer", version.empty() ? "the " : "",
                     version.empty() ? "" : version + " ");
}

std::string ReplacedVersion(const HostFacts& facts, const Plan& plan) {
  if (facts.existing == Existing::kNone) {
    return "";
  }
  const bool takes_off = std::ranges::any_of(plan.steps, [](const Step& step) {
    return std::holds_alternative<RemovePackages>(step.action) || !step.loses.empty();
  });
  const bool is_other =
      !facts.existing_version.empty() && !IsVersion(facts.existing_version, plan.version);
  if (!takes_off && !is_other) {
    return "";
  }
  return facts.existing_version.empty() ? "of another version" : facts.existing_version;
}

}  // namespace kgpu::driver
