#include "src/functions/watchdog/call_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "testing/status_matchers.h"

namespace kgpu::watchdog {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const CallFacts& facts) {
  return CallText(facts).value() + CallTextEnd(std::chrono::milliseconds(1500));
}

TEST(CallTextTest, TellsTheWholeCall) {
  const http::Headers headers{{"X-A", "1"}, {"Traceparent", "00-ab"}, {"x-a", "2"}};
  EXPECT_EQ(
      TextOf({.id = "i", .method = "GET", .path = "/p%20q", .query = "a=b", .headers = headers}),
      R"({"id":"i","method":"GET","path":"/p%20q","query":"a=b",)"
      R"("headers":{"x-a":"1, 2","traceparent":"00-ab"},"deadlineMs":1500})");
}

TEST(CallTextTest, JoinsCookiesAsOneField) {
  const http::Headers headers{
      {"Cookie", "a=1"}, {"x", "1"}, {"cookie", "b=2"}, {"Accept", "p"}, {"accept", "q"}};
  EXPECT_THAT(TextOf({.headers = headers}),
              HasSubstr(R"("headers":{"cookie":"a=1; b=2","x":"1","accept":"p, q"})"));
}

TEST(CallTextTest, WritesAnyBytesAsText) {
  const http::Headers headers;
  EXPECT_EQ(
      TextOf({.path = "/\"\\\x01\xc3\xa9\xff\xed\xa0\x80\xf0\x9f\x98\x80", .headers = headers}),
      "{\"id\":\"\",\"method\":\"POST\",\"path\":\"/\\\"\\\\\\u0001\xc3\xa9\\u00ff\\u00ed"
      "\\u00a0\\u0080\xf0\x9f\x98\x80\",\"query\":\"\",\"headers\":{},\"deadlineMs\":1500}");
}

TEST(CallTextTest, RefusesWhatDoesNotFitAFrame) {
  const http::Headers headers{{"x", std::string(size_t{1} << 20, 'x')}};
  EXPECT_THAT(CallText({.headers = headers}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("send fewer than")));
}

TEST(CallTextTest, ReadsWhatAWorkerSaysWhenItIsReady) {
  const auto ready = ParseReady(R"({"concurrent":true,"runtime":"python 3.11","more":1})");
  ASSERT_OK(ready);
  EXPECT_TRUE(ready->is_concurrent);
  EXPECT_EQ(ready->runtime, "python 3.11");
  EXPECT_FALSE(ParseReady("{}").value().is_concurrent);
  for (const char* bad : {"", "[]", R"({"concurrent":1})", "{} {}"}) {
    EXPECT_THAT(ParseReady(bad), StatusIs(StatusCode::kInvalidArgument)) << bad;
  }
}

TEST(CallTextTest, ReadsTheHeadOfAnAnswer) {
  const auto head = ParseHead(R"({"status":404,"headers":{"Content-Type":"text/plain"}})");
  ASSERT_OK(head);
  EXPECT_EQ(head->status, 404);
  EXPECT_EQ(head->headers.Find("content-type"), "text/plain");
  EXPECT_EQ(ParseHead("{}").value().status, 200);
  for (const char* bad : {R"({"status":99})",
                          R"({"status":100})",
                          R"({"status":600})",
                          R"({"status":"200"})",
                          R"({"status":null})",
                          R"({"status":true})",
                          R"({"status":1.5})",
                          R"({"headers":[]})",
                          R"({"headers":"a: b"})",
                          R"({"headers":null})",
                          R"({"headers":{"a":1}})",
                          R"({"headers":{"a":null}})",
                          R"({"headers":{"a":{}}})",
                          R"({"headers":{"a":["b",1]}})",
                          R"({"headers":{"a":[["b"]]}})",
                          R"({"headers":{"":"b"}})",
                          R"({"headers":{"Bad Header":"b"}})",
                          R"({"headers":{"a:":"b"}})",
                          R"({"headers":{"a\r\nb":"c"}})",
                          R"({"headers":{"ä":"b"}})",
                          R"({"headers":{"a":"b\r\nSet-Cookie: c"}})",
                          R"({"headers":{"a":"b\u0000"}})",
                          R"({"headers":{"a":"\ud800"}})",
                          "{",
                          "null",
                          ""}) {
    EXPECT_THAT(ParseHead(bad), StatusIs(StatusCode::kInvalidArgument)) << bad;
  }
}

TEST(CallTextTest, ReadsSeveralFieldsOfOneName) {
  const auto head = ParseHead(R"({"headers":{"Set-Cookie":["a=1; Path=/","b=2; Path=/"],"x":[]}})");
  ASSERT_OK(head);
  const std::vector<std::pair<std::string, std::string>> expected{{"Set-Cookie", "a=1; Path=/"},
                                                                  {"Set-Cookie", "b=2; Path=/"}};
  EXPECT_EQ(head->headers.fields(), expected);
  EXPECT_EQ(ParseHead(R"({"headers":{"a":" b\t"}})").value().headers.Find("a"), "b");
}

TEST(CallTextTest, LimitsTheHeadersOfAnAnswer) {
  const auto with = [](size_t size) {
    return ParseHead(fmt::format(R"({{"headers":{{"a":"{}"}}}})", std::string(size, 'x')));
  };
  EXPECT_OK(with(32'000));
  EXPECT_THAT(with(33'000), StatusIs(StatusCode::kInvalidArgument, HasSubstr("32768 bytes")));
  EXPECT_THAT(with(size_t{1} << 20), StatusIs(StatusCode::kInvalidArgument));
  std::string many = R"({"headers":{"a":["1")";
  for (int i = 0; i < 1000; ++i) {
    many += R"(,"1")";
  }
  EXPECT_THAT(ParseHead(many + "]}}"), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::watchdog
