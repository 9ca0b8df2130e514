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

TEST(CallRulesTest, ACallbackHasTheHeadersOfTheFunction) {
  CallRecord call = ArrivedCall(0);
  call.call_id = "mine";
  call.function = "hello";
  call.headers = {
      {"traceparent", "00-1-2-01"}, {"tracestate", "a=1"}, {"Authorization", "Bearer t"}};
  const CallOutcome outcome{.code = 404,
                            .headers = {{"X-A", "1"},
                                        {"Set-Cookie", "a=1"},
                                        {"Set-Cookie", "b=2"},
                                        {"Content-Type", "a/b"},
                                        {"X-Duration-Seconds", "0.1"},
                                        {"Kgpu-Fault", "handler"},
                                        {"Content-Length", "9"},
                                        {"Connection", "keep-alive"},
                                        {"Host", "elsewhere"},
                                        {"X-Call-Id", "forged"},
                                        {"X-Function-Status", "200"}},
                            .body = "text"};
  const http::Headers headers = CallbackHeaders(call, outcome);
  EXPECT_EQ(headers, (http::Headers{{"X-A", "1"},
                                    {"Set-Cookie", "a=1"},
                                    {"Set-Cookie", "b=2"},
                                    {"Content-Type", "a/b"},
                                    {"X-Duration-Seconds", "0.1"},
                                    {"Kgpu-Fault", "handler"},
                                    {"X-Call-Id", "mine"},
                                    {"X-Function-Name", "hello"},
                                    {"X-Function-Status", "404"},
                                    {"traceparent", "00-1-2-01"},
                                    {"tracestate", "a=1"}}));
  EXPECT_EQ(CallbackHeaders(call, {.headers = {{"traceparent", "00-1-3-01"}}}).Count("traceparent"),
            1U);
  EXPECT_FALSE(
      CallbackHeaders(call, {.headers = {{"Content-Encoding", "gzip"}}}).Find("Content-Encoding"));
}

TEST(CallRulesTest, AnAnswerTakesThePlaceOfTheInput) {
  CallRecord call = ArrivedCall(0);
  call.headers = {{"traceparent", "00-1-2-01"}, {"X-Secret", "input"}};
  EXPECT_FALSE(AnswerIn(call).has_value());
  const CallOutcome outcome{
      .code = 201, .headers = {{"X-A", "1"}, {"Content-Length", "6"}}, .body = "answer"};
  const CallRecord answered = Answered(call, outcome);
  EXPECT_EQ(answered.body, "answer");
  EXPECT_FALSE(answered.headers.Find("X-Secret"));
  const std::optional<CallOutcome> read = AnswerIn(answered);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->code, 201);
  EXPECT_EQ(read->body, "answer");
  const http::Headers headers = CallbackHeaders(answered, *read);
  EXPECT_EQ(headers.Find("X-A"), "1");
  EXPECT_EQ(headers.Find("X-Function-Status"), "201");
  EXPECT_EQ(headers.Count("traceparent"), 1U);
  EXPECT_FALSE(headers.Find("Content-Length"));
  EXPECT_FALSE(headers.Find(kAnsweredHeader));
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
