// Units of systemd that are stopped and started.
#include <algorithm>
#include <iterator>
#include <set>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver_install/actions.h"
#include "src/setup/driver_install/package_work.h"

namespace kgpu::driver_install {
namespace {

constexpr const char* kIsActive = "is-active";
constexpr const char* kIsEnabled = "is-enabled";

StatusOr<bool> Ask(Work& work, const char* question, const std::string& unit) {
  return work.AskTool("systemctl", {question, "--quiet", unit});
}

// Adds those of `units` for which that is the answer.
Status AddThose(Work& work, const char* question, bool answer,
                const std::vector<std::string>& units, std::vector<std::string>& to) {
  for (const std::string& unit : units) {
    ASSIGN_OR_RETURN(const bool is_so, Ask(work, question, unit));
    if (is_so == answer) {
      to.push_back(unit);
    }
  }
  return OkStatus();
}

bool HasUnit(const std::vector<std::string>& units, const std::string& unit) {
  return std::ranges::find(units, unit) != units.end();
}

Status Systemctl(Work& work, const char* verb, const std::vector<std::string>& units) {
  if (units.empty()) {
    return OkStatus();
  }
  return work.RunTool("systemctl", Concat({verb}, units));
}

// The units that an earlier step of the plan found running and stopped; null: `units` are not those
// of such a step.
const std::vector<std::string>* StoppedBefore(const Work& work,
                                              const std::vector<std::string>& units) {
  for (size_t i = 0; i < work.index(); ++i) {
    const auto* stop = std::get_if<driver::StopUnits>(&work.journal().plan.steps[i].action);
    if (stop != nullptr && stop->units == units) {
      return &work.journal().steps[i].units;
    }
  }
  return nullptr;
}

// All that the plan stops or starts.
std::set<std::string> UnitsOf(const driver::Plan& plan) {
  std::set<std::string> units;
  for (const driver::Step& step : plan.steps) {
    if (const auto* stop = std::get_if<driver::StopUnits>(&step.action)) {
      units.insert(stop->units.begin(), stop->units.end());
    } else if (const auto* start = std::get_if<driver::StartUnits>(&step.action)) {
      units.insert(start->units.begin(), start->units.end());
    }
  }
  return units;
}

// Those of `units` that ran until an earlier step took packages off: they may have stopped with
// those.
std::vector<std::string> RanBeforeRemoval(const Work& work, const std::vector<std::string>& units) {
  std::vector<std::string> ran;
  for (size_t i = 0; i < work.index(); ++i) {
    if (std::holds_alternative<driver::RemovePackages>(work.journal().plan.steps[i].action)) {
      std::ranges::copy_if(work.journal().steps[i].units, std::back_inserter(ran),
                           [&units](const std::string& unit) { return HasUnit(units, unit); });
    }
  }
  return ran;
}

// Whether a step that stops it was begun: undone after all others, that one starts it again.
bool IsStartedLater(const Work& work, const std::string& unit) {
  for (size_t i = work.index(); i < work.journal().steps.size(); ++i) {
    const auto* stop = std::get_if<driver::StopUnits>(&work.journal().plan.steps[i].action);
    const StepState state = work.journal().steps[i].state;
    if (stop != nullptr && HasUnit(stop->units, unit) && state != StepState::kPending &&
        state != StepState::kPassedOver) {
      return true;
    }
  }
  return false;
}

void StartOrNote(Work& work, const std::string& unit) {
  if (const Status started = Systemctl(work, "start", {unit}); !started.ok()) {
    work.Note(fmt::format("{} does not start again: {}", unit, Message(started)));
  }
}

}  // namespace

Status LookBeforeStop(Work& work, const driver::StopUnits& stop) {
  return AddThose(work, kIsActive, true, stop.units, work.record().units);
}

Status DoStop(Work& work) {
  return Systemctl(work, "stop", work.record().units);
}

// A unit that does not start does not stop the undo: what it needs may be restored
// next.
Status UndoStop(Work& work, const driver::StopUnits& stop) {
  std::vector<std::string> ran = RanBeforeRemoval(work, stop.units);
  std::ranges::copy_if(work.record().units, std::back_inserter(ran),
                       [&ran](const std::string& unit) { return !HasUnit(ran, unit); });
  for (const std::string& unit : ran) {
    StartOrNote(work, unit);
  }
  return OkStatus();
}

// Scripts of packages stop their units and keep them from starting with the host when they go, and
// those of the same packages that come back do not bring that back.
Status LookAtUnitsThatGo(Work& work) {
  if (!WhyPassedOver(driver::StopUnits{}, work.options(), work.host()).empty()) {
    return OkStatus();
  }
  const std::set<std::string> all = UnitsOf(work.journal().plan);
  const std::vector<std::string> units(all.begin(), all.end());
  RETURN_IF_ERROR(AddThose(work, kIsEnabled, true, units, work.record().enabled));
  return AddThose(work, kIsActive, true, units, work.record().units);
}

Status BringUnitsBack(Work& work) {
  for (const std::string& unit : work.record().enabled) {
    ASSIGN_OR_RETURN(const bool is_enabled, Ask(work, kIsEnabled, unit));
    const Status enabled = is_enabled ? OkStatus() : Systemctl(work, "enable", {unit});
    if (IsTransient(enabled)) {
      return enabled;
    }
    if (!enabled.ok()) {
      work.NoteLost(
          fmt::format("{} was enabled before and is not enabled now: {}", unit, Message(enabled)));
    }
  }
  for (const std::string& unit : work.record().units) {
    ASSIGN_OR_RETURN(const bool is_active, Ask(work, kIsActive, unit));
    if (!is_active && !IsStartedLater(work, unit)) {
      StartOrNote(work, unit);
    }
  }
  return OkStatus();
}

Status LookBeforeStart(Work& work, const driver::StartUnits& start) {
  const std::vector<std::string>* stopped = StoppedBefore(work, start.units);
  std::vector<std::string> wanted = start.units;
  // What did not run before must not run afterwards.
  std::erase_if(wanted, [stopped](const std::string& unit) {
    return stopped != nullptr && !HasUnit(*stopped, unit);
  });
  RETURN_IF_ERROR(AddThose(work, kIsActive, false, wanted, work.record().units));
  return start.at_boot ? AddThose(work, kIsEnabled, false, start.units, work.record().enabled)
                       : OkStatus();
}

Status DoStart(Work& work) {
  RETURN_IF_ERROR(Systemctl(work, "enable", work.record().enabled));
  return Systemctl(work, "start", work.record().units);
}

Status UndoStart(Work& work) {
  const auto end = [&work](const char* question, const char* verb,
                           const std::vector<std::string>& units) -> Status {
    for (const std::string& unit : units) {
      ASSIGN_OR_RETURN(const bool is_so, Ask(work, question, unit));
      RETURN_IF_ERROR(is_so ? Systemctl(work, verb, {unit}) : OkStatus());
    }
    return OkStatus();
  };
  RETURN_IF_ERROR(end(kIsActive, "stop", work.record().units));
  return end(kIsEnabled, "disable", work.record().enabled);
}

}  // namespace kgpu::driver_install
