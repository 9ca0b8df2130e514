#include "src/kube/api/base64.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::kube {
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

TEST(Base64Test, RefusesWhatIsNone) {
  for (const std::string text :
       {"Z", "Zg", "Zg=", "Zg===", "Zm9vY", "Z=g=", "Zm9v=", "Zm9-", "!"}) {
    EXPECT_THAT(DecodeBase64(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace kgpu::kube
