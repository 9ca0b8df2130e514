#include "src/platform/terminal/width.h"

#include <gtest/gtest.h>

namespace kgpu::terminal {
namespace {

TEST(WidthTest, CountsColumns) {
  EXPECT_EQ(TextWidth(""), 0U);
  EXPECT_EQ(TextWidth("python3"), 7U);
  EXPECT_EQ(TextWidth("▁▂█…·"), 5U);
  EXPECT_EQ(TextWidth("학습"), 4U);
  EXPECT_EQ(TextWidth("训练"), 4U);
  EXPECT_EQ(TextWidth("トレーニング"), 12U);
  EXPECT_EQ(TextWidth("e\u0301"), 1U);
  EXPECT_EQ(TextWidth("\U0001f680"), 2U);
  // A syllable of Hangul in three parts.
  EXPECT_EQ(TextWidth("\u1112\u1161\u11ab"), 2U);
}

TEST(WidthTest, CutsBetweenCharacters) {
  EXPECT_EQ(CutToWidth("abc", 2), "ab");
  EXPECT_EQ(CutToWidth("abc", 9), "abc");
  EXPECT_EQ(CutToWidth("训练x", 3), "训");
  EXPECT_EQ(CutToWidth("训练x", 0), "");
  EXPECT_EQ(CutToWidth("e\u0301f", 1), "e\u0301");
}

}  // namespace
}  // namespace kgpu::terminal
