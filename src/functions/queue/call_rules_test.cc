#include "src/functions/queue/call_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr WallTime kArrival{seconds(1'700'000'000)};

CallRecord ArrivedCall(int64_t retries) {
  CallRecord call{.call_id = "a", .function = "f", .target = "/x", .retries = retries};
  call.headers = {{"Accept", "y"}};
  call.body = "12345";
  OnArrival(call, kArrival);
  return call;
}

TEST(CallRulesTest, AnArrivalSetsSizeTimesAndRetries) {
  const CallRecord call = ArrivedCall(3);
  EXPECT_EQ(call.bytes, 2U + 7U + 5U);
  EXPECT_EQ(call.arrived, kArrival);
  EXPECT_EQ(call.not_before, kArrival);
  EXPECT_EQ(call.retries_left, 3);
}

TEST(CallRulesTest, ASuccessEndsTheCall) {
  for (const int code : {200, 202, 302, 399}) {
    CallRecord call = ArrivedCall(0);
    EXPECT_EQ(AfterAttempt(call, {.code = code}, kArrival, hours(24)), NextStep::kEnd) << code;
    EXPECT_EQ(call.attempts, 1);
    EXPECT_FALSE(call.is_dead);
  }
}

TEST(CallRulesTest, FailuresThatMayPassUseRetriesWithPausesThatDouble) {
  CallRecord call = ArrivedCall(9);
  for (const int pause : {1, 2, 4, 8, 16, 32, 64, 120, 120}) {
    EXPECT_EQ(AfterAttempt(call, {.code = 503, .problem = "busy"}, kArrival, hours(24)),
              NextStep::kRepeat);
    EXPECT_EQ(call.not_before - kArrival, seconds(pause));
  }
  EXPECT_EQ(call.retries_left, 0);
  EXPECT_EQ(AfterAttempt(call, {.code = 503}, kArrival, hours(24)), NextStep::kBury);
  EXPECT_TRUE(call.is_dead);
  EXPECT_EQ(call.attempts, 10);
}

TEST(CallRulesTest, OtherFailuresAreFinal) {
  for (const int code : {0, 400, 404, 413, 501, 505}) {
    CallRecord call = ArrivedCall(5);
    EXPECT_EQ(AfterAttempt(call, {.code = code, .problem = "no\x01"}, kArrival, hours(24)),
              NextStep::kBury)
        << code;
    EXPECT_EQ(call.retries_left, 5);
    EXPECT_EQ(call.problem, "no\\x01") << "as it can be shown";
  }
}

TEST(CallRulesTest, WhatNoReplicaTookCostsNothingWhileThereIsPatience) {
  CallRecord call = ArrivedCall(1);
  const CallOutcome untaken{.code = 503, .was_taken = false};
  EXPECT_EQ(AfterAttempt(call, untaken, kArrival + hours(23), hours(24)), NextStep::kRepeat);
  EXPECT_EQ(call.retries_left, 1);
  EXPECT_EQ(AfterAttempt(call, untaken, kArrival + hours(24), hours(24)), NextStep::kRepeat);
  EXPECT_EQ(call.retries_left, 0);
  EXPECT_EQ(AfterAttempt(call, untaken, kArrival + hours(24), hours(24)), NextStep::kBury);
}

TEST(CallRulesTest, BoundsOfWhatArrives) {
  const CallRecord call = ArrivedCall(0);
  const CallLimits limits{.max_body = 5, .max_arriving = 2, .max_arriving_bytes = 20};
  EXPECT_OK(CheckArrival(call, limits, 1, 6));
  EXPECT_EQ(CheckArrival(call, limits, 2, 0).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(CheckArrival(call, limits, 0, 7).code(), StatusCode::kOutOfRange);
  EXPECT_THAT(CheckArrival(call, {.max_body = 4}, 0, 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 4 bytes")));
}

}  // namespace
}  // namespace kgpu::functions
