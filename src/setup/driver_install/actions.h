// What each kind of action does, in halves that the journal is written between: look and note what
// is there, do, make ready for undoing, undo. Every half may be done again after a kill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/platform/base/status.h"
#include "src/setup/driver_install/work.h"

namespace kgpu::driver_install {

// What comes after an action.
enum class Next : uint8_t { kGoOn, kReboot, kPerson };

// Why the step is not for this host; empty: it is.
std::string WhyPassedOver(const driver::Action& action, const Options& options,
                          const sys::Root& host);

// Notes in the record what the action will change; changes nothing but backups of files.
Status LookBefore(Work& work);
StatusOr<Next> Do(Work& work);
// Notes in the record what is to be undone of an action that may have ended half-way.
Status LookBeforeUndo(Work& work);
Status Undo(Work& work);

// Whether the step was begun before the host was started again, which undid it, and what comes
// after it still needs it.
bool IsLost(const Work& work);
// As LookBefore, for a step that is lost: what this boot brought besides is noted, too.
Status LookAgain(Work& work);

// Whether the step asked a person before, who calls again, and nothing shows whether it was done.
bool IsTakenOnTrust(const Work& work);

// One file for each kind.
Status LookBeforeFile(Work& work, const std::string& path, bool follows);
Status DoWriteFile(Work& work, const driver::WriteFile& file);
Status DoRemoveFile(Work& work, const driver::RemoveFile& file);
Status UndoWriteFile(Work& work, const driver::WriteFile& file);
Status UndoRemoveFile(Work& work, const driver::RemoveFile& file);

// Where the first text of the step's file is kept when all else is taken back; empty: it had none.
StatusOr<std::string> KeepFirstText(Work& work);

Status LookBeforePackages(Work& work, const driver::InstallPackages& packages);
Status DoPackages(Work& work, const driver::InstallPackages& packages);
Status LookBeforeUndoPackages(Work& work);
Status UndoPackages(Work& work);
Status LookBeforeRemoval(Work& work, const driver::RemovePackages& packages);
Status DoRemoval(Work& work);
Status UndoRemoval(Work& work, const driver::RemovePackages& packages);
// Where the packages that the step took off stay when all else is taken back; empty: none are kept.
StatusOr<std::string> KeepPackages(Work& work);

Status LookBeforeStop(Work& work, const driver::StopUnits& stop);
Status DoStop(Work& work);
Status UndoStop(Work& work, const driver::StopUnits& stop);
Status LookBeforeStart(Work& work, const driver::StartUnits& start);
Status DoStart(Work& work);
Status UndoStart(Work& work);
// Of a step that takes packages off: notes which of the plan's units run and start with the host,
// and makes them do so again; one that is to be stopped besides starts with the undoing of that.
Status LookAtUnitsThatGo(Work& work);
Status BringUnitsBack(Work& work);

Status LookBeforeLoad(Work& work, const driver::LoadModules& load);
Status DoLoad(Work& work, const driver::LoadModules& load);
Status UndoLoad(Work& work);
Status LookBeforeUnload(Work& work, const driver::UnloadModules& unload);
Status DoUnload(Work& work);
Status UndoUnload(Work& work);

// Of the kernel that runs; empty where it is not shown.
std::string BootId(const sys::Root& host);
Status LookBeforeReboot(Work& work);
StatusOr<Next> DoReboot(Work& work, const driver::Reboot& reboot);
// What stood still for the action goes on again when all other steps are taken back: the driver
// that it needs is there then.
bool ComesBackLast(const driver::Action& action);
// Nothing: it cannot be looked at.
std::optional<bool> IsAnswered(const sys::Root& host, const driver::AskPerson& ask);
// Done already, or waits for a person; a restart belongs to it, which a unit goes on after.
StatusOr<Next> DoAsk(Work& work, const driver::AskPerson& ask);
// Of the unit that goes on: the folders made for it.
void LookBeforeUnit(Work& work);
Status UndoUnit(Work& work);
// Takes the unit away that goes on after a restart.
Status RemoveResumeUnit(const Dependencies& deps);

}  // namespace kgpu::driver_install
