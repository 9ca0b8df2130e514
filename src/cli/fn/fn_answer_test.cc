#include "src/cli/fn/fn_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

StatusOr<http::Request> RequestWith(const std::string& header) {
  return CallRequest({.method = "GET", .path = "/", .headers = {header}});
}

TEST(CallRequestTest, TakesHeadersAsTheyAreGiven) {
  const auto request = CallRequest(
      {.method = "GET",
       .path = "x?y=1",
       .headers = {"X-A:  b c ", "X-Empty:", "X-Colon: a:b", "Cookie: a=1", "X-Utf8: \xc3\xa4"}});
  ASSERT_OK(request);
  EXPECT_EQ(request->target, "/x?y=1");
  EXPECT_EQ(request->headers, (http::Headers{{"X-A", "b c"},
                                             {"X-Empty", ""},
                                             {"X-Colon", "a:b"},
                                             {"Cookie", "a=1"},
                                             {"X-Utf8", "\xc3\xa4"},
                                             {"Content-Type", "application/octet-stream"}}));
}

TEST(CallRequestTest, RefusesAHeaderThatWouldNotArrive) {
  for (const char* header :
       {"Bad Header: x", ": x", "no colon", "A\tB: x", "X-\xc3\xa4: x", "X-A: b\nX-B: c",
        "X-A: b\n", "X-A: b\r", "X-A: \x01", "Content-Length: 5", "transfer-encoding: chunked",
        "Connection: close", "TE: trailers", "Expect: 100-continue", "Kgpu-Fault: crash"}) {
    EXPECT_THAT(RequestWith(header), StatusIs(StatusCode::kInvalidArgument, HasSubstr("--header")))
        << header;
  }
}

}  // namespace
}  // namespace kgpu::cli
