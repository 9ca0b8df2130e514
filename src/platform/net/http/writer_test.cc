#include "src/platform/net/http/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "testing/status_matchers.h"

namespace kgpu::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kNow{std::chrono::seconds(784111777)};

TEST(WriterTest, GivesTheLengthOfABodyThatIsLeftOutIfItIsKnown) {
  const Response known{.code = 200, .headers = {{"content-length", "7"}}, .body = ""};
  EXPECT_THAT(ResponseHead(known, Framing::kGiven, true, kNow),
              HasSubstr("\r\nContent-Length: 7\r\n"));
  EXPECT_THAT(ResponseHead({}, Framing::kGiven, true, kNow), Not(HasSubstr("Content-Length")));
}

TEST(WriterTest, RefusesHeadersThatCannotBeInARequest) {
  const std::vector<std::pair<std::string, std::string>> invalid{
      {"Bad Header", "x"}, {"", "x"}, {"A", "x\r\nB: y"}, {"A", std::string("\0", 1)}};
  for (const auto& [name, value] : invalid) {
    Request request;
    request.headers.Add(name, value);
    EXPECT_THAT(RequestText(request, "h"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("header")))
        << name;
  }
}

TEST(WriterTest, WritesAResponsesHead) {
  const Response response{.code = 404, .headers = {{"Content-Type", "a/b"}}, .body = "gone"};
  EXPECT_EQ(ResponseHead(response, Framing::kLength, true, kNow),
            "HTTP/1.1 404 Not Found\r\nContent-Type: a/b\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 4\r\n"
            "Connection: keep-alive\r\n\r\n");
}

TEST(WriterTest, FramesABodyInOneWay) {
  const Response response{
      .code = 200,
      .headers = {{"content-length", "7"}, {"transfer-encoding", "x"}, {"connection", "y"}},
      .body = ""};
  const std::string chunked = ResponseHead(response, Framing::kChunked, false, kNow);
  EXPECT_THAT(chunked, HasSubstr("\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(chunked, Not(HasSubstr("ontent-")));
  EXPECT_THAT(ResponseHead(response, Framing::kLength, true, kNow),
              HasSubstr("\r\nContent-Length: 0\r\n"));
  EXPECT_THAT(ResponseHead(response, Framing::kUntilClose, false, kNow), Not(HasSubstr("ength")));
}

TEST(WriterTest, GivesNoLengthToAnswersWithoutABody) {
  for (const int code : {204, 304}) {
    EXPECT_THAT(
        ResponseHead({.code = code, .headers = {}, .body = ""}, Framing::kLength, true, kNow),
        Not(HasSubstr("Content-Length")));
  }
}

TEST(WriterTest, LetsNoValueMakeFieldsOfItsOwn) {
  const Response response{.code = 200,
                          .headers = {{"A", "x\r\nSet-Cookie: y"}, {"B: c\r\nD", "z"}, {"", "e"}},
                          .body = ""};
  EXPECT_EQ(ResponseHead(response, Framing::kUntilClose, false, kNow),
            "HTTP/1.1 200 OK\r\nA: x  Set-Cookie: y\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Connection: close\r\n\r\n");
}

TEST(WriterTest, WritesARequest) {
  Request request{.method = "POST", .target = "/a", .headers = {{"X", "y"}}, .body = "b"};
  EXPECT_THAT(RequestText(request, "h:1"),
              IsOkAndHolds("POST /a HTTP/1.1\r\nHost: h:1\r\nX: y\r\nContent-Length: 1\r\n"
                           "Connection: close\r\n\r\nb"));
  EXPECT_THAT(RequestText(request, "h:1", true),
              IsOkAndHolds("POST /a HTTP/1.1\r\nHost: h:1\r\nX: y\r\nContent-Length: 1\r\n\r\nb"));
}

TEST(WriterTest, RefusesARequestThatCannotBe) {
  for (const std::string target : {"", "/a b", "/\r\nX: y", "/\x7f"}) {
    Request request;
    request.target = target;
    EXPECT_THAT(RequestText(request, "h"), StatusIs(StatusCode::kInvalidArgument)) << target;
  }
  Request request;
  request.method = "GET /x";
  EXPECT_THAT(RequestText(request, "h"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(WriterTest, WritesChunks) {
  EXPECT_EQ(Chunk("0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
  EXPECT_EQ(Chunk(""), "");
}

}  // namespace
}  // namespace kgpu::http
