#include "src/platform/base/utf8.h"

#include <gtest/gtest.h>

namespace kgpu {
namespace {

TEST(CutUtf8Test, EndsWithinNoCharacter) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("abcd", 3), "abc");
  EXPECT_EQ(CutUtf8("aäb", 2), "a");
  EXPECT_EQ(CutUtf8("aäb", 3), "aä");
  EXPECT_EQ(CutUtf8("\x80\x80\x80", 2), "") << "no text at all";
}

}  // namespace
}  // namespace kgpu
