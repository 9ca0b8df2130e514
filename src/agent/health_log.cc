#include "src/agent/health_log.h"

#include <string>
#include <string_view>

#include "src/platform/base/log.h"

namespace kgpu::agent {
namespace {

using health::Happening;
using health::HappeningKind;

std::string_view TitleOf(const Happening& news) {
  switch (news.kind) {
    case HappeningKind::kRaised:
      return news.is_unhealthy ? "GPU fault" : "GPU warning";
    case HappeningKind::kSeen:
      return "GPU sign";
    case HappeningKind::kCleared:
      return "GPU fault is over";
    case HappeningKind::kHeld:
      return "GPU is held back";
  }
  return "GPU sign";
}

LogLevel LevelOf(const Happening& news) {
  if (news.kind == HappeningKind::kHeld || news.kind == HappeningKind::kRaised) {
    return news.is_unhealthy ? LogLevel::kError : LogLevel::kWarning;
  }
  return health::IsWarning(news) ? LogLevel::kWarning : LogLevel::kInfo;
}

}  // namespace

void HealthLog::Write(const Happening& news, SteadyTime now) {
  const LogLevel level = LevelOf(news);
  if (!IsLogged(level)) {
    return;  // costs no budget
  }
  const bool is_merely_seen = news.kind == HappeningKind::kSeen && !health::IsWarning(news);
  LogBudget& budget = is_merely_seen ? seen_ : verdicts_;
  if (!budget.Take(now)) {
    return;
  }
  const std::string gpu = news.gpu ? news.gpu->str() : "unknown";
  WriteLog(level, TitleOf(news),
           {{"gpu", gpu},
            {"fault", news.rule},
            {"mend", health::ToString(news.action)},
            {"source", health::ToString(news.source)},
            {"count", news.count},
            {"message", news.message},
            {"detail", news.detail},
            {"linesLeftOut", budget.TakeLeftOut()}});
}

}  // namespace kgpu::agent
