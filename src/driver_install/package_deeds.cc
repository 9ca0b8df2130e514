// Packages: what came with an installation is what was not there before it, and exactly that goes.
#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/cuda/version.h"
#include "src/driver/packages.h"
#include "src/driver_install/deeds.h"
#include "src/packages/package_list.h"

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

// What came or was replaced of what the trial told of. The rest is of others who were at work
// meanwhile: during the wait for their lock, or between a kill and the run that goes on.
void Compare(const Versions& before, const Versions& now, const packages::Foreseen& foreseen,
             StepRecord& record) {
  record.came.clear();
  record.replaced.clear();
  for (const auto& [name, version] : now) {
    if (!before.contains(name) && foreseen.Has(name, version)) {
      record.came[name] = version;
    }
  }
  for (const auto& [name, version] : before) {
    const auto there = now.find(name);
    if ((there == now.end() || there->second != version) && foreseen.Has(name, version)) {
      record.replaced[name] = version;
    }
  }
}

// Others' are told, as they may have come for the driver after all, and stay when it goes.
void NoteOthers(const Versions& before, const Versions& now, Work& work) {
  std::vector<std::string> others;
  for (const auto& [name, version] : now) {
    if (!before.contains(name) && !work.record().came.contains(name)) {
      others.push_back(name);
    }
  }
  if (!others.empty()) {
    work.Note(fmt::format("{}: came meanwhile, not foreseen with {}: {} when it is taken back",
                          Printable(Join(others, ", ")), work.step().id,
                          others.size() == 1 ? "stays" : "stay"));
  }
}

// The version that the packages follow, without what is added for a kernel.
StatusOr<std::string> VersionOf(packages::PackageManager& manager, const std::string& name) {
  ASSIGN_OR_RETURN(const Versions all, manager.Installed());
  std::optional<cuda::DriverVersion> newest;
  std::string text;
  for (const auto& [key, version] : all) {
    std::string upstream = driver::UpstreamVersion(version);
    const auto parsed = cuda::DriverVersion::Parse(upstream);
    if (packages::NameOf(key, version) == name && parsed.ok() && (!newest || *newest < *parsed)) {
      newest = *parsed;
      text = std::move(upstream);
    }
  }
  if (text.empty()) {
    return FailedPrecondition("{}: is not installed, and says no version", name);
  }
  return text;
}

StatusOr<std::vector<std::string>> NamesOf(packages::PackageManager& manager,
                                           const driver::InstallPackages& packages) {
  std::vector<std::string> names = packages.names;
  if (!packages.version_of.empty()) {
    ASSIGN_OR_RETURN(const std::string version, VersionOf(manager, packages.version_of));
    for (std::string& name : names) {
      name = fmt::format("{}={}", name, version);
    }
  }
  return names;
}

// Notes what changed; after it the lists of everything are no longer needed.
Status Settle(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  ASSIGN_OR_RETURN(const Versions now, manager->Installed());
  StepRecord& record = work.record();
  const packages::Foreseen foreseen{.names = {record.foreseen.begin(), record.foreseen.end()},
                                    .configured = {}};
  Compare(record.packages_before, now, foreseen, record);
  NoteOthers(record.packages_before, now, work);
  record.packages_before.clear();
  record.foreseen.clear();
  return OkStatus();
}

// Takes off exactly what came. What had its configuration here before keeps it.
Status RemoveCame(packages::PackageManager& manager, const StepRecord& record) {
  std::vector<std::string> came;
  std::vector<std::string> whole;
  for (const auto& [name, version] : record.came) {
    came.push_back(name);
    if (std::ranges::find(record.configured, name) == record.configured.end()) {
      whole.push_back(name);
    }
  }
  // All at once, as they may need one another; then what that left of them.
  if (whole.size() < came.size()) {
    RETURN_IF_ERROR(manager.TakeOff(came));
  }
  return whole.empty() ? OkStatus() : manager.Remove(whole);
}

}  // namespace

Status LookBeforePackages(Work& work, const driver::InstallPackages& packages) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOf(*manager, packages));
  ASSIGN_OR_RETURN(const packages::Foreseen foreseen, manager->Foresee(names));
  work.record().foreseen = {foreseen.names.begin(), foreseen.names.end()};
  work.record().configured = {foreseen.configured.begin(), foreseen.configured.end()};
  ASSIGN_OR_RETURN(work.record().packages_before, manager->Installed());
  return OkStatus();
}

Status DoPackages(Work& work, const driver::InstallPackages& packages) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOf(*manager, packages));
  RETURN_IF_ERROR(manager->Install(names));
  return Settle(work);
}

Status LookBeforeUndoPackages(Work& work) {
  // Installed half-way: what came so far.
  return work.record().packages_before.empty() ? OkStatus() : Settle(work);
}

Status UndoPackages(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  RETURN_IF_ERROR(RemoveCame(*manager, work.record()));
  ASSIGN_OR_RETURN(const Versions now, manager->Installed());
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
