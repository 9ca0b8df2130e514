// Points in time as API objects write them.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

// metav1.Time: "2026-01-02T03:04:05Z".
std::string FormatTime(WallTime time);
// metav1.MicroTime, of leases and events: always six digits of fraction,
// "2026-01-02T03:04:05.000006Z".
std::string FormatMicroTime(WallTime time);
// Either of them, and what others write of RFC 3339: any fraction, any offset.
// Errors: InvalidArgument naming the text.
StatusOr<WallTime> ParseTime(std::string_view text);

}  // namespace kgpu::kube
