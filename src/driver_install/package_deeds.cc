// Packages: what came with an installation is what was not there before it, and exactly that goes.
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/driver_install/deeds.h"

namespace kgpu::driver_install {
namespace {

StatusOr<packages::PackageManager*> ManagerOf(const Work& work) {
  if (work.hands().packages == nullptr) {
    return FailedPrecondition(
        "{}: no package manager that kgpu knows is here (apt, dnf, yum, zypper): install the "
        "driver with --source FILE.run",
        work.host().path());
  }
  return work.hands().packages;
}

// The difference between what was and is installed.
void Compare(const Versions& before, const Versions& now, StepRecord& record) {
  record.came.clear();
  record.replaced.clear();
  for (const auto& [name, version] : now) {
    if (!before.contains(name)) {
      record.came[name] = version;
    }
  }
  for (const auto& [name, version] : before) {
    const auto there = now.find(name);
    if (there == now.end() || there->second != version) {
      record.replaced[name] = version;
    }
  }
}

// Notes what changed; after it the list of everything is no longer needed.
Status Settle(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  ASSIGN_OR_RETURN(const Versions now, manager->Installed());
  StepRecord& record = work.record();
  Compare(record.packages_before, now, record);
  record.packages_before.clear();
  return OkStatus();
}

}  // namespace

Status LookBeforePackages(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  ASSIGN_OR_RETURN(work.record().packages_before, manager->Installed());
  return OkStatus();
}

Status DoPackages(Work& work, const driver::InstallPackages& packages) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  RETURN_IF_ERROR(manager->Install(packages.names));
  return Settle(work);
}

Status LookBeforeUndoPackages(Work& work) {
  // Installed half-way: what came so far.
  return work.record().packages_before.empty() ? OkStatus() : Settle(work);
}

Status UndoPackages(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  ASSIGN_OR_RETURN(const Versions now, manager->Installed());
  std::vector<std::string> come;
  for (const auto& [name, version] : work.record().came) {
    if (now.contains(name)) {
      come.push_back(name);
    }
  }
  if (!come.empty()) {
    RETURN_IF_ERROR(manager->Remove(come));
  }
  for (const auto& [name, version] : work.record().replaced) {
    const auto there = now.find(name);
    if (there != now.end() && there->second == version) {
      continue;
    }
    if (const Status back = manager->Install({fmt::format("{}={}", name, version)}); !back.ok()) {
      work.Note(fmt::format("{} {} was here before, and does not come back: {}",
                            Printable(name, 80), Printable(version, 80), Message(back)));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::driver_install
