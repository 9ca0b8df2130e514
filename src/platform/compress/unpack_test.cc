#include "src/platform/compress/unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/compress/test_pack.h"
#include "testing/status_matchers.h"

namespace kgpu::compress {
namespace {

using ::testing::HasSubstr;

constexpr size_t kLimit = size_t{1} << 20;

StatusOr<std::string> Unpacked(const std::string& text, uint64_t limit = kLimit) {
  uint64_t budget = limit;
  auto source = Unpack(std::make_unique<TextSource>(text), budget);
  return source.ok() ? ReadWhole(**source, kLimit) : source.status();
}

TEST(UnpackTest, WhatIsNotPackedStaysAsItIs) {
  EXPECT_THAT(Unpacked("plain text"), IsOkAndHolds("plain text"));
  EXPECT_THAT(Unpacked("ab"), IsOkAndHolds("ab"));
  EXPECT_THAT(Unpacked(""), IsOkAndHolds(""));
}

TEST(UnpackTest, GzipIsReadThroughAllItsStreams) {
  const std::string large(200'000, 'x');
  EXPECT_THAT(Unpacked(Gzip("one ") + Gzip(large) + Gzip("")), IsOkAndHolds("one " + large));
  EXPECT_THAT(Unpacked(Gzip("one") + std::string(512, '\0')), IsOkAndHolds("one"));
}

TEST(UnpackTest, BrokenAndCutOffGzipIsAnError) {
  const std::string packed = Gzip("some text that is long enough");
  EXPECT_THAT(Unpacked(packed.substr(0, packed.size() - 6)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too early")));
  EXPECT_THAT(Unpacked(packed.substr(0, 10) + std::string(20, '\xff')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("corrupt")));
}

TEST(UnpackTest, NoMoreThanTheLimitComesOut) {
  EXPECT_THAT(Unpacked(Gzip(std::string(5000, 'x')), 4000),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("the uncompressed")));
}

TEST(UnpackTest, ZstdIsReadThroughAllItsFrames) {
  const std::string large(300'000, 'x');
  EXPECT_THAT(Unpacked(Zstd("one ") + Zstd(large) + Zstd("")), IsOkAndHolds("one " + large));
  const std::string skipped("\x50\x2a\x4d\x18\x02\x00\x00\x00zz", 10);
  EXPECT_THAT(Unpacked(skipped + Zstd("two")), IsOkAndHolds("two"));
  EXPECT_THAT(Unpacked(Zstd("three") + std::string(512, '\0')), IsOkAndHolds("three"));
}

TEST(UnpackTest, ZstdThatFillsItsReaderComesWhole) {
  const std::string text(size_t{3} << 14U, 'y');  // ReadWhole takes pieces of 16 KiB
  EXPECT_THAT(Unpacked(Zstd(text)), IsOkAndHolds(text));
}

TEST(UnpackTest, BrokenAndCutOffZstdIsAnError) {
  const std::string packed = Zstd("some text that is long enough");
  EXPECT_THAT(Unpacked(packed.substr(0, packed.size() - 6)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too early")));
  EXPECT_THAT(Unpacked(packed.substr(0, 4) + std::string(40, '\xff')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("corrupt")));
}

// Comes in these parts, and no part with the next.
class InParts final : public ByteSource {
 public:
  explicit InParts(std::vector<std::string> parts) : parts_(std::move(parts)) {}

  StatusOr<size_t> Read(std::span<char> out) override {
    if (next_ == parts_.size()) {
      return 0U;
    }
    return parts_[next_++].copy(out.data(), out.size());
  }
  Status Skip(uint64_t count) override { return SkipByReading(*this, count); }

 private:
  std::vector<std::string> parts_;
  size_t next_ = 0;
};

TEST(UnpackTest, FillingAfterTheLastStreamIsLeftOut) {
  for (const std::string& packed : {Gzip("one"), Zstd("one")}) {
    for (const char* filling : {"\n", "\n\n", "abc", "\n\n\n\n", "12345", "\x1f", "\x28\xb5\x2f"}) {
      EXPECT_THAT(Unpacked(packed + filling), IsOkAndHolds("one")) << filling;
      uint64_t budget = kLimit;
      auto source =
          Unpack(std::make_unique<InParts>(std::vector{packed.substr(0, 4), packed.substr(4),
                                                       std::string(filling), std::string("\n")}),
                 budget);
      ASSERT_OK(source);
      EXPECT_THAT(ReadWhole(**source, kLimit), IsOkAndHolds("one")) << filling;
    }
  }
}

TEST(UnpackTest, AFurtherStreamMayComeByteByByteAndMustBeWhole) {
  for (const std::string& packed : {Gzip("one"), Zstd("one")}) {
    std::vector<std::string> bytes = {packed.substr(0, 4), packed.substr(4)};
    for (const char byte : packed) {
      bytes.emplace_back(1, byte);
    }
    uint64_t budget = kLimit;
    auto source = Unpack(std::make_unique<InParts>(bytes), budget);
    ASSERT_OK(source);
    EXPECT_THAT(ReadWhole(**source, kLimit), IsOkAndHolds("oneone"));
    EXPECT_THAT(Unpacked(packed + packed.substr(0, 5)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("too early")));
    EXPECT_THAT(Unpacked(packed + packed.substr(0, 4) + std::string(40, '\xff')),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("corrupt")));
  }
}

TEST(UnpackTest, OneBudgetServesAll) {
  uint64_t budget = 5000;
  for (const std::string& packed : {Gzip(std::string(3000, 'x')), Zstd(std::string(1500, 'x'))}) {
    auto source = Unpack(std::make_unique<TextSource>(packed), budget);
    ASSERT_OK(source);
    EXPECT_OK(ReadWhole(**source, 5000));
  }
  EXPECT_EQ(budget, 500U);
  const std::string packed = Zstd(std::string(501, 'x'));
  auto source = Unpack(std::make_unique<TextSource>(packed), budget);
  ASSERT_OK(source);
  EXPECT_THAT(ReadWhole(**source, 5000),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("the uncompressed")));
}

TEST(GunzipTest, GivesBackWhatWasPacked) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "CONFIG_OPTION_" + std::to_string(i) + "=y\n";
  }
  EXPECT_THAT(Gunzip(Gzip(text), kLimit), IsOkAndHolds(text));
  EXPECT_THAT(Gunzip(Gzip(""), kLimit), IsOkAndHolds(std::string()));
}

TEST(GunzipTest, StopsAtTheLimit) {
  EXPECT_THAT(Gunzip(Gzip(std::string(100'000, 'a')), 99'999),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("99999")));
  EXPECT_THAT(Gunzip(Gzip(std::string(100'000, 'a')), 100'000), IsOk());
}

TEST(GunzipTest, RefusesWhatIsDamagedOrCutOff) {
  const std::string whole = Gzip(std::string(1000, 'x') + "end");
  EXPECT_THAT(Gunzip("CONFIG_SMP=y\n", kLimit), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(Gunzip("", kLimit), StatusIs(StatusCode::kInvalidArgument));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(Gunzip(whole.substr(0, length), kLimit), StatusIs(StatusCode::kInvalidArgument))
        << length;
  }
}

TEST(ReadWholeTest, TooManyBytesAreAnError) {
  TextSource source("12345");
  EXPECT_THAT(ReadWhole(source, 4).status(), StatusIs(StatusCode::kOutOfRange, HasSubstr("4")));
}

}  // namespace
}  // namespace kgpu::compress
