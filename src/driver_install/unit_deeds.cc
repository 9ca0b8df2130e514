// Units of systemd that are stopped and started.
#include <algorithm>

#include "src/base/status_macros.h"
#include "src/driver_install/deeds.h"

namespace kgpu::driver_install {
namespace {

StatusOr<bool> IsActive(Work& work, const std::string& unit) {
  return work.AskTool("systemctl", {"is-active", "--quiet", unit});
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
Status UndoStop(Work& work) {
  for (const std::string& unit : work.record().units) {
    if (const Status started = Systemctl(work, "start", {unit}); !started.ok()) {
      work.Note(fmt::format("{} does not start again: {}", unit, Message(started)));
    }
  }
  return OkStatus();
}

Status LookBeforeStart(Work& work, const driver::StartUnits& start) {
  const std::vector<std::string>* stopped = StoppedBefore(work, start.units);
  for (const std::string& unit : start.units) {
    // What did not run before is not to run afterwards.
    const bool is_wanted =
        stopped == nullptr || std::ranges::find(*stopped, unit) != stopped->end();
    ASSIGN_OR_RETURN(const bool is_active, IsActive(work, unit));
    if (is_wanted && !is_active) {
      work.record().units.push_back(unit);
    }
    if (start.at_boot) {
      ASSIGN_OR_RETURN(const bool is_enabled,
                       work.AskTool("systemctl", {"is-enabled", "--quiet", unit}));
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
    ASSIGN_OR_RETURN(const bool is_enabled,
                     work.AskTool("systemctl", {"is-enabled", "--quiet", unit}));
    if (is_enabled) {
      RETURN_IF_ERROR(Systemctl(work, "disable", {unit}));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::driver_install
