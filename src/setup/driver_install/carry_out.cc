#include "src/setup/driver_install/carry_out.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/host/change/folders.h"
#include "src/host/change/lock.h"
#include "src/host/packages/service_policy.h"
#include "src/platform/base/status_macros.h"
#include "src/setup/driver_install/actions.h"
#include "src/setup/driver_install/former.h"
#include "src/setup/driver_install/running_program.h"
#include "src/setup/driver_install/work.h"

namespace kgpu::driver_install {
namespace {

// One run over a journal, forwards or back. Owns the journal; lives for one call.
class Run {
 public:
  Run(Journal journal, const Options& options, const Dependencies& deps)
      : journal_(std::move(journal)), options_(options), deps_(deps) {}

  StatusOr<Outcome> Forwards();
  StatusOr<Outcome> Back(bool restores);
  StatusOr<Outcome> VerifyAgain();
  Status Save();

 private:
  StatusOr<Next> DoSteps();
  StatusOr<Next> DoStep(size_t index);
  Status PassOver(Work& work, const std::string& why);
  Status Finish();
  Status Fail(const Status& cause);
  std::string NotesText() const;
  void EndUnit();
  Status GoBack();
  Status GiveUp(Work& work, std::string_view why);
  Status UndoSteps(bool is_last);
  Status UndoStep(size_t index);
  Status Forget();
  StatusOr<Outcome> Advance();
  std::string NameOf(size_t index) const;

  Journal journal_;
  const Options& options_;
  const Dependencies& deps_;
  Outcome outcome_;
  bool is_lost_ = false;  // the journal cannot be written: nothing more is done
};

Status Run::Save() {
  Status status = WriteJournal(journal_, deps_.disk);
  is_lost_ = is_lost_ || !status.ok();
  return status;
}

std::string Run::NameOf(size_t index) const {
  return fmt::format("step {} of {}, {}", index + 1, journal_.steps.size(),
                     journal_.plan.steps[index].id);
}

Status Run::PassOver(Work& work, const std::string& why) {
  work.record().state = StepState::kPassedOver;
  work.record().note = why;
  work.Note(fmt::format("skipped: {}: {}", work.step().title, why));
  return Save();
}

StatusOr<Next> Run::DoStep(size_t index) {
  Work work(deps_, options_, journal_, index, outcome_);
  StepRecord& record = work.record();
  deps_.progress.OnStep(index + 1, journal_.steps.size(), work.step(), false);
  Next next = Next::kGoOn;
  const bool is_begun = record.state != StepState::kPending;
  if (!is_begun) {
    if (const std::string why = WhyPassedOver(work.step().action, options_, deps_.host);
        !why.empty()) {
      RETURN_IF_ERROR(PassOver(work, why));
      return Next::kGoOn;
    }
    if (Status looked = LookBefore(work); !looked.ok()) {
      record = StepRecord{};
      return looked;
    }
    record.state = StepState::kDoing;
    RETURN_IF_ERROR(Save());
    ASSIGN_OR_RETURN(next, Do(work));
  } else if (IsLost(work)) {
    RETURN_IF_ERROR(LookAgain(work));
    record.state = StepState::kDoing;
    RETURN_IF_ERROR(Save());
    ASSIGN_OR_RETURN(next, Do(work));
  } else if (!IsTakenOnTrust(work)) {
    // Begun by a run before this one.
    ASSIGN_OR_RETURN(next, Do(work));
  }
  if (next != Next::kGoOn) {
    // A host is not restarted for the same step again and again.
    outcome_.is_to_restart =
        next == Next::kReboot && journal_.restarts && !(is_begun && options_.is_unattended);
    return next;
  }
  record.state = StepState::kDone;
  record.was_done = true;
  RETURN_IF_ERROR(Save());
  return next;
}

StatusOr<Next> Run::DoSteps() {
  for (size_t index = 0; index < journal_.steps.size(); ++index) {
    const StepState state = journal_.steps[index].state;
    const bool is_over = state == StepState::kDone || state == StepState::kPassedOver;
    if (is_over && !IsLost(Work(deps_, options_, journal_, index, outcome_))) {
      continue;
    }
    StatusOr<Next> next = DoStep(index);
    if (!next.ok()) {
      return Annotate(next.status(), "{}", NameOf(index));
    }
    if (*next != Next::kGoOn) {
      return next;
    }
  }
  return Next::kGoOn;
}

Status Run::Finish() {
  RETURN_IF_ERROR(RemoveResumeUnit(deps_));
  journal_.phase = Phase::kInstalled;
  return Save();
}

std::string Run::NotesText() const {
  std::string notes;
  for (const std::string& note : outcome_.notes) {
    fmt::format_to(std::back_inserter(notes), "\nnote: {}", note);
  }
  return notes;
}

// A run that failed is not tried again at each start of the host: a person decides.
void Run::EndUnit() {
  if (const Status removed = RemoveResumeUnit(deps_); !removed.ok()) {
    outcome_.notes.emplace_back(Message(removed));
  }
}

// The result of a run whose step failed. The code of the step's error says nothing about the run:
// NotFound would mean that nothing is installed here.
Status Run::Fail(const Status& cause) {
  constexpr std::string_view kWays =
      "to resume: kgpu driver install; to undo: kgpu driver rollback";
  if (is_lost_) {
    return FailedPrecondition("{}; nothing more was done: {}", Message(cause), kWays);
  }
  journal_.failure = Message(cause);
  if (journal_.keeps) {
    RETURN_IF_ERROR(Save());
    EndUnit();
    const bool has_done = std::ranges::any_of(
        journal_.steps, [](const StepRecord& step) { return step.state == StepState::kDone; });
    return FailedPrecondition(
        "{}\n{}: {}{}", Message(cause),
        has_done ? "the completed steps are kept" : "no earlier step has changed anything", kWays,
        NotesText());
  }
  const Status back = GoBack();
  if (!back.ok()) {
    return FailedPrecondition(
        "{}\n"
        "undoing it also failed: {}\n"
        "to try again: kgpu driver rollback, with --force to skip that step; the remaining steps "
        "are in {}",
        Message(cause), Message(back), deps_.host.At(kJournalFile));
  }
  return FailedPrecondition("{}\n{}{}", Message(cause),
                            outcome_.lacks
                                ? "all steps were undone, but not everything could be restored"
                                : "all steps were undone",
                            NotesText());
}

// Until the end of the plan, or of the way back.
StatusOr<Outcome> Run::Advance() {
  journal_.phase = Phase::kInstalling;
  journal_.failure.clear();
  RETURN_IF_ERROR(Save());
  const StatusOr<Next> next = DoSteps();
  if (!next.ok()) {
    return Fail(next.status());
  }
  if (*next == Next::kGoOn) {
    RETURN_IF_ERROR(Finish());
  }
  outcome_.result = *next == Next::kReboot   ? Result::kNeedsReboot
                    : *next == Next::kPerson ? Result::kNeedsPerson
                                             : Result::kDone;
  return outcome_;
}

StatusOr<Outcome> Run::Forwards() {
  StatusOr<Outcome> outcome = Advance();
  if (outcome.ok() || journal_.phase != Phase::kRemoved) {
    return outcome;
  }
  const std::string version = journal_.plan.version;
  const StatusOr<Outcome> again = Advance();
  if (!again.ok()) {
    return FailedPrecondition("{}\ndriver {} could not be installed again: {}",
                              Message(outcome.status()), version, Message(again.status()));
  }
  return FailedPrecondition("{}\ndriver {} {}", Message(outcome.status()), version,
                            again->text.empty()
                                ? "is installed again"
                                : fmt::format("is being installed again: {}; kgpu driver install "
                                              "continues after that",
                                              again->text));
}

Status Run::GiveUp(Work& work, std::string_view why) {
  ASSIGN_OR_RETURN(const std::string kept, KeepFirstText(work));
  work.NoteLost(fmt::format("not undone: {}: {}{}{}", NameOf(work.index()), why,
                            kept.empty() ? "" : "; the original is in ", kept));
  return OkStatus();
}

Status Run::UndoStep(size_t index) {
  Work work(deps_, options_, journal_, index, outcome_);
  StepRecord& record = work.record();
  if (record.state == StepState::kPending || record.state == StepState::kPassedOver ||
      record.state == StepState::kUndone) {
    return OkStatus();
  }
  deps_.progress.OnStep(index + 1, journal_.steps.size(), work.step(), true);
  if (record.state == StepState::kUndoing) {
    // A step without a noted failure was interrupted, and may have been partly undone: what it did
    // may no longer be complete.
    record.was_done = record.was_done && !record.note.empty();
    record.note.clear();
  } else {
    RETURN_IF_ERROR(LookBeforeUndo(work));
    record.state = StepState::kUndoing;
  }
  RETURN_IF_ERROR(Save());
  if (const Status undone = Undo(work); !undone.ok()) {
    record.note = Message(undone);
    if (!options_.forces) {
      return Annotate(undone, "{}", NameOf(index));
    }
    RETURN_IF_ERROR(GiveUp(work, Message(undone)));
  }
  const bool is_command = std::holds_alternative<driver::RunCommand>(work.step().action);
  if (is_command && !work.step().loses.empty()) {
    work.NoteLost(fmt::format("{} is not restored, which it replaced", work.step().loses));
  }
  record.state = StepState::kUndone;
  return Save();
}

Status Run::UndoSteps(bool is_last) {
  for (size_t index = journal_.steps.size(); index-- > 0;) {
    if (ComesBackLast(journal_.plan.steps[index].action) == is_last) {
      RETURN_IF_ERROR(UndoStep(index));
    }
  }
  return OkStatus();
}

// From the last to the first; what was stopped for it starts when the old driver is back.
Status Run::GoBack() {
  journal_.phase = Phase::kGoingBack;
  RETURN_IF_ERROR(Save());
  Status undone = UndoSteps(false);
  if (undone.ok()) {
    undone = UndoSteps(true);
  }
  if (undone.ok()) {
    return Forget();
  }
  if (!is_lost_) {
    journal_.failure = Message(undone);
    RETURN_IF_ERROR(Save());
    EndUnit();
  }
  return undone;
}

// Called when all is as before this driver. The journal is removed, unless it has a former driver.
Status Run::Forget() {
  change::Disk& disk = deps_.disk;
  RETURN_IF_ERROR(change::RemoveTree(deps_.host, disk, std::string(kBackupFolder)));
  RETURN_IF_ERROR(disk.Tidy(std::string(kJournalFile)));
  if (!journal_.former) {
    return disk.Remove(std::string(kJournalFile));  // the folder stays: the lock is held on it
  }
  Journal former;
  former.phase = Phase::kRemoved;
  former.began = journal_.former->began;
  former.restarts = journal_.restarts;
  former.plan = std::move(journal_.former->plan);
  former.steps.resize(former.plan.steps.size());
  journal_ = std::move(former);
  return Save();
}

StatusOr<Outcome> Run::Back(bool restores) {
  if (const Status back = GoBack(); !back.ok()) {
    return FailedPrecondition("{}", Message(back));
  }
  if (restores && journal_.phase == Phase::kRemoved) {
    outcome_.back_to = journal_.plan.version;
    ASSIGN_OR_RETURN(Outcome outcome, Advance());
    if (outcome.result != Result::kDone) {
      return outcome;
    }
  }
  outcome_.result = Result::kTakenBack;
  return outcome_;
}

StatusOr<Outcome> Run::VerifyAgain() {
  for (size_t index = 0; index < journal_.steps.size(); ++index) {
    if (!std::holds_alternative<driver::Verify>(journal_.plan.steps[index].action)) {
      continue;
    }
    Work work(deps_, options_, journal_, index, outcome_);
    const StatusOr<Next> seen = Do(work);
    RETURN_IF_ERROR(seen.status());
  }
  return outcome_;
}

StatusOr<Journal> Opened(const Dependencies& deps) {
  ASSIGN_OR_RETURN(std::optional<Journal> journal, ReadJournal(deps.host));
  if (!journal) {
    return NotFound("{}: not found: kgpu has not installed a driver on this host",
                    deps.host.At(kJournalFile));
  }
  return *std::move(journal);
}

int64_t Seconds(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::seconds>(clock.WallNow().time_since_epoch())
      .count();
}

}  // namespace

StatusOr<UniqueFd> LockHost(const Dependencies& deps) {
  ASSIGN_OR_RETURN(UniqueFd lock,
                   change::LockFolder(deps.host, deps.disk, change::kStateFolder, "another kgpu"));
  RETURN_IF_ERROR(deps.disk.Tidy(std::string(kJournalFile)));
  RETURN_IF_ERROR(AwaitProgram(deps.host, deps.disk, deps.progress, kProgramWait));
  // Only now: a package manager that was still at work would have started services.
  RETURN_IF_ERROR(packages::RemoveOurPolicy(deps.host));
  return lock;
}

StatusOr<Outcome> CarryOut(const driver::Plan& plan, const Options& options,
                           const Dependencies& deps) {
  ASSIGN_OR_RETURN(std::optional<Journal> there, ReadJournal(deps.host));
  if (there && there->phase != Phase::kRemoved) {
    return AlreadyExists("{}: driver {} is {}: undo it first: kgpu driver remove",
                         deps.host.At(kJournalFile), there->plan.version, ToString(there->phase));
  }
  Journal journal;
  if (there) {
    journal.former = Former{.plan = std::move(there->plan), .began = there->began};
  }
  journal.began = Seconds(deps.clock);
  journal.keeps = options.keeps;
  journal.restarts = options.restarts;
  journal.plan = plan;
  journal.steps.resize(plan.steps.size());
  return Run(std::move(journal), options, deps).Forwards();
}

StatusOr<Outcome> Resume(const Options& options, const Dependencies& deps) {
  ASSIGN_OR_RETURN(Journal journal, Opened(deps));
  const Phase phase = journal.phase;
  if (!options.is_unattended) {
    journal.keeps = options.keeps;
    journal.restarts = options.restarts;
  }
  Run run(std::move(journal), options, deps);
  switch (phase) {
    case Phase::kInstalling:
    case Phase::kRemoved:
      return run.Forwards();
    case Phase::kInstalled:
      return run.VerifyAgain();
    case Phase::kGoingBack:
      return run.Back(false);
  }
  return Internal("a journal in no phase");
}

StatusOr<Outcome> TakeBack(const Options& options, const Dependencies& deps) {
  ASSIGN_OR_RETURN(Journal journal, Opened(deps));
  if (!options.restores) {
    journal.former.reset();
  } else if (journal.phase == Phase::kRemoved) {
    return Resume(options, deps);
  }
  return Run(std::move(journal), options, deps).Back(options.restores);
}

StatusOr<Outcome> GiveWay(const Options& options, const Dependencies& deps) {
  ASSIGN_OR_RETURN(Journal journal, Opened(deps));
  if (journal.phase != Phase::kInstalled) {
    return FailedPrecondition("{}: driver {} is {}: undo it first: kgpu driver remove",
                              deps.host.At(kJournalFile), journal.plan.version,
                              ToString(journal.phase));
  }
  journal.former = Former{.plan = PlanToReinstall(journal), .began = journal.began};
  return Run(std::move(journal), options, deps).Back(false);
}

}  // namespace kgpu::driver_install
