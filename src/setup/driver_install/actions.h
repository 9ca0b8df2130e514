// What each kind of action does, in phases with journal writes in between: record what is there,
// do, prepare the undo, undo. Every phase can be repeated after a kill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/platform/base/status.h"
#include "src/setup/driver_install/work.h"

namespace kgpu::driver_install {

// What comes after an action.
enum class Next : uint8_t { kGoOn, kReboot, kPerson };

// Why this host does not need the step; empty: it does.
std::string WhyPassedOver(const driver::Action& action, const Options& options,
                          const sys::Root& host);

// Records what the action will change; changes nothing, except that it backs up files.
Status LookBefore(Work& work);
StatusOr<Next> Do(Work& work);
// Records what to undo of an action that may have stopped half-way.
Status LookBeforeUndo(Work& work);
Status Undo(Work& work);

// Whether the step began before the host was restarted, the restart undid it, and later steps still
// need it.
bool IsLost(const Work& work);
// As LookBefore, for a lost step: also records what this boot changed.
Status LookAgain(Work& work);

// Whether the step asked a person, who now calls again, and nothing shows whether it was done.
bool IsTakenOnTrust(const Work& work);

// One file per kind.
Status LookBeforeFile(Work& work, const std::string& path, bool follows);
Status DoWriteFile(Work& work, const driver::WriteFile& file);
Status DoRemoveFile(Work& work, const driver::RemoveFile& file);
Status UndoWriteFile(Work& work, const driver::WriteFile& file);
Status UndoRemoveFile(Work& work, const driver::RemoveFile& file);

// Where the original text of the step's file stays after all else is reverted; empty: it had none.
StatusOr<std::string> KeepFirstText(Work& work);

Status LookBeforePackages(Work& work, const driver::InstallPackages& packages);
Status DoPackages(Work& work, const driver::InstallPackages& packages);
Status LookBeforeUndoPackages(Work& work);
Status UndoPackages(Work& work);
Status LookBeforeRemoval(Work& work, const driver::RemovePackages& packages);
Status DoRemoval(Work& work);
Status UndoRemoval(Work& work, const driver::RemovePackages& packages);

Status LookBeforeStop(Work& work, const driver::StopUnits& stop);
Status DoStop(Work& work);
Status UndoStop(Work& work, const driver::StopUnits& stop);
Status LookBeforeStart(Work& work, const driver::StartUnits& start);
Status DoStart(Work& work);
Status UndoStart(Work& work);
// For a step that removes packages: records which of the plan's units run and start at boot, to
// restore that later; a unit that is also stopped by another step starts when that one is undone.
Status LookAtUnitsThatGo(Work& work);
Status BringUnitsBack(Work& work);

Status LookBeforeLoad(Work& work, const driver::LoadModules& load);
Status DoLoad(Work& work, const driver::LoadModules& load);
Status UndoLoad(Work& work);
Status LookBeforeUnload(Work& work, const driver::UnloadModules& unload);
Status DoUnload(Work& work);
Status UndoUnload(Work& work);

// The boot id of the running kernel; empty if it is not available.
std::string BootId(const sys::Root& host);
Status LookBeforeReboot(Work& work);
StatusOr<Next> DoReboot(Work& work, const driver::Reboot& reboot);
// Whether what the action stopped resumes after all other steps are reverted: only then is the
// driver that it needs back.
bool ComesBackLast(const driver::Action& action);
// Nothing: it cannot be checked.
std::optional<bool> IsAnswered(const sys::Root& host, const driver::AskPerson& ask);
// Done already, or waits for a person; includes a restart, after which a unit continues.
StatusOr<Next> DoAsk(Work& work, const driver::AskPerson& ask);
// For the unit that continues: the folders created for it.
void LookBeforeUnit(Work& work);
Status UndoUnit(Work& work);
// Removes the unit that continues after a restart.
Status RemoveResumeUnit(const Dependencies& deps);

}  // namespace kgpu::driver_install
