#include "src/platform/net/http/body_decoder.h"

#include <gtest/gtest.h>

#include <string>

namespace kgpu::http {
namespace {

using State = BodyDecoder::State;

constexpr size_t kLimit = 64;
constexpr size_t kLineLimit = 32;

// Byte by byte; `rest` is what it did not take.
State ReadChunks(std::string_view bytes, std::string& body, size_t& rest) {
  BodyDecoder whole = BodyDecoder::OfChunks(kLimit, kLineLimit);
  rest = bytes.size() - whole.Feed(bytes);
  BodyDecoder pieces = BodyDecoder::OfChunks(kLimit, kLineLimit);
  for (const char byte : bytes) {
    pieces.Feed({&byte, 1});
  }
  EXPECT_EQ(pieces.state(), whole.state()) << bytes;
  EXPECT_EQ(pieces.body(), whole.body()) << bytes;
  body = whole.body();
  return whole.state();
}

TEST(BodyDecoderTest, JoinsChunks) {
  struct Case {
    std::string bytes;
    std::string body;
  };
  for (const Case& c :
       {Case{"0\r\n\r\n", ""}, Case{"3\r\nabc\r\n0\r\n\r\n", "abc"},
        Case{"00a;x=\"y\"\r\n0123456789\r\n1;\r\n!\r\n000;z\r\nA: b\r\nC: d\r\n\r\n",
             "0123456789!"},
        Case{"1F\r\n" + std::string(31, 'x') + "\r\n0\r\n\r\n", std::string(31, 'x')}}) {
    std::string body;
    size_t rest = 0;
    EXPECT_EQ(ReadChunks(c.bytes + "next", body, rest), State::kDone) << c.bytes;
    EXPECT_EQ(body, c.body);
    EXPECT_EQ(rest, 4U);
  }
}

TEST(BodyDecoderTest, RefusesWhatOthersMightReadAnotherWay) {
  struct Case {
    std::string bytes;
    State state;
  };
  for (const Case& c : {
           Case{"\r\n", State::kBad},
           Case{"x\r\n", State::kBad},
           Case{"-1\r\n", State::kBad},
           Case{"0x1\r\n", State::kBad},
           Case{"3 \r\nabc", State::kBad},
           Case{"3\nabc\n", State::kBad},
           Case{"3\r\r\nabc", State::kBad},
           Case{"3;a\nb\r\nabc", State::kBad},
           Case{"3\r\nabcd\r\n", State::kBad},
           Case{"3\r\nabc\n0", State::kBad},
           Case{"0\r\nA: b\n\r\n", State::kBad},
           Case{"0\r\n\rx", State::kBad},
           Case{"41\r\n", State::kTooLarge},
           Case{"20\r\n" + std::string(32, 'x') + "\r\n21\r\n", State::kTooLarge},
           Case{"ffffffffffffffffffff", State::kTooLarge},
           Case{std::string(33, '0'), State::kLineTooLong},
           Case{"1;" + std::string(31, 'x'), State::kLineTooLong},
           Case{"0\r\nA: b\r\n" + std::string(30, 'x'), State::kLineTooLong},
       }) {
    std::string body;
    size_t rest = 0;
    EXPECT_EQ(ReadChunks(c.bytes, body, rest), c.state) << c.bytes;
  }
}

TEST(BodyDecoderTest, TakesALengthAndNoMore) {
  BodyDecoder decoder = BodyDecoder::OfLength(4, kLimit);
  EXPECT_EQ(decoder.Feed("abc"), 3U);
  EXPECT_EQ(decoder.state(), State::kMore);
  EXPECT_EQ(decoder.Feed("def"), 1U);
  EXPECT_EQ(decoder.state(), State::kDone);
  EXPECT_EQ(decoder.body(), "abcd");
  EXPECT_EQ(BodyDecoder::OfLength(0, 0).state(), State::kDone);
  EXPECT_EQ(BodyDecoder::OfLength(kLimit + 1, kLimit).state(), State::kTooLarge);
}

TEST(BodyDecoderTest, EndsWithTheConnectionOnlyWhereThatIsTheEnd) {
  BodyDecoder decoder = BodyDecoder::UntilClose(kLimit);
  decoder.Feed("abc");
  decoder.FeedEnd();
  EXPECT_EQ(decoder.state(), State::kDone);
  for (BodyDecoder half : {BodyDecoder::OfLength(4, kLimit), BodyDecoder::OfChunks(kLimit, 32)}) {
    half.Feed("1");
    half.FeedEnd();
    EXPECT_EQ(half.state(), State::kBad);
  }
  BodyDecoder large = BodyDecoder::UntilClose(kLimit);
  large.Feed(std::string(kLimit + 1, 'x'));
  EXPECT_EQ(large.state(), State::kTooLarge);
}

}  // namespace
}  // namespace kgpu::http
