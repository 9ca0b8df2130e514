#include "src/functions/watchdog/fx_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::watchdog {
namespace {

std::string Raw(std::initializer_list<unsigned char> bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(FxMessageTest, ReadsTheInputOfARequest) {
  // input = 00 ff, info {FunctionName: "a"}, and an unknown varint, fixed32 and fixed64.
  const std::string request = Raw({0x0a, 2, 0, 0xff, 0x12, 3, 0x0a, 1, 'a', 0x18, 0x96, 1, 0x25,
                                   1,    2, 3, 4,    0x29, 1, 2,    3, 4,   5,    6,    7, 8});
  EXPECT_EQ(InputOf(request).value(), std::string("\0\xff", 2));
  EXPECT_EQ(InputOf("").value(), "");
  EXPECT_EQ(InputOf(Raw({0x0a, 1, 'a', 0x0a, 1, 'b'})).value(), "b") << "the last one counts";
}

TEST(FxMessageTest, RefusesWhatIsNoMessage) {
  for (const std::string& bad :
       {Raw({0x0a}), Raw({0x0a, 2, 'a'}), Raw({0x0b}), Raw({0x00}), Raw({0x08, 0xff}),
        Raw({0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),
        std::string(11, '\xff')}) {
    EXPECT_THAT(InputOf(bad), StatusIs(StatusCode::kInvalidArgument));
  }
}

TEST(FxMessageTest, WritesReplies) {
  EXPECT_EQ(ReplyOf("ab"), Raw({0x0a, 2, 'a', 'b'}));
  EXPECT_EQ(ReplyOf(std::string(300, 'x')).substr(0, 3), Raw({0x0a, 0xac, 2}));
  EXPECT_EQ(ReplyOf(""), "");
  EXPECT_EQ(HealthReply(true), Raw({8, 1}));
  EXPECT_EQ(HealthReply(false), Raw({8, 2}));
  EXPECT_EQ(HealthServiceOf(ReplyOf("pb.FxWatcher")).value(), "pb.FxWatcher");
}

}  // namespace
}  // namespace kgpu::watchdog
