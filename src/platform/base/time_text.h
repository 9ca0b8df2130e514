// Times in the format of API objects.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu {

// metav1.Time: "2026-01-02T03:04:05Z".
std::string FormatTime(WallTime time);
// metav1.MicroTime, for leases and events: always six fractional digits,
// "2026-01-02T03:04:05.000006Z".
std::string FormatMicroTime(WallTime time);
// Either of them, and any other RFC 3339 text: any fraction, any offset. Errors: InvalidArgument
// naming the text.
StatusOr<WallTime> ParseTime(std::string_view text);

}  // namespace kgpu
