#include "src/setup/driver_install/actions.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "src/host/facts/daemons.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/systemctl.h"
#include "src/setup/driver/gpu_holders.h"

namespace kgpu::driver_install {
namespace {

using driver::AskPerson;
using driver::InstallPackages;
using driver::LoadModules;
using driver::Reboot;
using driver::RemoveFile;
using driver::RemovePackages;
using driver::RunCommand;
using driver::StartUnits;
using driver::StopUnits;
using driver::UnloadModules;
using driver::Verify;
using driver::WriteFile;

// Programs that change the running kernel, whatever root they run in.
constexpr std::array<std::string_view, 5> kOfRunningSystem = {"nvidia-modprobe", "modprobe",
                                                              "insmod", "rmmod", "systemctl"};

// Actions whose effect ends when the host is restarted.
bool IsVolatile(const driver::Action& action) {
  return std::holds_alternative<StopUnits>(action) || std::holds_alternative<StartUnits>(action) ||
         std::holds_alternative<LoadModules>(action) ||
         std::holds_alternative<UnloadModules>(action);
}

bool IsOfRunningSystem(const driver::Action& action) {
  if (const auto* run = std::get_if<RunCommand>(&action); run != nullptr) {
    const auto& argv = run->command.argv.empty() ? run->undo.argv : run->command.argv;
    const std::string name = argv.empty() ? "" : std::filesystem::path(argv[0]).filename().string();
    return std::ranges::find(kOfRunningSystem, name) != kOfRunningSystem.end();
  }
  return IsVolatile(action) || std::holds_alternative<Reboot>(action);
}

// Whether the way was cleared for something that is there by now.
bool IsWayUsed(const Journal& journal, size_t index) {
  for (size_t later = index + 1; later < journal.steps.size(); ++later) {
    const driver::Action& action = journal.plan.steps[later].action;
    const bool uses =
        std::holds_alternative<LoadModules>(action) || std::holds_alternative<StartUnits>(action);
    if (uses && journal.steps[later].state == StepState::kDone) {
      return true;
    }
  }
  return false;
}

// Those of `names` that one of the lists has, in the order of `names`.
std::vector<std::string> InEither(const std::vector<std::string>& names,
                                  const std::vector<std::string>& one,
                                  const std::vector<std::string>& other) {
  std::vector<std::string> both;
  std::ranges::copy_if(names, std::back_inserter(both), [&](const std::string& name) {
    return std::ranges::find(one, name) != one.end() ||
           std::ranges::find(other, name) != other.end();
  });
  return both;
}

// The units or modules that an action names; it is a volatile one.
struct Namer {
  const std::vector<std::string>& operator()(const StopUnits& stop) const { return stop.units; }
  const std::vector<std::string>& operator()(const StartUnits& start) const { return start.units; }
  const std::vector<std::string>& operator()(const LoadModules& load) const { return load.names; }
  const std::vector<std::string>& operator()(const UnloadModules& unload) const {
    return unload.names;
  }
  template <typename Other>
  const std::vector<std::string>& operator()(const Other&) const {
    static const std::vector<std::string> none;
    return none;
  }
};

// What the plan still has to stop or unload.
template <typename Stopping>
const Stopping* FindPending(const Work& work) {
  for (size_t index = work.index(); index < work.journal().steps.size(); ++index) {
    const auto* found = std::get_if<Stopping>(&work.journal().plan.steps[index].action);
    if (found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

// Processes that came since the plan was made would keep the modules from being unloaded. Before
// the packages of the old driver go they are found at no cost.
Status CheckHolders(const Work& work) {
  if (!work.options().is_running_system || FindPending<UnloadModules>(work) == nullptr) {
    return OkStatus();
  }
  const auto* stop = FindPending<StopUnits>(work);
  const auto units = stop == nullptr ? std::vector<std::string>() : stop->units;
  const std::vector<host::Daemon> displays = host::FindDisplays(work.host());
  std::vector<std::string> names;
  for (const driver::GpuHolder& holder : driver::FindGpuHolders(work.host())) {
    const bool draws =
        std::ranges::find(displays, holder.pid, &host::Daemon::pid) != displays.end();
    if (!draws && !holder.IsOf(units)) {
      names.push_back(fmt::format("{} ({})", holder.name, holder.pid));
    }
  }
  return names.empty() ? OkStatus()
                       : FailedPrecondition(
                             "{} processes use the GPUs now, so the modules could not be unloaded: "
                             "{}: stop them, or drain the node, and run it again",
                             names.size(), Join(names, ", "));
}

struct Looker {
  Work& work;
  Status operator()(const RunCommand&) const { return OkStatus(); }
  Status operator()(const WriteFile& file) const { return LookBeforeFile(work, file.path, true); }
  Status operator()(const RemoveFile& file) const { return LookBeforeFile(work, file.path, false); }
  Status operator()(const InstallPackages& packages) const {
    return LookBeforePackages(work, packages);
  }
  Status operator()(const StopUnits& stop) const { return LookBeforeStop(work, stop); }
  Status operator()(const StartUnits& start) const { return LookBeforeStart(work, start); }
  Status operator()(const UnloadModules& unload) const { return LookBeforeUnload(work, unload); }
  Status operator()(const LoadModules& load) const { return LookBeforeLoad(work, load); }
  Status operator()(const Reboot&) const { return LookBeforeReboot(work); }
  Status operator()(const AskPerson&) const {
    LookBeforeUnit(work);
    return OkStatus();
  }
  Status operator()(const Verify&) const { return OkStatus(); }
  Status operator()(const RemovePackages& packages) const {
    RETURN_IF_ERROR(CheckHolders(work));
    return LookBeforeRemoval(work, packages);
  }
};

StatusOr<Next> GoOn(const Status& status) {
  return status.ok() ? StatusOr<Next>(Next::kGoOn) : status;
}

Status DoVerify(Work& work, const Verify& request) {
  driver::Verified seen = work.deps().verify(request);
  work.outcome().passed = std::move(seen.passed);
  for (const std::string& skipped : seen.skipped) {
    work.Note(fmt::format("not checked: {}", skipped));
  }
  return seen.failed.empty() ? OkStatus() : FailedPrecondition("{}", Join(seen.failed, "; "));
}

struct Doer {
  Work& work;
  StatusOr<Next> operator()(const RunCommand& run) const {
    return run.command.argv.empty() ? Next::kGoOn : GoOn(work.Run(run.command));
  }
  StatusOr<Next> operator()(const WriteFile& file) const { return GoOn(DoWriteFile(work, file)); }
  StatusOr<Next> operator()(const RemoveFile& file) const { return GoOn(DoRemoveFile(work, file)); }
  StatusOr<Next> operator()(const InstallPackages& packages) const {
    return GoOn(DoPackages(work, packages));
  }
  StatusOr<Next> operator()(const StopUnits&) const { return GoOn(DoStop(work)); }
  StatusOr<Next> operator()(const StartUnits&) const { return GoOn(DoStart(work)); }
  StatusOr<Next> operator()(const UnloadModules&) const { return GoOn(DoUnload(work)); }
  StatusOr<Next> operator()(const LoadModules& load) const { return GoOn(DoLoad(work, load)); }
  StatusOr<Next> operator()(const Reboot& reboot) const { return DoReboot(work, reboot); }
  StatusOr<Next> operator()(const AskPerson& ask) const { return DoAsk(work, ask); }
  StatusOr<Next> operator()(const Verify& request) const { return GoOn(DoVerify(work, request)); }
  StatusOr<Next> operator()(const RemovePackages&) const { return GoOn(DoRemoval(work)); }
};

// A command that did not end may have done nothing, and then there may be nothing to undo.
Status UndoCommand(Work& work, const RunCommand& run) {
  if (run.undo.argv.empty()) {
    return OkStatus();
  }
  const Status status = work.Run(run.undo);
  if (!status.ok() && !work.record().was_done) {
    work.Note(fmt::format("{} was not finished, and undoing it reported: {}", work.step().id,
                          Message(status)));
    return OkStatus();
  }
  return status;
}

struct Undoer {
  Work& work;
  Status operator()(const RunCommand& run) const { return UndoCommand(work, run); }
  Status operator()(const WriteFile& file) const { return UndoWriteFile(work, file); }
  Status operator()(const RemoveFile& file) const { return UndoRemoveFile(work, file); }
  Status operator()(const InstallPackages&) const { return UndoPackages(work); }
  Status operator()(const StopUnits& stop) const { return UndoStop(work, stop); }
  Status operator()(const StartUnits&) const { return UndoStart(work); }
  Status operator()(const UnloadModules&) const { return UndoUnload(work); }
  Status operator()(const LoadModules&) const { return UndoLoad(work); }
  Status operator()(const Reboot&) const { return UndoUnit(work); }
  Status operator()(const AskPerson&) const { return UndoUnit(work); }
  Status operator()(const Verify&) const { return OkStatus(); }
  Status operator()(const RemovePackages& packages) const { return UndoRemoval(work, packages); }
};

}  // namespace

bool ComesBackLast(const driver::Action& action) {
  return std::holds_alternative<StopUnits>(action) || std::holds_alternative<UnloadModules>(action);
}

std::string WhyPassedOver(const driver::Action& action, const Options& options,
                          const sys::Root& host) {
  if (!options.is_running_system && IsOfRunningSystem(action)) {
    return fmt::format("{} is not the running system", host.path());
  }
  const bool is_unit =
      std::holds_alternative<StopUnits>(action) || std::holds_alternative<StartUnits>(action);
  return is_unit && !sys::HasSystemd(host) ? "systemd does not run this host" : "";
}

Status LookBefore(Work& work) {
  if (IsVolatile(work.step().action)) {
    work.record().boot_id = BootId(work.host());
  }
  return std::visit(Looker{work}, work.step().action);
}

bool IsTakenOnTrust(const Work& work) {
  const auto* ask = std::get_if<AskPerson>(&work.step().action);
  return ask != nullptr && !work.options().is_unattended &&
         !IsAnswered(work.host(), *ask).has_value();
}

bool IsLost(const Work& work) {
  const StepRecord& record = work.journal().steps[work.index()];
  const driver::Action& action = work.step().action;
  const bool is_begun = record.state == StepState::kDoing || record.state == StepState::kDone;
  if (!is_begun || !IsVolatile(action) || record.boot_id.empty()) {
    return false;
  }
  const bool clears =
      std::holds_alternative<StopUnits>(action) || std::holds_alternative<UnloadModules>(action);
  const std::string boot_id = BootId(work.host());
  return !boot_id.empty() && boot_id != record.boot_id &&
         !(clears && IsWayUsed(work.journal(), work.index()));
}

Status LookAgain(Work& work) {
  StepRecord& record = work.record();
  const StepRecord known = record;
  record.units.clear();
  record.enabled.clear();
  record.modules.clear();
  if (const Status looked = LookBefore(work); !looked.ok()) {
    record = known;
    return looked;
  }
  const std::vector<std::string>& names = std::visit(Namer(), work.step().action);
  record.units = InEither(names, known.units, record.units);
  record.enabled = InEither(names, known.enabled, record.enabled);
  record.modules = InEither(names, known.modules, record.modules);
  return OkStatus();
}

StatusOr<Next> Do(Work& work) {
  return std::visit(Doer{work}, work.step().action);
}

Status LookBeforeUndo(Work& work) {
  return std::holds_alternative<InstallPackages>(work.step().action) ? LookBeforeUndoPackages(work)
                                                                     : OkStatus();
}

Status Undo(Work& work) {
  return std::visit(Undoer{work}, work.step().action);
}

}  // namespace kgpu::driver_install
