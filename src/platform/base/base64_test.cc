#include "src/platform/base/base64.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu {
namespace {

TEST(Base64Test, WritesAndReads) {
  const struct {
    std::string plain;
    std::string text;
  } kCases[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"},
                {std::string("\0\xff\xfe", 3), "AP/+"}};
  for (const auto& c : kCases) {
    EXPECT_EQ(EncodeBase64(c.plain), c.text);
    EXPECT_THAT(DecodeBase64(c.text), IsOkAndHolds(c.plain));
  }
  EXPECT_THAT(DecodeBase64("Zm9v\nYmFy \t\r\n"), IsOkAndHolds("foobar"));
}

TEST(Base64Test, RoundTripsEveryLength) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    EXPECT_THAT(DecodeBase64(EncodeBase64(bytes)), IsOkAndHolds(bytes)) << i;
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Base64Test, RefusesWhatIsNone) {
  for (const std::string text :
       {"Z", "Zg", "Zg=", "Zg===", "Zm9vY", "Z=g=", "Zm9v=", "Zm9-", "!", "Y*I=", "====", "a b"}) {
    EXPECT_THAT(DecodeBase64(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace kgpu
