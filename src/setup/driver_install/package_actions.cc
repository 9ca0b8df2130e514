// Packages: what came with an installation is what was not there before it, and exactly that goes.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/gpu/cuda/version.h"
#include "src/host/facts/installed_packages.h"
#include "src/host/packages/package_list.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver_install/actions.h"
#include "src/setup/driver_install/package_work.h"

namespace kgpu::driver_install {
namespace {

// Which packages of the simulation were added or replaced. Other changes were made by others
// meanwhile: during the wait for the lock, or between a kill and the run that continues. Without a
// noted simulation all changes count.
void Compare(const Versions& before, const Versions& now, StepRecord& record) {
  packages::Foreseen foreseen;
  if (record.foreseen) {
    foreseen.names = {record.foreseen->begin(), record.foreseen->end()};
  }
  const auto counts = [&](const std::string& name, const std::string& version) {
    return !record.foreseen || foreseen.Has(name, version);
  };
  record.came.clear();
  record.replaced.clear();
  for (const auto& [name, version] : now) {
    if (!before.contains(name) && counts(name, version)) {
      record.came[name] = version;
    }
  }
  for (const auto& [name, version] : before) {
    const auto there = now.find(name);
    if ((there == now.end() || there->second != version) && counts(name, version)) {
      record.replaced[name] = version;
    }
  }
}

// Others' are reported, as they may have come for the driver after all, and stay when it goes.
void NoteOthers(const Versions& before, const Versions& now, Work& work) {
  std::vector<std::string> others;
  for (const auto& [name, version] : now) {
    if (!before.contains(name) && !work.record().came.contains(name)) {
      others.push_back(name);
    }
  }
  if (!others.empty()) {
    work.Note(fmt::format("{}: installed unexpectedly with {}: {} when it is undone",
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
    std::string upstream = host::UpstreamVersion(version);
    const auto parsed = cuda::DriverVersion::Parse(upstream);
    if (packages::NameOf(key, version) == name && parsed.ok() && (!newest || *newest < *parsed)) {
      newest = *parsed;
      text = std::move(upstream);
    }
  }
  if (text.empty()) {
    return FailedPrecondition("{}: not installed, and reports no version", name);
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
  Compare(record.packages_before, now, record);
  NoteOthers(record.packages_before, now, work);
  record.packages_before.clear();
  record.foreseen = std::vector<std::string>();
  return OkStatus();
}

// Removes exactly the packages that were added. Those whose configuration was here keep it.
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
  work.record().foreseen.emplace(foreseen.names.begin(), foreseen.names.end());
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
  // Installed half-way: settles what was added so far.
  return work.record().packages_before.empty() ? OkStatus() : Settle(work);
}

Status UndoPackages(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  // First, as what is older may need nothing of what came, and what is here now does. All of them,
  // as one that is there may not be configured.
  const std::vector<std::string> replaced = WithVersions(work.record().replaced);
  Status back = replaced.empty() ? OkStatus() : manager->Install(replaced);
  if (IsTransient(back)) {
    return back;
  }
  RETURN_IF_ERROR(RemoveCame(*manager, work.record()));
  return back.ok() ? OkStatus() : InstallOrNote(work, *manager, replaced);
}
}  // namespace kgpu::driver_install
