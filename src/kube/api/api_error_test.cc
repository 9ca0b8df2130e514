#include "src/kube/api/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "src/kube/api/json.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Body(int code, std::string_view reason) {
  return fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"said"}})", code,
                     reason);
}

TEST(ApiErrorTest, TheCodeTellsTheCallerWhatToDo) {
  const struct {
    int code;
    std::string_view reason;
    StatusCode status;
  } kCases[] = {{400, "BadRequest", StatusCode::kInvalidArgument},
                {401, "Unauthorized", StatusCode::kUnauthenticated},
                {403, "Forbidden", StatusCode::kPermissionDenied},
                {404, "NotFound", StatusCode::kNotFound},
                {405, "MethodNotAllowed", StatusCode::kUnimplemented},
                {406, "NotAcceptable", StatusCode::kUnimplemented},
                {409, "AlreadyExists", StatusCode::kAlreadyExists},
                {409, "Conflict", StatusCode::kAborted},
                {409, "", StatusCode::kAborted},
                {410, "Gone", StatusCode::kOutOfRange},
                {410, "Expired", StatusCode::kOutOfRange},
                {413, "RequestEntityTooLarge", StatusCode::kInvalidArgument},
                {415, "UnsupportedMediaType", StatusCode::kUnimplemented},
                {418, "", StatusCode::kInvalidArgument},
                {422, "Invalid", StatusCode::kInvalidArgument},
                {429, "TooManyRequests", StatusCode::kUnavailable},
                {500, "InternalError", StatusCode::kUnavailable},
                {502, "", StatusCode::kUnavailable},
                {503, "ServiceUnavailable", StatusCode::kUnavailable},
                {504, "Timeout", StatusCode::kUnavailable},
                {302, "", StatusCode::kFailedPrecondition}};
  for (const auto& c : kCases) {
    const Status status = StatusOfAnswer(c.code, {}, Body(c.code, c.reason), "GET /x");
    EXPECT_THAT(status, StatusIs(c.status, AllOf(HasSubstr("GET /x: said"),
                                                 HasSubstr(fmt::format("{}", c.code)))));
    const auto error = ApiErrorOf(status);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, c.code);
    EXPECT_EQ(error->reason, c.reason);
  }
  EXPECT_OK(StatusOfAnswer(200, {}, "", "GET /x"));
  EXPECT_OK(StatusOfAnswer(202, {}, "not a JSON", "GET /x"));
}

TEST(ApiErrorTest, ADecisionNeedsNoBodyThatIsAStatus) {
  for (const std::string_view body : {"", "<html>", "[]", "{\"kind\":\"Pod\"}", "{\"code\":200}"}) {
    EXPECT_THAT(StatusOfAnswer(503, {}, body, "GET /x"),
                StatusIs(StatusCode::kUnavailable, HasSubstr("check for a proxy")))
        << body;
  }
  EXPECT_THAT(StatusOfAnswer(404, {}, "404 page not found", "GET /x"),
              StatusIs(StatusCode::kNotFound, Not(HasSubstr("proxy"))));
}

TEST(ApiErrorTest, KeepsCausesAndWhereTheRestOfAListIs) {
  const Status status = StatusOfAnswer(
      410, {},
      R"({"kind":"Status","code":410,"reason":"Expired","metadata":{"continue":"abc"},
          "details":{"causes":[{"reason":"A","message":"m","field":"f"},7,{"reason":"B"}]}})",
      "GET /x");
  const auto error = ApiErrorOf(status);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->continue_token, "abc");
  ASSERT_EQ(error->causes.size(), 3U);
  EXPECT_EQ(error->causes[0], (ErrorCause{.reason = "A", .message = "m", .field = "f"}));
  EXPECT_TRUE(HasReason(status, "Expired"));
  EXPECT_TRUE(HasReason(status, "B"));
  EXPECT_FALSE(HasReason(status, "C"));
}

TEST(ApiErrorTest, ReadsHowLongToWait) {
  const auto wait = [](const http::Headers& headers, std::string_view body) {
    return RetryAfterOf(StatusOfAnswer(429, headers, body, "GET /x"));
  };
  EXPECT_EQ(wait({{"retry-after", "7"}}, ""), seconds(7));
  EXPECT_EQ(wait({{"Retry-After", "99999999999"}}, ""), seconds(600));
  EXPECT_EQ(wait({{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"}}, ""), seconds(0));
  EXPECT_EQ(wait({}, R"({"kind":"Status","details":{"retryAfterSeconds":3}})"), seconds(3));
  EXPECT_EQ(wait({{"Retry-After", "2"}}, R"({"kind":"Status","details":{"retryAfterSeconds":3}})"),
            seconds(2));
  EXPECT_EQ(wait({}, R"({"kind":"Status","details":{"retryAfterSeconds":-3}})"), seconds(0));
}

TEST(ApiErrorTest, AnErrorWithinAWatchHasItsOwnCode) {
  const auto object = ParseObject(Body(410, "Expired"), "x");
  ASSERT_OK(object);
  EXPECT_THAT(StatusOfObject(*object, "GET /x"), StatusIs(StatusCode::kOutOfRange));
  const auto bare = ParseObject("{}", "x");
  ASSERT_OK(bare);
  EXPECT_THAT(StatusOfObject(*bare, "GET /x"), StatusIs(StatusCode::kUnavailable));
  const auto wrong = ParseObject(R"({"code":200})", "x");
  ASSERT_OK(wrong);
  EXPECT_THAT(StatusOfObject(*wrong, "GET /x"), StatusIs(StatusCode::kUnavailable));
}

TEST(ApiErrorTest, WordsOfAServerCannotWriteToATerminal) {
  const Status status = StatusOfAnswer(
      400, {}, R"({"kind":"Status","reason":"\u001b[31m","message":"a\nb"})", "GET /x");
  EXPECT_EQ(Message(status).find('\n'), std::string_view::npos);
  EXPECT_EQ(Message(status).find('\x1b'), std::string_view::npos);
}

TEST(ApiErrorTest, WhatNoServerSaidHasNoApiError) {
  EXPECT_FALSE(ApiErrorOf(Unavailable("connection refused")).has_value());
  EXPECT_FALSE(HasReason(Unavailable("connection refused"), "Conflict"));
  EXPECT_EQ(RetryAfterOf(OkStatus()), seconds(0));
}

}  // namespace
}  // namespace kgpu::kube
