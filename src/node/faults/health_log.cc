#include "src/node/faults/health_log.h"

#include <string>
#include <string_view>

#include "src/platform/base/log.h"

namespace kgpu::faults {
namespace {

using health::HealthEvent;
using health::HealthEventKind;

std::string_view TitleOf(const HealthEvent& event) {
  switch (event.kind) {
    case HealthEventKind::kRaised:
      return event.is_unhealthy ? "GPU fault" : "GPU warning";
    case HealthEventKind::kSeen:
      return "GPU sign";
    case HealthEventKind::kCleared:
      return "GPU fault recovered";
    case HealthEventKind::kHeld:
      return "GPU held back";
  }
  return "GPU sign";
}

LogLevel LevelOf(const HealthEvent& event) {
  if (event.kind == HealthEventKind::kHeld || event.kind == HealthEventKind::kRaised) {
    return event.is_unhealthy ? LogLevel::kError : LogLevel::kWarning;
  }
  return health::IsWarning(event) ? LogLevel::kWarning : LogLevel::kInfo;
}

}  // namespace

void HealthLog::Write(const HealthEvent& event, SteadyTime now) {
  const LogLevel level = LevelOf(event);
  if (!IsLogged(level)) {
    return;  // costs no budget
  }
  const bool is_merely_seen = event.kind == HealthEventKind::kSeen && !health::IsWarning(event);
  LogBudget& budget = is_merely_seen ? seen_ : verdicts_;
  if (!budget.Take(now)) {
    return;
  }
  const std::string gpu = event.gpu ? event.gpu->str() : "unknown";
  WriteLog(level, TitleOf(event),
           {{"gpu", gpu},
            {"fault", event.rule},
            {"fix", health::ToString(event.action)},
            {"source", health::ToString(event.source)},
            {"count", event.count},
            {"message", event.message},
            {"detail", event.detail},
            {"linesLeftOut", budget.TakeLeftOut()}});
}

}  // namespace kgpu::faults
