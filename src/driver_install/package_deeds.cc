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

// "name=version" of what was there and is not there as it was.
std::vector<std::string> Lacking(const Versions& before, const Versions& now) {
  std::vector<std::string> lacking;
  for (const auto& [name, version] : before) {
    const auto there = now.find(name);
    if (there == now.end() || there->second != version) {
      lacking.push_back(fmt::format("{}={}", name, version));
    }
  }
  return lacking;
}

// All of them in one call, as one may need the other in its version; what there is of them else.
Status InstallOrNote(Work& work, packages::PackageManager& manager,
                     const std::vector<std::string>& names) {
  if (manager.Install(names).ok()) {
    return OkStatus();
  }
  for (const std::string& name : names) {
    if (const Status back = manager.Install({name}); !back.ok()) {
      const size_t equals = name.find('=');
      work.NoteLost(fmt::format("{} {} was here before, and does not come back: {}",
                                Printable(name.substr(0, equals), 80),
                                Printable(name.substr(equals + 1), 80), Message(back)));
    }
  }
  return OkStatus();
}

// Where the packages that the step takes off are kept.
std::string KeptFolder(const Work& work) {
  return fmt::format("{}/{}-packages", kBackupFolder, work.index());
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
  ASSIGN_OR_RETURN(const Versions now, manager->Installed());
  // First, as what is older may need nothing of what came, and what is here now does.
  const std::vector<std::string> lacking = Lacking(work.record().replaced, now);
  const bool is_back = lacking.empty() || manager->Install(lacking).ok();
  RETURN_IF_ERROR(RemoveCame(*manager, work.record()));
  return is_back ? OkStatus() : InstallOrNote(work, *manager, lacking);
}

Status LookBeforeRemoval(Work& work, const driver::RemovePackages& packages) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  ASSIGN_OR_RETURN(const Versions now, manager->Installed());
  Versions doomed;
  std::vector<std::string> names;
  for (const std::string& name : packages.names) {
    if (const auto there = now.find(name); there != now.end()) {
      doomed[name] = there->second;
      names.push_back(name);
    }
  }
  if (names.empty()) {
    return OkStatus();
  }
  if (packages.is_kept) {
    engine::Disk& disk = work.hands().disk;
    RETURN_IF_ERROR(RemoveTree(work.host(), disk, KeptFolder(work)));
    RETURN_IF_ERROR(disk.MakeFolder(std::string(kBackupFolder)));
    RETURN_IF_ERROR(disk.MakeFolder(KeptFolder(work)));
    if (const Status kept = manager->Keep(names, KeptFolder(work)); !kept.ok()) {
      return Annotate(kept, "the packages that are here could not come back");
    }
  }
  work.record().replaced = std::move(doomed);
  return OkStatus();
}

Status DoRemoval(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  std::vector<std::string> names;
  for (const auto& [name, version] : work.record().replaced) {
    names.push_back(name);
  }
  return names.empty() ? OkStatus() : manager->TakeOff(names);
}

// What is kept comes back, or the way back ends here and is tried again: without it no driver is
// there for the steps before.
Status UndoRemoval(Work& work, const driver::RemovePackages& packages) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  ASSIGN_OR_RETURN(const Versions now, manager->Installed());
  std::vector<std::string> lacking = Lacking(work.record().replaced, now);
  if (lacking.empty()) {
    return OkStatus();
  }
  if (!packages.is_kept) {
    return InstallOrNote(work, *manager, lacking);
  }
  const Status back = manager->PutBack(KeptFolder(work));
  if (back.ok()) {
    return OkStatus();
  }
  const Status asked = manager->Install(lacking);
  return asked.ok() ? OkStatus()
                    : Annotate(back, "the packages that were here before do not come back from {}",
                               work.host().At(KeptFolder(work)));
}

}  // namespace kgpu::driver_install
