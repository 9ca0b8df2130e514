#include "src/platform/net/http/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::http {
namespace {

using ::testing::HasSubstr;

// Presents `bytes` as a connection does, `step` at a time; how many were taken.
template <typename Parser>
size_t FeedInSteps(Parser& parser, std::string_view bytes, size_t step) {
  size_t taken = 0;
  for (size_t end = std::min(step, bytes.size());; end = std::min(end + step, bytes.size())) {
    size_t count = 1;
    while (count > 0 && taken < end &&
           (parser.state() == ParseState::kHeader || parser.state() == ParseState::kBody)) {
      count = parser.Feed(bytes.substr(taken, end - taken));
      taken += count;
    }
    if (end == bytes.size()) {
      return taken;
    }
  }
}

constexpr ParserLimits kSmall{.header = 200, .body = 100};

struct Parsed {
  ParseState state = ParseState::kHeader;
  int code = 0;
  Request request;
  size_t taken = 0;
  bool keeps_alive = false;
};

Parsed Parse(std::string_view bytes, size_t step = SIZE_MAX / 2) {
  RequestParser parser(kSmall);
  Parsed parsed;
  parsed.taken = FeedInSteps(parser, bytes, step);
  parsed.state = parser.state();
  parsed.code = parser.refusal().code;
  if (parsed.state == ParseState::kDone) {
    parsed.keeps_alive = parser.keeps_alive();
    parsed.request = parser.Take();
  }
  return parsed;
}

TEST(RequestParserTest, ReadsARequest) {
  const std::string text = "GET /a%20b?c=d HTTP/1.1\r\nHost: h\r\nX-Y:  z \r\n\r\n";
  const Parsed parsed = Parse(text + "GET");
  ASSERT_EQ(parsed.state, ParseState::kDone);
  EXPECT_EQ(parsed.taken, text.size());
  EXPECT_EQ(parsed.request.method, "GET");
  EXPECT_EQ(parsed.request.target, "/a%20b?c=d");
  EXPECT_EQ(parsed.request.path, "/a b");
  EXPECT_EQ(parsed.request.query, "c=d");
  EXPECT_EQ(parsed.request.headers, (Headers{{"Host", "h"}, {"X-Y", "z"}}));
  EXPECT_TRUE(parsed.keeps_alive);
}

TEST(RequestParserTest, ReadsBodiesInPiecesOfAnySize) {
  for (const std::string text :
       {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\n012\r\n7;a=b\r\n3456789\r\n0\r\nX: trailer\r\n\r\n"}) {
    for (size_t step = 1; step <= text.size(); ++step) {
      const Parsed parsed = Parse(text, step);
      ASSERT_EQ(parsed.state, ParseState::kDone) << text << " by " << step;
      EXPECT_EQ(parsed.request.body, "0123456789");
      EXPECT_EQ(parsed.taken, text.size());
      EXPECT_EQ(parsed.request.headers.Count("X"), 0U) << "fields behind the body are no header";
    }
  }
}

TEST(RequestParserTest, SkipsEmptyLinesBeforeARequest) {
  for (size_t step = 1; step < 6; ++step) {
    EXPECT_EQ(Parse("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", step).state, ParseState::kDone);
  }
}

TEST(RequestParserTest, TellsWhetherTheConnectionStays) {
  for (const auto& [text, stays] :
       {std::pair{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", true},
        std::pair{"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false},
        std::pair{"GET / HTTP/1.0\r\n\r\n", false},
        std::pair{"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true}}) {
    EXPECT_EQ(Parse(text).keeps_alive, stays) << text;
  }
}

TEST(RequestParserTest, RefusesWhatIsNoRequest) {
  struct Case {
    std::string text;
    int code;
  };
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const Case& c : {
           Case{"\x16\x03\x01\x02", 400},  // TLS
           Case{"GET / HTTP/1.1\nHost: h\n\n", 400},
           Case{" GET / HTTP/1.1\r\n\r\n", 400},
           Case{"GET /\r\n\r\n", 400},
           Case{"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
           Case{"GET / HTTP/1.1\r\n\r\n", 400},                        // no Host
           Case{"GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400},  // two
           Case{"GET / HTTP/1.1\r\nHost: a b/c\r\n\r\n", 400},
           Case{"GET / HTTP/1.0\r\nHost: a@b\r\n\r\n", 400},
           Case{"GET /a\x01"
                "b HTTP/1.1\r\nHost: h\r\n\r\n",
                400},
           Case{"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 505},
           Case{"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400},
           Case{"GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400},
           Case{"GET / HTTP/1.1\r\nHost: h\r\nA\x01: b\r\n\r\n", 400},
           Case{post + "Content-Length: -1\r\n\r\n", 400},
           Case{post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
           Case{post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
           Case{post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400},
           Case{post + "Transfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\n", 400},
           Case{post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
           Case{post + "Transfer-Encoding: identity\r\n\r\n", 501},
           Case{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
           Case{post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
           Case{post + "Content-Length: 101\r\n\r\n", 413},
           Case{post + "Transfer-Encoding: chunked\r\n\r\n65\r\n", 413},
           Case{"GET /" + std::string(300, 'a'), 431},
           Case{post + "A: " + std::string(200, 'a') + "\r\n\r\n", 431},
           Case{post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(200, 'a'), 431},
           Case{post + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: " + std::string(200, 'a'), 431},
       }) {
    for (const size_t step : {size_t{1}, size_t{7}, c.text.size()}) {
      const Parsed parsed = Parse(c.text, step);
      EXPECT_EQ(parsed.state, ParseState::kRefused) << c.text << " by " << step;
      EXPECT_EQ(parsed.code, c.code) << c.text << " by " << step;
    }
  }
}

// Refused, or read in the one way that everybody on the way reads them.
TEST(RequestParserTest, NoBodyHasTwoMeanings) {
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string_view rest : {
           "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
           "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
           "Content-Length: 5, 5\r\n\r\nhello",
           "Content-Length: +5\r\n\r\nhello",
           "Content-Length: 0x5\r\n\r\nhello",
           "Content-Length: 5 5\r\n\r\nhello",
           "Content-Length: 005\r\n\r\nhello",
           "Content-Length: 99999999999999999999999\r\n\r\nhello",
           "Content-Length : 5\r\n\r\nhello",
           "X-A: b\r\n c\r\nContent-Length: 5\r\n\r\nhello",
           "X: y\nContent-Length: 5\r\n\r\nhello",
           "X: y\rContent-Length: 6\r\nContent-Length: 5\r\n\r\nhello",
           "Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked, identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding:\tchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: \x0b"
           "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: "
           "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n5;\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
           "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n",
           "Content-Length: 5\r\nConnection: Content-Length\r\n\r\nhello",
       }) {
    const std::string text = post + std::string(rest);
    for (const size_t step : {size_t{1}, text.size()}) {
      const Parsed parsed = Parse(text, step);
      const bool is_plain = parsed.state == ParseState::kDone && parsed.request.body == "hello" &&
                            parsed.taken == text.size();
      EXPECT_TRUE(is_plain || parsed.state == ParseState::kRefused) << rest << " by " << step;
    }
  }
}

TEST(RequestParserTest, CountsAHeaderToItsLastByte) {
  const std::string start = "GET / HTTP/1.1\r\nHost: ";
  const std::string exact = start + std::string(kSmall.header - start.size() - 4, 'h') + "\r\n\r\n";
  EXPECT_EQ(Parse(exact).state, ParseState::kDone);
  EXPECT_EQ(Parse(exact, 1).state, ParseState::kDone);
  const std::string longer = start + "h" + exact.substr(start.size());
  EXPECT_EQ(Parse(longer).code, 431);
  EXPECT_EQ(Parse(longer, 1).code, 431);
}

TEST(RequestParserTest, KnowsWhoWaitsForPermission) {
  RequestParser parser(kSmall);
  parser.Feed("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n");
  ASSERT_EQ(parser.state(), ParseState::kBody);
  EXPECT_TRUE(parser.expects_continue());
}

TEST(ResponseParserTest, SkipsInterimAnswers) {
  const std::string text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"
      "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok";
  for (size_t step = 1; step <= text.size(); ++step) {
    ResponseParser parser(kSmall, false);
    FeedInSteps(parser, text, step);
    ASSERT_EQ(parser.state(), ParseState::kDone) << step;
    const Response response = parser.Take();
    EXPECT_EQ(response.code, 201);
    EXPECT_EQ(response.body, "ok");
    EXPECT_EQ(response.headers, (Headers{{"Content-Length", "2"}}));
  }
}

TEST(ResponseParserTest, EndsABodyWithTheConnection) {
  ResponseParser parser(kSmall, false);
  FeedInSteps(parser, "HTTP/1.0 200 OK\r\n\r\nabc", 5);
  EXPECT_EQ(parser.state(), ParseState::kBody);
  parser.FeedEnd();
  ASSERT_EQ(parser.state(), ParseState::kDone);
  EXPECT_EQ(parser.Take().body, "abc");
}

TEST(ResponseParserTest, RefusesHalfAnAnswer) {
  for (const std::string text :
       {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"}) {
    ResponseParser parser(kSmall, false);
    FeedInSteps(parser, text, 100);
    parser.FeedEnd();
    ASSERT_EQ(parser.state(), ParseState::kRefused) << text;
    EXPECT_THAT(parser.refusal().reason, HasSubstr("closed before the end"));
  }
}

TEST(ResponseParserTest, RefusesMoreThanIsAllowed) {
  for (const std::string& text : {std::string("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n"),
                                  "HTTP/1.1 200 OK\r\n\r\n" + std::string(101, 'a')}) {
    ResponseParser parser(kSmall, false);
    FeedInSteps(parser, text, 30);
    EXPECT_EQ(parser.refusal().code, 413) << text;
  }
}

TEST(ResponseParserTest, GivesABodyAwayAsItComes) {
  ResponseParser parser({.header = 200, .body = 20}, false);
  EXPECT_EQ(parser.TakeBody(), "");
  parser.Feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n3\r\nab");
  EXPECT_EQ(parser.state(), ParseState::kBody);
  EXPECT_EQ(parser.code(), 200);
  EXPECT_EQ(parser.headers().Find("a"), "b");
  EXPECT_EQ(parser.TakeBody(), "ab");
  // More than the limit altogether, but never at once.
  for (int i = 0; i < 5; ++i) {
    parser.Feed(i == 0 ? "c\r\na\r\n0123456789\r\n" : "a\r\n0123456789\r\n");
    EXPECT_EQ(parser.TakeBody(), i == 0 ? "c0123456789" : "0123456789");
  }
  parser.Feed("0\r\n\r\n");
  EXPECT_EQ(parser.state(), ParseState::kDone);
  EXPECT_TRUE(parser.keeps_alive());
}

TEST(ResponseParserTest, KnowsWhetherAnotherAnswerMayFollow) {
  const auto keeps_alive = [](std::string_view bytes) {
    ResponseParser parser(kSmall, false);
    parser.Feed(bytes);
    return parser.keeps_alive();
  };
  EXPECT_TRUE(keeps_alive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(keeps_alive("HTTP/1.1 204 No Content\r\n\r\n"));
  EXPECT_FALSE(keeps_alive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keeps_alive("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(keeps_alive("HTTP/1.1 200 OK\r\n\r\nuntil the end"));
}

TEST(ResponseParserTest, ExpectsNoBodyOfAnAnswerToHead) {
  ResponseParser parser(kSmall, true);
  FeedInSteps(parser, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", 100);
  EXPECT_EQ(parser.state(), ParseState::kDone);
}

}  // namespace
}  // namespace kgpu::http
