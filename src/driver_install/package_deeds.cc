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
// meanwhile: during the wait for their lock, or between a kill and the run that goes on. Where no
// trial was noted all of it counts.
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
  Compare(record.packages_before, now, record);
  NoteOthers(record.packages_before, now, work);
  record.packages_before.clear();
  record.foreseen = std::vector<std::string>();
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

// Whether the same may go well when it is tried later: the lock was another manager's, or the time
// was over.
bool IsTransient(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kCancelled;
}

// "name=version" of all of them.
std::vector<std::string> WithVersions(const Versions& versions) {
  std::vector<std::string> names;
  for (const auto& [name, version] : versions) {
    names.push_back(fmt::format("{}={}", name, version));
  }
  return names;
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
// What may go well later is an error: what is noted is never tried again.
Status InstallOrNote(Work& work, packages::PackageManager& manager,
                     const std::vector<std::string>& names) {
  if (const Status all = manager.Install(names); all.ok() || IsTransient(all)) {
    return all;
  }
  for (const std::string& name : names) {
    const Status back = manager.Install({name});
    if (IsTransient(back)) {
      return back;
    }
    if (!back.ok()) {
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

bool HasAny(const Versions& versions, const std::vector<std::string>& names) {
  return std::ranges::any_of(
      names, [&versions](const std::string& name) { return versions.contains(name); });
}

// dnf and zypper may take more than rpm foretold, and the manager tells it as a failure then: the
// record has the others, too, so that they come back.
Status TakeOff(Work& work, packages::PackageManager& manager,
               const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const Versions before, manager.Installed());
  Status off = manager.TakeOff(names);
  if (off.ok()) {
    return off;
  }
  const StatusOr<Versions> now = manager.Installed();
  if (now.ok() && !HasAny(*now, names)) {
    for (const auto& [name, version] : before) {
      if (!now->contains(name) && std::ranges::find(names, name) == names.end()) {
        work.record().replaced[name] = version;
      }
    }
  }
  return off;
}

// Those that are there as they were, though the step took them off or was about to.
std::vector<std::string> StillThere(const Versions& kept, const Versions& now) {
  std::vector<std::string> there;
  for (const auto& [name, version] : kept) {
    if (const auto found = now.find(name); found != now.end() && found->second == version) {
      there.push_back(name);
    }
  }
  return there;
}

// A package that was cut off while it was removed or configured is listed as a whole one is, and
// has no module: it goes first, and comes anew. Only to put it there again would not do: rpm runs
// what belongs to the removal of the old one last, which takes the module that was just built.
// Whether there is anything to put back then.
StatusOr<bool> MakeRoom(Work& work, packages::PackageManager& manager, const Versions& kept) {
  ASSIGN_OR_RETURN(const Versions before, manager.Installed());
  const std::vector<std::string> there = StillThere(kept, before);
  if (there.empty()) {
    return true;
  }
  const Status off = TakeOff(work, manager, there);
  ASSIGN_OR_RETURN(const Versions now, manager.Installed());
  if (off.ok() || !HasAny(now, there)) {
    return true;
  }
  if (IsTransient(off) || !Lacking(kept, now).empty()) {
    return off;
  }
  // Others need them, as they did when the step was to begin: what is half-configured is finished.
  RETURN_IF_ERROR(manager.Install(WithVersions(kept)));
  return false;
}

Status PutKeptBack(Work& work, packages::PackageManager& manager, const Versions& kept) {
  ASSIGN_OR_RETURN(const bool must_come, MakeRoom(work, manager, kept));
  if (!must_come) {
    return OkStatus();
  }
  const std::string folder = KeptFolder(work);
  Status back = manager.PutBack(folder);
  ASSIGN_OR_RETURN(const Versions now, manager.Installed());
  const std::vector<std::string> lacking = Lacking(kept, now);
  // Of those that came with a failure nobody knows whether they are whole.
  const bool may_ask = back.ok() || (lacking.size() == kept.size() && !IsTransient(back));
  if (back.ok() && lacking.empty()) {
    return OkStatus();
  }
  if (may_ask && manager.Install(lacking).ok()) {
    return OkStatus();
  }
  if (back.ok()) {
    back = FailedPrecondition("{} not among them", Printable(Join(lacking, ", ")));
  }
  return Annotate(back, "the packages that were here before do not come back from {}",
                  work.host().At(folder));
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
  // Installed half-way: what came so far.
  return work.record().packages_before.empty() ? OkStatus() : Settle(work);
}

Status UndoPackages(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  // First, as what is older may need nothing of what came, and what is here now does. All of them,
  // as one that is there may not be configured.
  const std::vector<std::string> replaced = WithVersions(work.record().replaced);
  const Status back = replaced.empty() ? OkStatus() : manager->Install(replaced);
  if (IsTransient(back)) {
    return back;
  }
  RETURN_IF_ERROR(RemoveCame(*manager, work.record()));
  return back.ok() ? OkStatus() : InstallOrNote(work, *manager, replaced);
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
  return names.empty() ? OkStatus() : TakeOff(work, *manager, names);
}

// What is kept comes back, or the way back ends here and is tried again: without it no driver is
// there for the steps before.
Status UndoRemoval(Work& work, const driver::RemovePackages& packages) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  Versions left = work.record().replaced;
  if (packages.is_kept) {
    Versions kept;
    for (const auto& [name, version] : work.record().replaced) {
      if (std::ranges::find(packages.names, name) != packages.names.end()) {
        kept[name] = version;
      }
    }
    if (!kept.empty()) {
      RETURN_IF_ERROR(PutKeptBack(work, *manager, kept));
    }
    left = work.record().replaced;
    std::erase_if(left, [&kept](const auto& entry) { return kept.contains(entry.first); });
  }
  return left.empty() ? OkStatus() : InstallOrNote(work, *manager, WithVersions(left));
}

StatusOr<std::string> KeepPackages(Work& work) {
  // Of this installation and step, so that one that was killed meanwhile finds it again.
  const std::string kept =
      fmt::format("{}/packages-{}-{}", kKeptFolder, work.journal().began, work.index());
  if (work.host().Exists(kept)) {
    return work.host().At(kept);
  }
  if (!work.host().Exists(KeptFolder(work))) {
    return std::string();
  }
  engine::Disk& disk = work.hands().disk;
  RETURN_IF_ERROR(disk.MakeFolder(std::string(kKeptFolder)));
  RETURN_IF_ERROR(disk.Move(KeptFolder(work), kept));
  return work.host().At(kept);
}

}  // namespace kgpu::driver_install
