#include "src/setup/driver_install/replacing.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::driver_install {
namespace {

using driver::InstallPackages;
using driver::RemovePackages;

// Their version is not the driver's, in most distributions.
constexpr std::array<std::string_view, 4> kCompanions = {"nvidia-modprobe", "nvidia-persistenced",
                                                         "nvidia-settings", "nvidia-xconfig"};

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// As the manager lists them: one name is several packages where architectures or versions stand
// beside each other.
std::vector<std::string> KeysOf(const std::vector<std::string>& names,
                                const std::map<std::string, std::string>& installed) {
  std::vector<std::string> keys;
  for (const auto& [key, version] : installed) {
    std::string name = key.substr(0, key.rfind(':'));
    const std::string end = fmt::format("-{}", version.substr(version.find(':') + 1));
    if (name.ends_with(end)) {
      name.resize(name.size() - end.size());
    }
    if (Has(names, name)) {
      keys.push_back(key);
    }
  }
  return keys;
}

struct Going {
  std::vector<std::string> names;
  std::map<std::string, std::string> installed;  // everything, with versions
  std::vector<std::string> companions;
  std::vector<std::string> others;
};

StatusOr<Going> FindGoing(const std::vector<std::string>& names,
                          packages::PackageManager& manager) {
  Going going;
  ASSIGN_OR_RETURN(going.installed, manager.Installed());
  going.names = KeysOf(names, going.installed);
  ASSIGN_OR_RETURN(going.others, manager.GoWith(going.names));
  std::ranges::copy_if(going.others, std::back_inserter(going.companions),
                       [](const std::string& name) {
                         return std::ranges::find(kCompanions, name) != kCompanions.end();
                       });
  if (going.companions.empty() && !going.others.empty()) {
    // Others may be installed instead of the removed ones, for a companion that needs one of them.
    const std::vector<std::string> all(kCompanions.begin(), kCompanions.end());
    for (std::string& key : KeysOf(all, going.installed)) {
      if (!Has(going.names, key)) {
        going.companions.push_back(std::move(key));
      }
    }
  }
  if (!going.companions.empty()) {
    going.names.insert(going.names.end(), going.companions.begin(), going.companions.end());
    ASSIGN_OR_RETURN(going.others, manager.GoWith(going.names));
  }
  return going;
}

// Those that no step of the plan installs come with the driver's packages again.
void BringAgain(driver::Plan& plan, const std::vector<std::string>& companions) {
  InstallPackages again;
  const driver::Step* last = nullptr;
  for (const driver::Step& step : plan.steps) {
    last = std::holds_alternative<InstallPackages>(step.action) || step.id == "packages" ? &step
                                                                                         : last;
  }
  for (const std::string& name : companions) {
    const bool comes = std::ranges::any_of(plan.steps, [&name](const driver::Step& step) {
      const auto* install = std::get_if<InstallPackages>(&step.action);
      return install != nullptr && Has(install->names, name);
    });
    if (!comes) {
      again.names.push_back(name);
    }
  }
  if (again.names.empty() || last == nullptr) {
    return;
  }
  driver::Step step{.id = "companions",
                    .title = "reinstall what the old packages need",
                    .source = last->source,
                    .action = std::move(again)};
  plan.steps.insert(plan.steps.begin() + (last - plan.steps.data()) + 1, std::move(step));
}

}  // namespace

driver::Findings CompleteRemoval(driver::Plan& plan, packages::PackageManager& manager,
                                 host::Packages& here) {
  const auto step = std::ranges::find_if(plan.steps, [](const driver::Step& one) {
    return std::holds_alternative<RemovePackages>(one.action);
  });
  if (step == plan.steps.end()) {
    return {};
  }
  auto& removal = std::get<RemovePackages>(step->action);
  StatusOr<Going> going = FindGoing(removal.names, manager);
  if (!going.ok()) {
    return {{.id = "other-version",
             .message = fmt::format(
                 "cannot tell whether the packages of the installed driver can be removed: {}",
                 Message(going.status())),
             .fix = {.commands = {"# fix what the package manager reports"}}}};
  }
  if (!going->names.empty()) {
    removal.names = std::move(going->names);
  }
  for (const std::string& name : removal.names) {
    if (const auto found = going->installed.find(name); found != going->installed.end()) {
      here.try_emplace(name, host::InstalledPackage{.version = found->second});
    }
  }
  if (!going->others.empty()) {
    return {
        {.id = "other-version",
         .message =
             fmt::format("removing the packages of the installed driver would also remove: {}",
                         Join(going->others, ", ")),
         .fix = {.commands = {"# remove those first, and reinstall them after the new driver"}}}};
  }
  BringAgain(plan, going->companions);
  return {};
}

}  // namespace kgpu::driver_install
