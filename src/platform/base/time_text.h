// Times in the format of API objects.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu {

// The times that can be written and read back: a clock counts nanoseconds in 64 bits, and sums of
// such times with a few years do not overflow.
inline constexpr WallTime kFirstTime{std::chrono::sys_days(std::chrono::year(1701) / 1 / 1)};
inline constexpr WallTime kLastTime{std::chrono::sys_days(std::chrono::year(2250) / 1 / 1) -
                                    std::chrono::seconds(1)};

// The last time as a count since 1970, for files and requests that have counts.
template <typename Unit>
inline constexpr uint64_t kLastCount =
    static_cast<uint64_t>(std::chrono::floor<Unit>(kLastTime.time_since_epoch()).count());

// A number of seconds since 1970 from outside (a file's date, a certificate); the first or the last
// time if it is beyond them.
WallTime TimeAt(std::chrono::seconds since_1970);

// Before a time is written to where it must be read back. Errors: FailedPrecondition: the clock is
// beyond those times, with the fix.
Status CheckClock(WallTime now);

// metav1.Time: "2026-01-02T03:04:05Z".
std::string FormatTime(WallTime time);
// metav1.MicroTime, for leases and events: always six fractional digits,
// "2026-01-02T03:04:05.000006Z".
std::string FormatMicroTime(WallTime time);
// Either of them, and any other RFC 3339 text: any fraction, any offset. Errors: InvalidArgument
// naming the text; also for a date that is not from kFirstTime to kLastTime.
StatusOr<WallTime> ParseTime(std::string_view text);
// The same for the end of something's validity, where 9999-12-31 means "never": a date beyond those
// times is the nearest of them.
StatusOr<WallTime> ParseExpiry(std::string_view text);

}  // namespace kgpu
