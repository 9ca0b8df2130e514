#include "src/functions/queue/header_text.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

TEST(HeaderTextTest, ReadsBackWhatWasWritten) {
  const http::Headers headers{{"Accept", "a/b: c"}, {"X-Empty", ""}, {"x", " blank "}, {"x", "2"}};
  const StatusOr<std::string> text = EncodeHeaders(headers);
  ASSERT_OK(text);
  EXPECT_EQ(*text, "Accept: a/b: c\nX-Empty: \nx:  blank \nx: 2\n");
  const StatusOr<http::Headers> again = DecodeHeaders(*text);
  ASSERT_OK(again);
  EXPECT_EQ(*again, headers);
}

TEST(HeaderTextTest, RefusesWhatWouldReadDifferently) {
  EXPECT_FALSE(EncodeHeaders({{"", "x"}}).ok());
  EXPECT_FALSE(EncodeHeaders({{"a:b", "x"}}).ok());
  EXPECT_FALSE(EncodeHeaders({{"a\nb", "x"}}).ok());
  EXPECT_FALSE(EncodeHeaders({{"a", "x\ny: z"}}).ok());
}

TEST(HeaderTextTest, RefusesLinesWithoutANameOrAnEnd) {
  for (const char* text : {"a: b", ": b\n", "ab\n", "a:b\n", "\n"}) {
    EXPECT_FALSE(DecodeHeaders(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kgpu::functions
