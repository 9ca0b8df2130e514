// Times in Kubernetes' format.
#pragma once

#include <string>

#include "src/platform/base/clock.h"

namespace kgpu::apiserver {

// "2026-01-02T03:04:05Z"
std::string TimeText(WallTime time);
// Seconds since 1970 from such a text, with or without fractions; 0 if it is invalid.
int64_t SecondsOf(std::string_view text);
// "5m", "3h12m", "4d": ages as in tables.
std::string AgeText(int64_t seconds);

}  // namespace kgpu::apiserver
