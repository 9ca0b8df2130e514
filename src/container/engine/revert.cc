// The plan of the way back (apply.h).
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "src/container/engine/apply.h"
#include "src/container/engine/engine_files.h"
#include "src/host/change/fingerprint.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {
namespace {

StatusOr<std::optional<std::string>> Original(const sys::Root& host, const FileRecord& file) {
  if (file.backup.empty()) {
    return std::optional<std::string>();
  }
  auto text = host.ReadFile(file.backup, change::kMostFileBytes);
  if (!text.ok()) {
    return Annotate(text.status(), "{}: the text to restore", file.path);
  }
  return std::optional(*std::move(text));
}

// Somebody else edited the file too: only our keys go, or nothing.
StatusOr<std::optional<std::string>> WithoutOurs(const FileRecord& file, const std::string& now,
                                                 bool was_there, std::vector<std::string>& notes) {
  if (!file.kind) {
    notes.push_back(fmt::format("{} was edited since: left unchanged", file.path));
    return std::optional(now);
  }
  ASSIGN_OR_RETURN(TextEdit edit, Revert(*file.kind, {file.path, now}, file.changes));
  std::ranges::copy(edit.notes, std::back_inserter(notes));
  if (edit.text.empty() && !was_there) {
    return std::optional<std::string>();
  }
  return std::optional(std::move(edit.text));
}

Status AddFile(const sys::Root& host, const FileRecord& file, Plan& plan) {
  ASSIGN_OR_RETURN(const std::optional<std::string> now, ReadIfThere(host, file.path));
  ASSIGN_OR_RETURN(const std::optional<std::string> original, Original(host, file));
  if (now == original) {
    return OkStatus();
  }
  if (!now) {
    plan.notes.push_back(fmt::format("{} was removed since: not restored", file.path));
    return OkStatus();
  }
  FileStep step;
  step.path = file.path;
  step.before = now;
  step.kind = file.kind;
  if (const auto found = host.Stat(file.path); found.ok()) {
    step.mode = found->st_mode & 07777;
  }
  if (change::IsAmong(file.ours, *now)) {  // not edited by others since
    step.after = original;
  } else {
    ASSIGN_OR_RETURN(step.after, WithoutOurs(file, *now, original.has_value(), plan.notes));
  }
  if (step.after != step.before) {
    plan.files.push_back(std::move(step));
  }
  return OkStatus();
}

// At SIGHUP dockerd takes over the keys that are there: a key that is gone changes nothing, and the
// runtime would stay, without its program. Source: moby, daemon/reload_unix.go.
StatusOr<bool> NeedsDockerRestart(const Plan& plan, const Record& record) {
  for (const FileStep& file : plan.files) {
    if (file.kind != TextKind::kJson) {
      continue;
    }
    ASSIGN_OR_RETURN(const edit::Document after,
                     edit::Document::Open(file.after.value_or(""), file.path, edit::Syntax::kJson));
    const bool keeps_default =
        record.expected.is_default && after.Find({"default-runtime"}) == nullptr;
    const bool keeps_runtime =
        !record.expected.runtime.empty() && after.Find({"runtimes"}) == nullptr;
    return keeps_default || keeps_runtime;
  }
  return plan.files.empty();  // done before, and not known how
}

Status JudgeRevertReach(const Record& record, Plan& plan) {
  plan.has_unit_change = record.has_unit_change;
  plan.reach = record.reach;
  plan.reach_reason = record.reach_reason;
  if (plan.engine && plan.engine->kind == Kind::kDocker && plan.reach != Reach::kNothing) {
    ASSIGN_OR_RETURN(const bool needs_restart, NeedsDockerRestart(plan, record));
    if (needs_restart) {
      plan.reach = Reach::kRestart;
      plan.reach_reason = "dockerd forgets a runtime only when it restarts";
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Plan> PlanRevert(const sys::Root& host, const std::string& id, const Record& record,
                          const Engine* engine) {
  Plan plan;
  plan.id = id;
  plan.way = "as it was before kgpu runtime configure";
  if (engine != nullptr) {
    plan.engine = *engine;
  }
  for (auto file = record.files.rbegin(); file != record.files.rend(); ++file) {
    RETURN_IF_ERROR(AddFile(host, *file, plan));
  }
  for (const auto& [path, target] : record.links) {
    const auto now = host.ReadLink(path);
    if (now.ok() && *now == target) {
      plan.links.push_back({.path = path, .target = target, .is_removal = true});
    }
  }
  // Killed while reverting, with the files done: the engine may not have been told yet.
  if (plan.HasSteps() || record.phase == Phase::kReverting) {
    RETURN_IF_ERROR(JudgeRevertReach(record, plan));
    // Unless there was one of this name before us.
    const bool was_there = std::ranges::any_of(plan.files, [&](const FileStep& file) {
      return file.after.value_or("").find(record.expected.runtime) != std::string::npos;
    });
    plan.expected.gone_runtime = was_there ? "" : record.expected.runtime;
  }
  return plan;
}

}  // namespace kgpu::engine
