#include "src/image/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "src/image/test_tar.h"
#include "testing/status_matchers.h"

namespace kgpu::image {
namespace {

using ::testing::HasSubstr;

StatusOr<std::string> Unpacked(const std::string& text, uint64_t limit = 1 << 20) {
  auto source = Unpack(std::make_unique<TextSource>(text), limit);
  return source.ok() ? ReadWhole(**source, size_t{1} << 20) : source.status();
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
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("broken")));
}

TEST(UnpackTest, NoMoreThanTheLimitComesOut) {
  EXPECT_THAT(Unpacked(Gzip(std::string(5000, 'x')), 4000),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("more bytes")));
}

TEST(UnpackTest, ZstdIsNamed) {
  EXPECT_THAT(Unpacked("\x28\xb5\x2f\xfd....").status(),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("zstd")));
}

TEST(ReadWholeTest, TooManyBytesAreAnError) {
  TextSource source("12345");
  EXPECT_THAT(ReadWhole(source, 4).status(), StatusIs(StatusCode::kOutOfRange, HasSubstr("4")));
}

}  // namespace
}  // namespace kgpu::image
