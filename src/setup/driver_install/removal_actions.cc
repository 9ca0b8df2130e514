// Packages that are removed, and installed again when that is undone.
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
std::vector<std::string> StillThere(const Versions& old, const Versions& now) {
  std::vector<std::string> there;
  for (const auto& [name, version] : old) {
    if (const auto found = now.find(name); found != now.end() && found->second == version) {
      there.push_back(name);
    }
  }
  return there;
}

// A package that was cut off while it was removed or configured is listed as a whole one is, and
// has no module: it goes first, and comes again. Only to put it there again would not do: rpm runs
// what belongs to the removal of the old one last, which takes the module that was just built.
Status MakeRoom(Work& work, packages::PackageManager& manager) {
  ASSIGN_OR_RETURN(const Versions now, manager.Installed());
  const std::vector<std::string> there = StillThere(work.record().replaced, now);
  const Status off = there.empty() ? OkStatus() : TakeOff(work, manager, there);
  // If others need them, they stayed.
  return IsTransient(off) ? off : OkStatus();
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

// Without the old packages the earlier steps have no driver: the undo ends here and is tried again,
// unless they were incomplete before or given up.
Status UndoRemoval(Work& work, const driver::RemovePackages& packages) {
  ASSIGN_OR_RETURN(packages::PackageManager* const manager, ManagerOf(work));
  const StepRecord& record = work.record();
  if (!record.replaced.empty()) {
    RETURN_IF_ERROR(MakeRoom(work, *manager));
    const std::vector<std::string> names = WithVersions(record.replaced);
    RETURN_IF_ERROR(packages.must_return && record.unfinished.empty()
                        ? Annotate(manager->Install(names), "the previous packages")
                        : InstallOrNote(work, *manager, names));
  }
  RETURN_IF_ERROR(PutConfigsBack(work, *manager));
  return BringUnitsBack(work);
}

}  // namespace kgpu::driver_install
