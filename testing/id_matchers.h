// Matcher for optional ids: Reads("0000:07:00.0").
#pragma once

#include <gmock/gmock.h>

namespace kgpu {

// Matches an optional whose value's str() is `text`.
MATCHER_P(Reads, text, "") {
  return arg.has_value() && arg->str() == text;
}

}  // namespace kgpu
