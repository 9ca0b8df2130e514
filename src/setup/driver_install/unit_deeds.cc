// Units of systemd that are stopped and started.
#include <algorithm>
#include <iterator>
#include <set>

#include "src/platform/base/status_macros.h"
#include "src/setup/driver_install/deeds.h"
#include "src/setup/driver_install/package_work.h"

namespace kgpu::driver_install {
namespace {

StatusOr<bool> IsActive(Work& work, const std::string& unit) {
  return work.AskTool("systemctl", {"is-active", "--quiet", unit});
}

StatusOr<bool> IsEnabled(Work& work, const std::string& unit) {
  return work.AskTool("systemctl", {"is-enabled", "--quiet", unit});
}

bool HasUnit(const std::vector<std::string>& units, const std::string& unit) {
  return std::ranges::find(units, unit) != units.end();
}

Status Systemctl(Work& work, const char* verb, const std::vector<std::string>& units) {
  if (units.empty()) {
    return OkStatus();
  }
  std::vector<std::string> arguments = {verb};
  arguments.insert(arguments.end(), units.begin(), units.end());
  return work.RunTool("systemctl", std::move(arguments));
}

// The units that an earlier step of the plan found running and stopped; null: `units` are not those
// of such a step.
const std::vector<std::string>* StoppedBefore(const Work& work,
                                              const std::vector<std::string>& units) {
  for (size_t i = 0; i < work.index(); ++i) {
    const auto* stop = std::get_if<driver::StopUnits>(&work.journal().plan.steps[i].deed);
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
    if (const auto* stop = std::get_if<driver::StopUnits>(&step.deed)) {
      units.insert(stop->units.begin(), stop->units.end());
    } else if (const auto* start = std::get_if<driver::StartUnits>(&step.deed)) {
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
    if (std::holds_alternative<driver::RemovePackages>(work.journal().plan.steps[i].deed)) {
      std::ranges::copy_if(work.journal().steps[i].units, std::back_inserter(ran),
                           [&units](const std::string& unit) { return HasUnit(units, unit); });
    }
  }
  return ran;
}

// Whether a step that stops it was begun: undone after all others, that one starts it again.
bool IsStartedLater(const Work& work, const std::string& unit) {
  for (size_t i = work.index(); i < work.journal().steps.size(); ++i) {
    const auto* stop = std::get_if<driver::StopUnits>(&work.journal().plan.steps[i].deed);
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
  for (const std::string& unit : stop.units) {
    ASSIGN_OR_RETURN(const bool is_active, IsActive(work, unit));
    if (is_active) {
      work.record().units.push_back(unit);
    }
  }
  return OkStatus();
}

Status DoStop(Work& work) {
  return Systemctl(work, "stop", work.record().units);
}

// One that does not start again keeps nothing else from being taken back: what it needs may be what
// comes back next.
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
  for (const std::string& unit : UnitsOf(work.journal().plan)) {
    ASSIGN_OR_RETURN(const bool is_enabled, IsEnabled(work, unit));
    if (is_enabled) {
      work.record().enabled.push_back(unit);
    }
    ASSIGN_OR_RETURN(const bool is_active, IsActive(work, unit));
    if (is_active) {
      work.record().units.push_back(unit);
    }
  }
  return OkStatus();
}

Status BringUnitsBack(Work& work) {
  for (const std::string& unit : work.record().enabled) {
    ASSIGN_OR_RETURN(const bool is_enabled, IsEnabled(work, unit));
    const Status enabled = is_enabled ? OkStatus() : Systemctl(work, "enable", {unit});
    if (IsTransient(enabled)) {
      return enabled;
    }
    if (!enabled.ok()) {
      work.NoteLost(fmt::format("{} started with the host before, and does not now: {}", unit,
                                Message(enabled)));
    }
  }
  for (const std::string& unit : work.record().units) {
    ASSIGN_OR_RETURN(const bool is_active, IsActive(work, unit));
    if (!is_active && !IsStartedLater(work, unit)) {
      StartOrNote(work, unit);
    }
  }
  return OkStatus();
}

Status LookBeforeStart(Work& work, const driver::StartUnits& start) {
  const std::vector<std::string>* stopped = StoppedBefore(work, start.units);
  for (const std::string& unit : start.units) {
    // What did not run before is not to run afterwards.
    const bool is_wanted = stopped == nullptr || HasUnit(*stopped, unit);
    ASSIGN_OR_RETURN(const bool is_active, IsActive(work, unit));
    if (is_wanted && !is_active) {
      work.record().units.push_back(unit);
    }
    if (start.at_boot) {
      ASSIGN_OR_RETURN(const bool is_enabled, IsEnabled(work, unit));
      if (!is_enabled) {
        work.record().enabled.push_back(unit);
      }
    }
  }
  return OkStatus();
}

Status DoStart(Work& work) {
  RETURN_IF_ERROR(Systemctl(work, "enable", work.record().enabled));
  return Systemctl(work, "start", work.record().units);
}

Status UndoStart(Work& work) {
  for (const std::string& unit : work.record().units) {
    ASSIGN_OR_RETURN(const bool is_active, IsActive(work, unit));
    if (is_active) {
      RETURN_IF_ERROR(Systemctl(work, "stop", {unit}));
    }
  }
  for (const std::string& unit : work.record().enabled) {
    ASSIGN_OR_RETURN(const bool is_enabled, IsEnabled(work, unit));
    if (is_enabled) {
      RETURN_IF_ERROR(Systemctl(work, "disable", {unit}));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::driver_install
