// Packages that are removed, and kept: they can be restored as they were.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/host/change/folders.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver_install/actions.h"
#include "src/setup/driver_install/package_work.h"

namespace kgpu::driver_install {
namespace {

// "name=version" of packages that are missing or have another version.
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

// The folder for the packages that the step removes.
std::string KeptFolder(const Work& work) {
  return fmt::format("{}/{}-packages", BackupFolder(work.journal()), work.index());
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

std::vector<std::string> NamesOf(const Versions& versions) {
  std::vector<std::string> names;
  for (const auto& [name, version] : versions) {
    names.push_back(name);
  }
  return names;
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

// Whether no more of the kept packages are incomplete than before the removal, although restoring
// them failed with `cause`: all are installed, in their versions.
StatusOr<bool> AreAsBefore(Work& work, packages::PackageManager& manager, const Versions& kept,
                           const Status& cause) {
  const std::vector<std::string>& before = work.record().unfinished;
  if (before.empty() || IsTransient(cause)) {
    return false;
  }
  ASSIGN_OR_RETURN(const Versions now, manager.Installed());
  ASSIGN_OR_RETURN(const std::set<std::string> unfinished, manager.Unfinished());
  const bool has_more = std::ranges::any_of(unfinished, [&](const std::string& name) {
    return kept.contains(name) && std::ranges::find(before, name) == before.end();
  });
  if (has_more || !Lacking(kept, now).empty()) {
    return false;
  }
  work.Note(fmt::format("{}: restored as before, not configured: {}", Printable(Join(before, ", ")),
                        Message(cause)));
  return true;
}

// A package that was cut off while it was removed or configured is listed as a whole one is, and
// has no module: it goes first, and comes again. Only to put it there again would not do: rpm runs
// what belongs to the removal of the old one last, which takes the module that was just built.
// Whether there is anything to put back then.
StatusOr<bool> MakeRoom(Work& work, packages::PackageManager& manager, const Versions& kept) {
  ASSIGN_OR_RETURN(const Versions before, manager.Installed());
  const std::vector<std::string> there = StillThere(kept, before);
  if (there.empty()) {
    return true;
  }
  Status off = TakeOff(work, manager, there);
  ASSIGN_OR_RETURN(const Versions now, manager.Installed());
  if (off.ok() || !HasAny(now, there)) {
    return true;
  }
  if (IsTransient(off) || !Lacking(kept, now).empty()) {
    return off;
  }
  // Others need them, as they did when the step was to begin: what is half-configured is finished.
  const Status finished = manager.Install(WithVersions(kept));
  if (finished.ok()) {
    return false;
  }
  ASSIGN_OR_RETURN(const bool are_as_before, AreAsBefore(work, manager, kept, finished));
  return are_as_before ? StatusOr<bool>(false) : finished;
}

Status PutKeptBack(Work& work, packages::PackageManager& manager, const Versions& kept) {
  ASSIGN_OR_RETURN(const bool must_come, MakeRoom(work, manager, kept));
  if (!must_come) {
    return OkStatus();
  }
  const std::string folder = KeptFolder(work);
  Status back = manager.PutBack(folder);
  if (!back.ok()) {
    ASSIGN_OR_RETURN(const bool are_as_before, AreAsBefore(work, manager, kept, back));
    if (are_as_before) {
      return OkStatus();
    }
  }
  ASSIGN_OR_RETURN(const Versions now, manager.Installed());
  const std::vector<std::string> lacking = Lacking(kept, now);
  // After a failure it is unknown whether the restored packages are complete.
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
  return Annotate(back, "the previous packages cannot be restored from {}", work.host().At(folder));
}

std::string AsideOf(const std::string& path) {
  return fmt::format("{}{}", path, packages::kPutAside);
}

std::string AsideNote(const std::string& path) {
  return fmt::format(
      "{} was set aside with your changes when its package was removed: it is now {}",
      Printable(path), Printable(AsideOf(path)));
}

void NoteAside(Work& work) {
  for (const std::string& path : work.record().changed_configs) {
    if (work.host().LinkStat(AsideOf(path)).ok()) {
      work.Note(AsideNote(path));
    }
  }
}

// A restored package brings its default file. If the user's file has changed, the copy next to it
// is not of this step: it was never moved, or somebody has fixed it since.
Status PutConfigsBack(Work& work, packages::PackageManager& manager) {
  const std::vector<std::string>& paths = work.record().changed_configs;
  if (paths.empty()) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> changed,
                   manager.ChangedConfigs(NamesOf(work.record().replaced)));
  change::Disk& disk = work.deps().disk;
  for (const std::string& path : paths) {
    if (std::ranges::find(changed, path) != changed.end() ||
        !work.host().LinkStat(AsideOf(path)).ok()) {
      continue;
    }
    RETURN_IF_ERROR(disk.Move(AsideOf(path), path));
    std::erase(work.outcome().notes, AsideNote(path));
  }
  return OkStatus();
}

}  // namespace

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
    change::Disk& disk = work.deps().disk;
    RETURN_IF_ERROR(change::RemoveTree(work.host(), disk, KeptFolder(work)));
    RETURN_IF_ERROR(disk.MakeFolder(BackupFolder(work.journal())));
    RETURN_IF_ERROR(disk.MakeFolder(KeptFolder(work)));
    if (const Status kept = manager->Keep(names, KeptFolder(work)); !kept.ok()) {
      return Annotate(kept, "the installed packages could not be restored");
    }
  }
  ASSIGN_OR_RETURN(const std::set<std::string> unfinished, manager->Unfinished());
  std::ranges::copy_if(names, std::back_inserter(work.record().unfinished),
                       [&](const std::string& name) { return unfinished.contains(name); });
  ASSIGN_OR_RETURN(work.record().changed_configs, manager->ChangedConfigs(names));
  RETURN_IF_ERROR(LookAtUnitsThatGo(work));
  work.record().replaced = std::move(doomed);
  return OkStatus();
}

Status DoRemoval(Work& work) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  const std::vector<std::string> names = NamesOf(work.record().replaced);
  if (names.empty()) {
    return OkStatus();
  }
  RETURN_IF_ERROR(TakeOff(work, *manager, names));
  NoteAside(work);
  return OkStatus();
}

// The kept packages must be restored, or the undo ends here and is retried: without them the
// earlier steps have no driver.
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
  if (!left.empty()) {
    RETURN_IF_ERROR(InstallOrNote(work, *manager, WithVersions(left)));
  }
  RETURN_IF_ERROR(PutConfigsBack(work, *manager));
  return BringUnitsBack(work);
}

StatusOr<std::string> KeepPackages(Work& work) {
  // Named after the installation and the step, so that a run that was killed finds it again.
  const std::string kept =
      fmt::format("{}/packages-{}-{}", kKeptFolder, work.journal().began, work.index());
  if (work.host().Exists(kept)) {
    return work.host().At(kept);
  }
  if (!work.host().Exists(KeptFolder(work))) {
    return std::string();
  }
  change::Disk& disk = work.deps().disk;
  RETURN_IF_ERROR(disk.MakeFolder(std::string(kKeptFolder)));
  RETURN_IF_ERROR(disk.Move(KeptFolder(work), kept));
  return work.host().At(kept);
}

}  // namespace kgpu::driver_install
