#include "src/platform/base/time_text.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// "2026-01-02T03:04:05", UTC.
std::string Whole(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

// Takes numbers of fixed width and single marks from the front of a text; once one is missing,
// is_ok() stays false.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : left_(text) {}

  unsigned Number(size_t width, unsigned max) {
    const std::string_view digits = left_.substr(0, width);
    const auto number = ParseUint(digits).value_or(max + 1ULL);
    is_ok_ = is_ok_ && digits.size() == width && number <= max;
    left_.remove_prefix(digits.size());
    return is_ok_ ? static_cast<unsigned>(number) : 0;
  }
  // One of `marks`.
  void Take(std::string_view marks) {
    is_ok_ = is_ok_ && !left_.empty() && marks.find(left_.front()) != marks.npos;
    left_.remove_prefix(left_.empty() ? 0 : 1);
  }
  std::string_view Digits() {
    const std::string_view digits =
        left_.substr(0, std::min(left_.find_first_not_of("0123456789"), left_.size()));
    left_.remove_prefix(digits.size());
    is_ok_ = is_ok_ && !digits.empty();
    return digits;
  }
  bool IsNext(std::string_view marks) const {
    return !left_.empty() && marks.find(left_.front()) != marks.npos;
  }
  bool IsAtEnd() const { return is_ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool is_ok_ = true;
};

microseconds FractionOf(Cursor& cursor) {
  if (!cursor.IsNext(".")) {
    return microseconds(0);
  }
  cursor.Take(".");
  std::string digits(cursor.Digits());
  digits.resize(6, '0');
  return microseconds(ParseUint(digits).value_or(0));
}

// "Z", "+02:00".
seconds OffsetOf(Cursor& cursor) {
  if (cursor.IsNext("Zz")) {
    cursor.Take("Zz");
    return seconds(0);
  }
  const bool is_behind = cursor.IsNext("-");
  cursor.Take("+-");
  seconds offset = std::chrono::hours(cursor.Number(2, 23));
  cursor.Take(":");
  offset += std::chrono::minutes(cursor.Number(2, 59));
  return is_behind ? -offset : offset;
}

std::chrono::year_month_day DateOf(Cursor& cursor) {
  const unsigned year = cursor.Number(4, 9999);
  cursor.Take("-");
  const unsigned month = cursor.Number(2, 12);
  cursor.Take("-");
  const unsigned day = cursor.Number(2, 31);
  return {std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
          std::chrono::day(day)};
}

seconds ClockOf(Cursor& cursor) {
  seconds time = std::chrono::hours(cursor.Number(2, 23));
  cursor.Take(":");
  time += std::chrono::minutes(cursor.Number(2, 59));
  cursor.Take(":");
  return time + seconds(cursor.Number(2, 60));  // 60: a leap second
}

constexpr seconds kFirstSecond = std::chrono::floor<seconds>(kFirstTime.time_since_epoch());
constexpr seconds kLastSecond = std::chrono::floor<seconds>(kLastTime.time_since_epoch());

// Of any year from 0 to 9999, which a clock cannot hold.
struct AnyTime {
  seconds since_1970{};
  microseconds fraction{};
};

StatusOr<AnyTime> ParseAny(std::string_view text) {
  Cursor cursor(text);
  const std::chrono::year_month_day date = DateOf(cursor);
  cursor.Take("Tt");
  const seconds clock = ClockOf(cursor);
  const microseconds fraction = FractionOf(cursor);
  const seconds offset = OffsetOf(cursor);
  if (!cursor.IsAtEnd() || !date.ok()) {
    return InvalidArgument("\"{}\" must be a time such as 2026-01-02T03:04:05Z",
                           Printable(text, 64));
  }
  return AnyTime{std::chrono::sys_days(date).time_since_epoch() + clock - offset, fraction};
}

int YearOf(WallTime time) {
  return static_cast<int>(
      std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(time)).year());
}

}  // namespace

std::string FormatTime(WallTime time) {
  return Whole(std::chrono::floor<seconds>(time)) + "Z";
}

std::string FormatMicroTime(WallTime time) {
  const auto whole = std::chrono::floor<seconds>(time);
  const auto fraction = std::chrono::duration_cast<microseconds>(time - whole);
  return fmt::format("{}.{:06}Z", Whole(whole), fraction.count());
}

WallTime TimeAt(seconds since_1970) {
  return WallTime(std::clamp(since_1970, kFirstSecond, kLastSecond));
}

Status CheckClock(WallTime now) {
  return now >= kFirstTime && now <= kLastTime
             ? OkStatus()
             : FailedPrecondition("the clock says {}, which cannot be right: set the clock",
                                  FormatTime(now));
}

StatusOr<WallTime> ParseTime(std::string_view text) {
  ASSIGN_OR_RETURN(const AnyTime time, ParseAny(text));
  if (time.since_1970 < kFirstSecond || time.since_1970 > kLastSecond) {
    return InvalidArgument("\"{}\" must be a time from the year {} to {}", Printable(text, 64),
                           YearOf(kFirstTime), YearOf(kLastTime));
  }
  return WallTime(time.since_1970) + time.fraction;
}

StatusOr<WallTime> ParseExpiry(std::string_view text) {
  ASSIGN_OR_RETURN(const AnyTime time, ParseAny(text));
  return TimeAt(time.since_1970);
}

}  // namespace kgpu
