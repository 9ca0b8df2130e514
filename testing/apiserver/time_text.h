// Times as Kubernetes writes them.
#pragma once

#include <string>

#include "src/platform/base/clock.h"

namespace kgpu::apiserver {

// "2026-01-02T03:04:05Z"
std::string TimeText(WallTime time);
// The seconds since 1970 of such a text, or of one with fractions; 0 when it is none.
int64_t SecondsOf(std::string_view text);
// "5m", "3h12m", "4d": as tables show ages.
std::string AgeText(int64_t seconds);

}  // namespace kgpu::apiserver
