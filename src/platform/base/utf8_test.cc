#include "src/platform/base/utf8.h"

#include <gtest/gtest.h>

namespace kgpu {
namespace {

TEST(CountCharactersTest, CountsNoBytes) {
  EXPECT_EQ(CountCharacters(""), 0U);
  EXPECT_EQ(CountCharacters("a가ä🚀"), 4U);
}

TEST(CutUtf8Test, EndsWithinNoCharacter) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("abcd", 3), "abc");
  EXPECT_EQ(CutUtf8("aäb", 2), "a");
  EXPECT_EQ(CutUtf8("aäb", 3), "aä");
  EXPECT_EQ(CutUtf8("a🚀", 4), "a");
  EXPECT_EQ(CutUtf8("가", 2), "");
  EXPECT_EQ(CutUtf8("\x80\x80\x80\x80\x80\x80", 5), "\x80\x80\x80\x80\x80") << "no text at all";
}

}  // namespace
}  // namespace kgpu
