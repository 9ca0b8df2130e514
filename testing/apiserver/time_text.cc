#include "testing/apiserver/time_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/platform/base/strings.h"

namespace kgpu::apiserver {
namespace {

int64_t Digits(std::string_view text, size_t at, size_t count) {
  const auto number = at + count <= text.size() ? ParseUint(text.substr(at, count)) : std::nullopt;
  return number ? static_cast<int64_t>(*number) : -1;
}

}  // namespace

std::string TimeText(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

int64_t SecondsOf(std::string_view text) {
  const int64_t year = Digits(text, 0, 4);
  const int64_t month = Digits(text, 5, 2);
  const int64_t day = Digits(text, 8, 2);
  const int64_t hour = Digits(text, 11, 2);
  const int64_t minute = Digits(text, 14, 2);
  const int64_t second = Digits(text, 17, 2);
  if (std::min({year, month, day, hour, minute, second}) < 0) {
    return 0;
  }
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

std::string AgeText(int64_t seconds) {
  const int64_t minutes = seconds / 60;
  const int64_t hours = minutes / 60;
  const int64_t days = hours / 24;
  if (seconds < 120) {
    return fmt::format("{}s", std::max<int64_t>(seconds, 0));
  }
  if (minutes < 10) {
    return seconds % 60 == 0 ? fmt::format("{}m", minutes)
                             : fmt::format("{}m{}s", minutes, seconds % 60);
  }
  if (minutes < 180) {
    return fmt::format("{}m", minutes);
  }
  if (hours < 8) {
    return minutes % 60 == 0 ? fmt::format("{}h", hours)
                             : fmt::format("{}h{}m", hours, minutes % 60);
  }
  if (hours < 48) {
    return fmt::format("{}h", hours);
  }
  if (days < 8) {
    return hours % 24 == 0 ? fmt::format("{}d", days) : fmt::format("{}d{}h", days, hours % 24);
  }
  return fmt::format("{}d", days);
}

}  // namespace kgpu::apiserver
