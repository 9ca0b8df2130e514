#include "src/container/engine/apply.h"

#include <algorithm>

#include "src/container/engine/journal.h"
#include "src/host/change/lock.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::engine {
namespace {

std::string Wanted(const Expected& expected) {
  if (!expected.runtime.empty()) {
    return fmt::format("the {}runtime \"{}\"", expected.is_default ? "default " : "",
                       expected.runtime);
  }
  if (!expected.gone_runtime.empty()) {
    return fmt::format("no runtime \"{}\"", expected.gone_runtime);
  }
  return expected.cdi ? fmt::format("CDI {}", *expected.cdi ? "on" : "off") : "an answer";
}

Status BringIntoForce(const Engine& engine, Reach reach, bool has_unit_change,
                      const Dependencies& deps) {
  if (has_unit_change) {
    RETURN_IF_ERROR(deps.control.ReloadUnits());
  }
  if (reach == Reach::kReload) {
    return deps.control.Reload(engine);
  }
  return reach == Reach::kRestart ? deps.control.Restart(engine) : OkStatus();
}

// Reloads or restarts, and waits for the engine to show what is expected.
Status Enforce(const Plan& plan, Reach reach, const ApplyOptions& options,
               const Dependencies& deps) {
  if (!plan.engine || reach == Reach::kNothing) {
    return OkStatus();
  }
  const bool can_ask = !plan.engine->socket.empty();
  if (reach == Reach::kReload && can_ask) {
    // SIGHUP ends a daemon that is still starting; one that answers has its handler.
    RETURN_IF_ERROR(
        deps.api
            .Ask(*plan.engine, options.patience, "an answer", [](const LiveFacts&) { return true; })
            .status());
  }
  RETURN_IF_ERROR(BringIntoForce(*plan.engine, reach, plan.has_unit_change, deps));
  if (!can_ask) {
    return OkStatus();
  }
  return deps.api
      .Ask(*plan.engine, options.patience, Wanted(plan.expected),
           [&](const LiveFacts& facts) { return Shows(facts, plan.expected); })
      .status();
}

change::Steps StepsOf(const Plan& plan, const Dependencies& deps) {
  change::Steps steps(deps.host, deps.disk);
  for (const FileStep& file : plan.files) {
    steps.Add(static_cast<const change::FileStep&>(file));
  }
  for (const change::LinkStep& link : plan.links) {
    steps.Add(link);
  }
  return steps;
}

// Undoes all steps; an engine that was changed gets its old configuration back. If that fails too,
// the record stays, and the next run continues from it.
Status GoBack(const Status& cause, const Plan& plan, const std::vector<std::string>& folders,
              Reach tried, const ApplyOptions& options, const Dependencies& deps,
              Journal& journal) {
  Status undone = StepsOf(plan, deps).Undo(folders);
  if (undone.ok()) {
    undone = journal.GiveUp(plan.id);
  }
  if (!undone.ok()) {
    return MakeStatus(
        cause.code(),
        fmt::format("{}; undoing it also failed: {}; to try again: kgpu runtime revert",
                    Message(cause), Message(undone)));
  }
  if (!plan.engine || tried == Reach::kNothing) {
    return MakeStatus(cause.code(), fmt::format("{}; all files are as before", Message(cause)));
  }
  Plan before = plan;
  before.expected = {};
  const Status back = Enforce(before, tried, options, deps);
  return MakeStatus(cause.code(),
                    back.ok()
                        ? fmt::format("{}; all files are as before, and {} uses them",
                                      Message(cause), plan.engine->Name())
                        : fmt::format("{}; all files are as before, but {} does not answer: {}",
                                      Message(cause), plan.engine->Name(), Message(back)));
}

// Does the steps and makes the engine use them; undoes all if one fails. Errors: those of the
// failed step, with the result of the undo.
Status DoOrGoBack(const Plan& plan, const std::vector<std::string>& folders, Reach reach,
                  const ApplyOptions& options, const Dependencies& deps, Journal& journal,
                  Outcome& outcome) {
  Reach tried = Reach::kNothing;
  Status status = StepsOf(plan, deps).Do(folders, outcome.done);
  if (status.ok() && plan.engine && plan.HasSteps()) {
    status = Validate(*plan.engine, deps.host, deps.runner);
  }
  if (status.ok() && reach != Reach::kNothing) {
    tried = reach;
    status = Enforce(plan, reach, options, deps);
  }
  return status.ok() ? status : GoBack(status, plan, folders, tried, options, deps, journal);
}

// What must be done now, and what to report about it. Errors: no way to do it is known here.
StatusOr<Reach> ReachNow(const Plan& plan, Reach needed, const ApplyOptions& options,
                         const Dependencies& deps, Outcome& outcome) {
  if (!plan.engine || needed == Reach::kNothing) {
    return Reach::kNothing;
  }
  if (!plan.engine->daemon) {
    outcome.notes.push_back(fmt::format("{} is not running; the change takes effect when it starts",
                                        plan.engine->Name()));
    return Reach::kNothing;
  }
  if (!options.restart) {
    const std::string command = CommandFor(deps.host, *plan.engine, needed == Reach::kRestart);
    outcome.notes.push_back(
        fmt::format("not applied yet: {}: {} (or kgpu runtime configure --engine {} --restart)",
                    plan.reach_reason, command.substr(command.starts_with("# ") ? 2 : 0),
                    ToString(plan.engine->kind)));
    return Reach::kNothing;
  }
  RETURN_IF_ERROR(deps.control.CheckWay(*plan.engine, needed == Reach::kRestart));
  return needed;
}

int64_t Seconds(const Dependencies& deps) {
  return std::chrono::duration_cast<std::chrono::seconds>(deps.clock.WallNow().time_since_epoch())
      .count();
}

void AddAction(const Plan& plan, Reach reach, Outcome& outcome) {
  if (plan.engine && reach != Reach::kNothing) {
    outcome.done.push_back(fmt::format("{} {}; it reports {}",
                                       reach == Reach::kReload ? "reloaded" : "restarted",
                                       plan.engine->Name(), Wanted(plan.expected)));
  }
}

}  // namespace

StatusOr<UniqueFd> LockEngines(const Dependencies& deps) {
  ASSIGN_OR_RETURN(UniqueFd lock, change::LockFolder(deps.host, deps.disk, change::kStateFolder,
                                                     "another kgpu runtime"));
  RETURN_IF_ERROR(Journal::RemoveLeftovers(deps.host, deps.disk));
  return lock;
}

bool Shows(const LiveFacts& facts, const Expected& expected) {
  const bool has_runtime =
      expected.runtime.empty() || facts.runtimes.empty() ||
      std::ranges::find(facts.runtimes, expected.runtime) != facts.runtimes.end();
  const bool is_gone =
      expected.gone_runtime.empty() ||
      std::ranges::find(facts.runtimes, expected.gone_runtime) == facts.runtimes.end();
  const bool has_default = !expected.is_default || facts.default_runtime.empty() ||
                           facts.default_runtime == expected.runtime;
  const bool has_cdi = !expected.cdi || !facts.reads_cdi || *facts.reads_cdi == *expected.cdi;
  return has_runtime && is_gone && has_default && has_cdi;
}

Reach PendingReach(const Record& record, const Engine& engine) {
  const bool has_started_since =
      engine.daemon && engine.daemon->started > TimeAt(std::chrono::seconds(record.changed_at));
  return engine.daemon && !has_started_since ? record.pending : Reach::kNothing;
}

StatusOr<Outcome> Apply(const Plan& plan, const ApplyOptions& options, const Dependencies& deps) {
  Outcome outcome;
  outcome.notes = plan.notes;
  ASSIGN_OR_RETURN(Journal journal, Journal::Open(deps.host, deps.disk));
  const Record* earlier = journal.Find(plan.id);
  const Reach pending =
      earlier == nullptr || !plan.engine ? Reach::kNothing : PendingReach(*earlier, *plan.engine);
  if (!plan.HasSteps() && pending == Reach::kNothing) {
    if (earlier != nullptr && earlier->phase != Phase::kApplied) {
      RETURN_IF_ERROR(journal.Finish(plan.id, Reach::kNothing));  // killed after its last step
    }
    return outcome;
  }
  const Reach needed = std::max(plan.reach, pending);
  const std::vector<std::string> folders = StepsOf(plan, deps).MissingFolders();
  ASSIGN_OR_RETURN(const Reach reach, ReachNow(plan, needed, options, deps, outcome));
  RETURN_IF_ERROR(journal.Begin(plan, folders, needed, Seconds(deps)));
  RETURN_IF_ERROR(DoOrGoBack(plan, folders, reach, options, deps, journal, outcome));
  const bool waits = plan.engine && plan.engine->daemon && reach == Reach::kNothing;
  RETURN_IF_ERROR(journal.Finish(plan.id, waits ? needed : Reach::kNothing));
  AddAction(plan, reach, outcome);
  return outcome;
}

StatusOr<Outcome> Revert(const Plan& plan, const ApplyOptions& options, const Dependencies& deps) {
  Outcome outcome;
  outcome.notes = plan.notes;
  ASSIGN_OR_RETURN(Journal journal, Journal::Open(deps.host, deps.disk));
  ASSIGN_OR_RETURN(const Reach reach, ReachNow(plan, plan.reach, options, deps, outcome));
  RETURN_IF_ERROR(journal.BeginRevert(plan.id));
  RETURN_IF_ERROR(DoOrGoBack(plan, {}, reach, options, deps, journal, outcome));
  RETURN_IF_ERROR(journal.Forget(plan.id));
  AddAction(plan, reach, outcome);
  return outcome;
}

}  // namespace kgpu::engine
