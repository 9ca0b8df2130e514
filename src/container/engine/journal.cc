#include "src/container/engine/journal.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

#include "src/host/change/fingerprint.h"
#include "src/host/change/folders.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::engine {
namespace {

void AddOnce(const std::vector<std::string>& from, std::vector<std::string>& to) {
  for (const std::string& item : from) {
    if (std::ranges::find(to, item) == to.end()) {
      to.push_back(item);
    }
  }
}

}  // namespace

Status Journal::RemoveLeftovers(const sys::Root& host, change::Disk& disk) {
  ASSIGN_OR_RETURN(Journal journal, Open(host, disk));
  return journal.RemoveUnusedBackups();
}

StatusOr<Journal> Journal::Open(const sys::Root& host, change::Disk& disk) {
  ASSIGN_OR_RETURN(State state, ReadState(host));
  return Journal(host, disk, std::move(state));
}

const Record* Journal::Find(const std::string& id) const {
  const auto record = state_.find(id);
  return record == state_.end() ? nullptr : &record->second;
}

// Keeps a text; returns where. Same text, same place: a second run finds it there.
StatusOr<std::string> Journal::Keep(const std::string& path, const std::string& text) {
  const std::string name = std::filesystem::path(path).filename();
  std::string place =
      fmt::format("{}/{}-{}", kBackupFolder, change::Fingerprint(path + '\n' + text), name);
  RETURN_IF_ERROR(disk_.MakeFolder(std::string(kBackupFolder)));
  if (const auto there = host_.ReadFile(place, change::kMostFileBytes);
      !there.ok() || *there != text) {
    RETURN_IF_ERROR(disk_.Write(place, text, change::kRootOnly));
  }
  return place;
}

// The file is edited for the first time, or somebody else edited it since: the text to return to is
// the one that it would have without our changes.
Status Journal::StartOver(const FileStep& step, FileRecord& file) {
  std::optional<std::string> original = step.before;
  if (step.before && step.kind && !file.changes.empty()) {
    ASSIGN_OR_RETURN(const TextEdit without,
                     Revert(*step.kind, {step.path, *step.before}, file.changes));
    if (without.text == *step.before) {
      file.changes.clear();  // killed before writing, or undone by hand
    }
    original = without.text;
  } else {
    file.changes.clear();
  }
  file.ours.clear();
  file.backup.clear();
  if (original) {
    ASSIGN_OR_RETURN(file.backup, Keep(step.path, *original));
  }
  return OkStatus();
}

Status Journal::MergeFile(const FileStep& step, Record& record) {
  auto file = std::ranges::find(record.files, step.path, &FileRecord::path);
  if (file == record.files.end()) {
    FileRecord made;
    made.path = step.path;
    file = record.files.insert(record.files.end(), std::move(made));
  }
  file->kind = step.kind;
  if (!step.before || !change::IsAmong(file->ours, *step.before)) {
    RETURN_IF_ERROR(StartOver(step, *file));
  }
  std::ranges::copy(step.changes, std::back_inserter(file->changes));
  AddOnce({change::Fingerprint(step.after.value_or(""))}, file->ours);
  return OkStatus();
}

Status Journal::Begin(const Plan& plan, const std::vector<std::string>& folders, Reach needed,
                      int64_t seconds) {
  Record& record = state_[plan.id];
  record.phase = Phase::kApplying;
  for (const FileStep& step : plan.files) {
    RETURN_IF_ERROR(MergeFile(step, record));
  }
  for (const change::LinkStep& link : plan.links) {
    record.links[link.path] = link.target;
  }
  AddOnce(folders, record.made_folders);
  record.uses_runtime = plan.uses_runtime || record.uses_runtime;
  record.has_unit_change = plan.has_unit_change || record.has_unit_change;
  record.reach = std::max(record.reach, needed);
  record.pending = needed;
  record.reach_reason = plan.reach_reason.empty() ? record.reach_reason : plan.reach_reason;
  record.changed_at = plan.HasSteps() ? seconds : record.changed_at;
  if (!plan.expected.runtime.empty()) {
    record.expected.runtime = plan.expected.runtime;
  }
  record.expected.is_default = plan.expected.is_default || record.expected.is_default;
  record.expected.cdi = plan.expected.cdi ? plan.expected.cdi : record.expected.cdi;
  return Save();
}

Status Journal::Finish(const std::string& id, Reach pending) {
  Record& record = state_[id];
  record.phase = Phase::kApplied;
  record.pending = pending;
  return Save();
}

Status Journal::BeginRevert(const std::string& id) {
  state_[id].phase = Phase::kReverting;
  return Save();
}

Status Journal::GiveUp(const std::string& id) {
  const auto before = opened_.find(id);
  if (before == opened_.end()) {
    state_.erase(id);
  } else {
    state_[id] = before->second;
  }
  return Save();
}

Status Journal::Forget(const std::string& id) {
  for (const FileRecord& file : state_[id].files) {
    RETURN_IF_ERROR(disk_.Tidy(file.path));
  }
  RETURN_IF_ERROR(change::RemoveFolders(disk_, state_[id].made_folders));
  state_.erase(id);
  return Save();
}

Status Journal::Save() {
  if (state_.empty()) {
    RETURN_IF_ERROR(kStateJournal.Remove(disk_));
  } else {
    RETURN_IF_ERROR(kStateJournal.Write(PrintState(state_), disk_));
  }
  return RemoveUnusedBackups();
}

Status Journal::RemoveUnusedBackups() {
  std::set<std::string> used;
  for (const auto& [id, record] : state_) {
    for (const FileRecord& file : record.files) {
      used.insert(file.backup);
    }
  }
  const std::string folder(kBackupFolder);
  const auto names = host_.ListDir(folder);
  if (!names.ok()) {
    return OkStatus();
  }
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (!used.contains(path)) {
      RETURN_IF_ERROR(disk_.Remove(path));
    }
  }
  return disk_.RemoveFolder(folder);
}

}  // namespace kgpu::engine
