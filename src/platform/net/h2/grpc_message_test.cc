#include "src/platform/net/h2/grpc_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::h2 {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(GrpcMessageTest, FramesMessages) {
  EXPECT_EQ(FrameGrpcMessage("ab"), std::string("\0\0\0\0\2ab", 7));
  EXPECT_THAT(GrpcMessageIn(FrameGrpcMessage("ab"), 2), IsOkAndHolds(std::string_view("ab")));
  EXPECT_THAT(GrpcMessageIn(FrameGrpcMessage(""), 2), IsOkAndHolds(std::string_view("")));
}

TEST(GrpcMessageTest, RefusesWhatIsNotOneMessage) {
  const std::string message = FrameGrpcMessage("abc");
  EXPECT_THAT(GrpcMessageIn("", 9), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(GrpcMessageIn(message.substr(0, 7), 9), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(GrpcMessageIn(message + message, 9),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exactly one message")));
  EXPECT_THAT(GrpcMessageIn(message, 2), StatusIs(StatusCode::kOutOfRange, HasSubstr("3 bytes")));
  EXPECT_THAT(GrpcMessageIn("\1" + message.substr(1), 9), StatusIs(StatusCode::kUnimplemented));
  EXPECT_THAT(GrpcMessageIn("\7" + message.substr(1), 9), StatusIs(StatusCode::kInvalidArgument));
}

TEST(GrpcMessageTest, EncodesTheTextOfAStatus) {
  const http::Headers trailers = GrpcTrailers(GrpcCode::kUnknown, "50%\n\xc3\xa9");
  EXPECT_EQ(trailers.Find("grpc-status"), "2");
  EXPECT_EQ(trailers.Find("grpc-message"), "50%25%0A%C3%A9");
  EXPECT_EQ(GrpcTrailers(GrpcCode::kOk, "").Count("grpc-message"), 0U);
}

TEST(GrpcMessageTest, KnowsACallByItsContentType) {
  const auto is_grpc = [](const char* method, const char* type) {
    return IsGrpc({.method = method, .headers = {{"Content-Type", type}}});
  };
  EXPECT_TRUE(is_grpc("POST", "application/grpc"));
  EXPECT_TRUE(is_grpc("POST", "application/grpc+proto"));
  EXPECT_TRUE(is_grpc("POST", "Application/GRPC; charset=utf-8"));
  EXPECT_FALSE(is_grpc("GET", "application/grpc"));
  EXPECT_FALSE(is_grpc("POST", "application/grpc-web"));
  EXPECT_FALSE(is_grpc("POST", "application/json"));
}

TEST(GrpcMessageTest, ReadsTimeouts) {
  EXPECT_THAT(ParseGrpcTimeout("100m"), IsOkAndHolds(std::chrono::nanoseconds(100'000'000)));
  EXPECT_THAT(ParseGrpcTimeout("2S"), IsOkAndHolds(std::chrono::nanoseconds(2'000'000'000)));
  EXPECT_THAT(ParseGrpcTimeout("99999999H"), IsOkAndHolds(std::chrono::hours(8760)));
  for (const char* bad :
       {"", "m", "S", "1", "-1S", "+1S", "1x", "123456789S", "1 S", "0x1S", "1.5S"}) {
    EXPECT_THAT(ParseGrpcTimeout(bad), StatusIs(StatusCode::kInvalidArgument)) << bad;
  }
}

TEST(GrpcMessageTest, TellsACallWithoutATimeoutFromOneWithAnInvalidOne) {
  EXPECT_THAT(GrpcTimeoutOf({}), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(GrpcTimeoutOf({.headers = {{"grpc-timeout", "1S"}}}),
              IsOkAndHolds(Optional(std::chrono::nanoseconds(1'000'000'000))));
  EXPECT_THAT(GrpcTimeoutOf({.headers = {{"grpc-timeout", "1x"}}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"1x\"")));
}

}  // namespace
}  // namespace kgpu::h2
