#include "src/functions/watchdog/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "testing/status_matchers.h"

namespace kgpu::watchdog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void Feed(FrameDecoder& decoder, std::string_view bytes) {
  std::ranges::copy(bytes, decoder.Room(bytes.size()).begin());
  decoder.Commit(bytes.size());
}

// "type:call:payload" of each frame, and the error's text at the end.
std::vector<std::string> Frames(FrameDecoder& decoder) {
  std::vector<std::string> frames;
  while (true) {
    const StatusOr<std::optional<Frame>> frame = decoder.Next();
    if (!frame.ok()) {
      frames.emplace_back(Message(frame.status()));
      return frames;
    }
    if (!frame->has_value()) {
      return frames;
    }
    frames.push_back(fmt::format("{}:{}:{}", static_cast<char>((**frame).type), (**frame).call,
                                 (**frame).payload));
  }
}

TEST(FrameTest, HasTheLayoutThatWorkersRead) {
  std::string bytes;
  AppendFrame(bytes, FrameType::kData, 0x04030201, "ab");
  EXPECT_EQ(bytes, std::string("\x02\0\0\0D\0\0\0\x01\x02\x03\x04"
                               "ab",
                               14));
}

TEST(FrameTest, ReadsFramesHoweverTheyAreSplit) {
  std::string bytes;
  AppendFrame(bytes, FrameType::kReady, 0, "{}");
  AppendFrame(bytes, FrameType::kData, 7, std::string(3, '\0'));
  AppendFrame(bytes, FrameType::kEnd, 7, "");
  for (const size_t step : {size_t{1}, size_t{5}, size_t{13}, bytes.size()}) {
    FrameDecoder decoder;
    std::vector<std::string> frames;
    for (size_t at = 0; at < bytes.size(); at += step) {
      Feed(decoder, std::string_view(bytes).substr(at, step));
      for (const std::string& frame : Frames(decoder)) {
        frames.push_back(frame);
      }
    }
    EXPECT_THAT(frames, ElementsAre("R:0:{}", std::string("D:7:\0\0\0", 7), "E:7:")) << step;
  }
}

TEST(FrameTest, RefusesWhatIsNoFrame) {
  FrameDecoder decoder;
  Feed(decoder, "Hello, world!\n");
  EXPECT_THAT(Frames(decoder), ElementsAre(HasSubstr("is no head of a frame")));
  Feed(decoder, std::string(12, '\0'));
  EXPECT_THAT(decoder.Next(), StatusIs(StatusCode::kInvalidArgument)) << "for ever";
}

TEST(FrameTest, RefusesFramesThatOnlyWeSend) {
  FrameDecoder decoder;
  std::string bytes;
  AppendFrame(bytes, FrameType::kQuit, 0, "");
  Feed(decoder, bytes);
  EXPECT_THAT(decoder.Next(), StatusIs(StatusCode::kInvalidArgument));
}

TEST(FrameTest, LimitsThePayload) {
  FrameDecoder decoder;
  std::string bytes;
  AppendFrame(bytes, FrameType::kData, 1, std::string(kMaxPayload, 'x'));
  Feed(decoder, bytes);
  const auto frame = decoder.Next();
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((**frame).payload.size(), kMaxPayload);

  bytes.clear();
  AppendFrameHead(bytes, FrameType::kData, 1, kMaxPayload + 1);
  Feed(decoder, bytes);
  EXPECT_THAT(decoder.Next(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("1048577 bytes")));
}

}  // namespace
}  // namespace kgpu::watchdog
