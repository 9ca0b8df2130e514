#include "src/setup/bringup/bringup.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

#include "src/host/change/boot_unit.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/unit_text.h"
#include "src/setup/bringup/record.h"

namespace kgpu::bringup {
namespace {

constexpr std::string_view kResumeUnit = "kgpu-node-up.service";

StageReport ReportOf(const Stage& stage) {
  return {.id = std::string(stage.id()), .title = std::string(stage.title())};
}

bool Knows(const Record& record, const Stage& stage) {
  return std::ranges::find(record.stages, stage.id()) != record.stages.end();
}

enum class Owner : uint8_t { kNobody, kUp, kPerson };

struct Found {
  Record record;
  Levels levels;
  Owner owner = Owner::kNobody;  // of the one on top
};

// Which of the installed levels are ours; null: all of them are.
const std::vector<std::string>* OwnOf(const Record& record, const Stage& stage) {
  const auto own = record.own.find(std::string(stage.id()));
  return own == record.own.end() ? nullptr : &own->second;
}

StatusOr<Found> Find(const Stage& stage, const Host& host) {
  Found found;
  ASSIGN_OR_RETURN(found.record, ReadRecord(host.root));
  ASSIGN_OR_RETURN(found.levels, stage.LevelsThere());
  if (!stage.HasTraces()) {
    return found;
  }
  const std::vector<std::string>* own = OwnOf(found.record, stage);
  const std::vector<std::string>& there = found.levels.names;
  const bool is_ours =
      Knows(found.record, stage) &&
      (own == nullptr || there.empty() || std::ranges::find(*own, there.back()) != own->end());
  found.owner = is_ours ? Owner::kUp : Owner::kPerson;
  return found;
}

// The record is written first, so that a stage that was killed half-way is undone as well. What a
// user began by hand is theirs, and stays theirs when `up` continues it.
Status Note(const Stage& stage, const Host& host, const Found& found) {
  Record record = found.record;
  if (!stage.LeavesTraces() || found.owner == Owner::kPerson) {
    return OkStatus();
  }
  if (!Knows(record, stage)) {
    record.stages.emplace_back(stage.id());
  }
  record.own.erase(std::string(stage.id()));
  return record == found.record ? OkStatus() : WriteRecord(host.disk, record);
}

// Levels that are added on top of the present ones are not ours.
Status NoteOwn(const Stage& stage, const Host& host) {
  ASSIGN_OR_RETURN(const Levels levels, stage.LevelsThere());
  if (levels.names.empty()) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Record record, ReadRecord(host.root));
  record.own[std::string(stage.id())] = levels.names;
  return WriteRecord(host.disk, record);
}

Status Forget(const Stage& stage, const Host& host) {
  ASSIGN_OR_RETURN(Record record, ReadRecord(host.root));
  const bool is_known = std::erase(record.stages, stage.id()) != 0;
  record.own.erase(std::string(stage.id()));
  return is_known ? WriteRecord(host.disk, record) : OkStatus();
}

void Take(const StatusOr<Outcome>& outcome, StageReport& report) {
  if (!outcome.ok()) {
    report.step = Step::kFailed;
    report.text = Message(outcome.status());
    return;
  }
  report.step = outcome->ending == Ending::kDone ? Step::kDone : Step::kWaits;
  report.text = outcome->text;
}

void TakePreview(const StatusOr<std::string>& preview, StageReport& report) {
  report.step = preview.ok() ? Step::kWould : Step::kFailed;
  report.preview = preview.value_or("");
  report.text = preview.ok() ? report.text : std::string(Message(preview.status()));
}

void DoStage(Stage& stage, const Host& host, const Found& found, StageReport& report) {
  const Status noted = Note(stage, host, found);
  const StatusOr<Outcome> outcome = noted.ok() ? stage.Do() : StatusOr<Outcome>(noted);
  Take(outcome, report);
  if (found.owner == Owner::kPerson && outcome.ok() && report.text.empty()) {
    report.text = "started manually before: kgpu node down keeps it";
  }
  Status kept;
  if (!outcome.ok() && !stage.HasTraces()) {
    // It did nothing, or took all back: what comes there later is somebody else's.
    kept = Forget(stage, host);
  } else if (found.owner != Owner::kPerson && noted.ok()) {
    kept = NoteOwn(stage, host);
  }
  if (!kept.ok()) {
    report.text += fmt::format("; {}", Message(kept));
  }
}

void RaiseStage(Stage& stage, const Host& host, const Options& options, StageReport& report) {
  const Look look = stage.LookAt();
  report.text = look.text;
  if (look.condition == Condition::kReady) {
    report.step = Step::kReady;
    return;
  }
  const StatusOr<Found> found = Find(stage, host);
  if (look.condition == Condition::kBlocked || !found.ok()) {
    report.step = Step::kFailed;
    report.text = found.ok() ? report.text : std::string(Message(found.status()));
    return;
  }
  if (found->owner == Owner::kPerson && found->levels.is_whole) {
    report.step = Step::kFailed;
    report.text = fmt::format(
        "{} was installed manually, and node up replaces only what it installed itself{}{}; {}",
        found->levels.top, look.text.empty() ? "" : ": ", look.text, found->levels.by_hand);
    return;
  }
  if (options.is_dry_run) {
    return TakePreview(stage.Preview(), report);
  }
  DoStage(stage, host, *found, report);
}

// A driver that a person installed in the place of ours is not removed.
void LeaveTheirs(const Found& found, StageReport& report) {
  report.step = Step::kReady;
  report.text = fmt::format(
      "what node up installed is already removed; {} was installed manually and is kept",
      found.levels.top);
}

void TakeDown(Stage& stage, const Host& host, const Options& options, StageReport& report) {
  const StatusOr<Found> found = Find(stage, host);
  bool is_gone = false;
  if (!found.ok()) {
    report.step = Step::kFailed;
    report.text = Message(found.status());
  } else if (found->owner == Owner::kPerson) {
    LeaveTheirs(*found, report);
    is_gone = true;
  } else if (options.is_dry_run) {
    TakePreview(stage.PreviewUndo(), report);
  } else {
    Take(stage.Undo(), report);
    is_gone = report.step == Step::kDone;
  }
  if (!is_gone || options.is_dry_run) {
    return;
  }
  if (const Status forgotten = Forget(stage, host); !forgotten.ok()) {
    report.step = Step::kFailed;
    report.text = Message(forgotten);
  }
}

bool IsEnd(const StageReport& report, const Options& options) {
  return !options.is_dry_run && (report.step == Step::kFailed || report.step == Step::kWaits);
}

StatusOr<std::optional<UniqueFd>> Lock(const Host& host, const Options& options) {
  std::optional<UniqueFd> lock;
  if (!options.is_dry_run) {
    ASSIGN_OR_RETURN(lock, LockRecord(host.root, host.disk));
  }
  return lock;
}

Status Begin(const Stages& stages, const Options& options) {
  for (const std::unique_ptr<Stage>& stage : stages) {
    if (!options.is_dry_run && !options.skipped.contains(std::string(stage->id()))) {
      RETURN_IF_ERROR(stage->Begin());
    }
  }
  return OkStatus();
}

// Not as long as the same call will continue.
void End(const Stages& stages, const Options& options, Report& report) {
  if (options.is_dry_run || report.Has(Step::kFailed) || report.Has(Step::kWaits)) {
    return;
  }
  for (const std::unique_ptr<Stage>& stage : stages) {
    if (const Status ended = stage->End(); !ended.ok()) {
      report.notes.emplace_back(Message(ended));
    }
  }
}

std::string ResumeUnitText(const std::vector<std::string>& command) {
  return sys::Print({.remark = "Written by kgpu node up, which removes it when it is done.",
                     .description = "kgpu: continue setting up this GPU node",
                     .after = "kgpu-driver-resume.service",
                     .condition = std::string(kRecordFile),
                     .command = command});
}

// The unit is there for as long as something waits, and not after that. That it cannot be written
// takes nothing from what was done.
void KeepResumeUnit(Report& report, const Host& host, const Options& options) {
  const bool is_wanted = report.Has(Step::kWaits) && !options.resume.empty();
  if (const Status kept = is_wanted ? change::PutBootUnit(host.root, host.disk, kResumeUnit,
                                                          ResumeUnitText(options.resume))
                                    : change::RemoveBootUnit(host.disk, kResumeUnit);
      !kept.ok()) {
    report.notes.emplace_back(Message(kept));
  }
  if (report.Has(Step::kWaits) && !(is_wanted && report.notes.empty())) {
    report.notes.emplace_back("then run kgpu node up again: no unit resumes it here");
  }
}

}  // namespace

std::string_view ToString(Step step) {
  constexpr std::array<std::string_view, 7> kNames = {"ready",  "done",    "would do",   "waits",
                                                      "failed", "skipped", "not reached"};
  return kNames[static_cast<size_t>(step)];
}

bool Report::Has(Step step) const {
  return std::ranges::any_of(stages,
                             [step](const StageReport& stage) { return stage.step == step; });
}

StatusOr<Report> Up(const Stages& stages, const Host& host, const Options& options) {
  ASSIGN_OR_RETURN(const std::optional<UniqueFd> lock, Lock(host, options));
  RETURN_IF_ERROR(ReadRecord(host.root).status());
  RETURN_IF_ERROR(Begin(stages, options));
  Report report;
  bool is_over = false;
  for (const std::unique_ptr<Stage>& stage : stages) {
    StageReport& one = report.stages.emplace_back(ReportOf(*stage));
    if (options.skipped.contains(one.id)) {
      one.step = Step::kSkipped;
    } else if (!is_over) {
      options.on_stage(*stage);
      RaiseStage(*stage, host, options, one);
      is_over = IsEnd(one, options);
    }
  }
  if (!options.is_dry_run) {
    KeepResumeUnit(report, host, options);
  }
  End(stages, options, report);
  return report;
}

StatusOr<Report> Down(const Stages& stages, const Host& host, const Options& options) {
  ASSIGN_OR_RETURN(const std::optional<UniqueFd> lock, Lock(host, options));
  ASSIGN_OR_RETURN(const Record record, ReadRecord(host.root));
  Report report;
  if (!options.is_dry_run) {
    if (const Status removed = change::RemoveBootUnit(host.disk, kResumeUnit); !removed.ok()) {
      report.notes.emplace_back(Message(removed));
    }
  }
  bool is_over = false;
  for (const std::unique_ptr<Stage>& stage : std::views::reverse(stages)) {
    if (!Knows(record, *stage)) {
      continue;
    }
    StageReport& one = report.stages.emplace_back(ReportOf(*stage));
    if (options.skipped.contains(one.id)) {
      one.step = Step::kSkipped;
    } else if (!is_over) {
      options.on_stage(*stage);
      TakeDown(*stage, host, options, one);
      is_over = IsEnd(one, options);
    }
  }
  End(stages, options, report);
  return report;
}

}  // namespace kgpu::bringup
