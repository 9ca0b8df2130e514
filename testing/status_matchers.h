// Matchers for Status and StatusOr: IsOk(), IsOkAndHolds(m), StatusIs(code, text matcher), and
// ASSERT_OK / EXPECT_OK.
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>

#include "src/platform/base/status.h"

namespace kgpu {

// By value: a reference to a temporary argument would dangle.
inline Status AsStatus(const Status& status) {
  return status;
}
template <typename T>
Status AsStatus(const StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  *result_listener << AsStatus(arg).ToString();
  return AsStatus(arg).ok();
}

MATCHER_P2(StatusIsMatcher, code, text, "") {
  const Status status = AsStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(text, std::string(Message(status)), result_listener);
}

template <typename Text>
auto StatusIs(StatusCode code, const Text& text) {
  return StatusIsMatcher(code, text);
}
inline auto StatusIs(StatusCode code) {
  return StatusIsMatcher(code, ::testing::_);
}

MATCHER_P(IsOkAndHolds, value, "") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace kgpu

#define ASSERT_OK(expr) ASSERT_THAT((expr), ::kgpu::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT((expr), ::kgpu::IsOk())
