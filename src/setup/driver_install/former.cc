#include "src/setup/driver_install/former.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "src/host/facts/installed_packages.h"

namespace kgpu::driver_install {
namespace {

// The other packages keep following their archive: exact versions of compilers are soon gone.
void NameVersions(const StepRecord& record, driver::InstallPackages& packages) {
  std::vector<std::string>& names = packages.names;
  for (const auto& [name, version] : record.came) {
    if (host::IsDriverPackage(name)) {
      std::erase(names, name);
      names.push_back(fmt::format("{}={}", name, version));
      packages.version_of.clear();
    }
  }
}

}  // namespace

driver::Plan PlanToReinstall(const Journal& journal) {
  driver::Plan plan = journal.plan;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (auto* packages = std::get_if<driver::InstallPackages>(&plan.steps[i].action)) {
      NameVersions(journal.steps[i], *packages);
    }
  }
  return plan;
}

void ForgetDriver(const Journal& journal, driver::HostFacts& facts) {
  facts.ours = journal.plan;
  facts.existing = driver::Existing::kNone;
  facts.existing_version.clear();
  for (const StepRecord& record : journal.steps) {
    for (const auto& [name, version] : record.came) {
      auto node = facts.packages.extract(name);
      if (!node.empty() && host::IsDriverPackage(name)) {
        facts.former.insert(std::move(node));
      }
    }
  }
  // Packages that the driver removed or replaced are installed again when it goes.
  for (const StepRecord& record : journal.steps) {
    for (const auto& [name, version] : record.replaced) {
      facts.packages[name] = {.version = version};
      if (host::IsModulePackage(name)) {
        facts.existing = driver::Existing::kPackages;
        facts.existing_version = host::UpstreamVersion(version);
      }
    }
  }
}

}  // namespace kgpu::driver_install
