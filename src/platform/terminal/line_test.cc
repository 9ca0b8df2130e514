#include "src/platform/terminal/line.h"

#include <gtest/gtest.h>

namespace kgpu::terminal {
namespace {

constexpr Look kColored = {.is_utf8 = true, .has_color = true};
constexpr Look kPlainLook = {.is_utf8 = true, .has_color = false};
constexpr Look kAscii = {.is_utf8 = false, .has_color = false};

TEST(LineTest, LookFollowsTheFirstVariableThatIsSet) {
  EXPECT_TRUE(LookOf({"LANG=C.UTF-8"}, false).is_utf8);
  EXPECT_TRUE(LookOf({"LANG=C", "LC_ALL=ko_KR.utf8"}, false).is_utf8);
  EXPECT_FALSE(LookOf({"LANG=C.UTF-8", "LC_CTYPE=C"}, false).is_utf8);
  EXPECT_TRUE(LookOf({"LANG=C.UTF-8", "LC_ALL="}, false).is_utf8);
  EXPECT_FALSE(LookOf({}, false).is_utf8);
  EXPECT_TRUE(LookOf({}, true).has_color);
}

TEST(LineTest, NamesFromOutsideSendNoEscapeSequences) {
  EXPECT_EQ(Safe("a\x1b[2Jb\x07", kColored), "a\\x1b[2Jb\\x07");
  EXPECT_EQ(Safe("a\nb\xff", kColored), "a\\x0ab\\xff");
  EXPECT_EQ(Safe("训练", kColored), "训练");
  EXPECT_EQ(Safe("训练", kAscii), "??");
  EXPECT_EQ(Safe("\u202e", kColored), "\\xe2\\x80\\xae");
}

TEST(LineTest, FitsIntoColumns) {
  EXPECT_EQ(Fit("ab", 4, kColored), "ab  ");
  EXPECT_EQ(Fit("ab", 4, kColored, Align::kRight), "  ab");
  EXPECT_EQ(Fit("abcdef", 4, kColored), "abc…");
  EXPECT_EQ(Fit("abcdef", 4, kAscii), "abc~");
  EXPECT_EQ(Fit("训练训练", 4, kColored), "训… ");
  EXPECT_EQ(Fit("abc", 0, kColored), "");
}

TEST(LineTest, NamesKeepBothEnds) {
  EXPECT_EQ(FitName("team-a/train-6d4f8c9b7-x2x4z", 20, kColored), "team-a/train-…-x2x4z");
  EXPECT_EQ(FitName("team-a/train-6d4f8c9b7-x2x4z", 20, kAscii), "team-a/train-~-x2x4z");
  EXPECT_EQ(FitName("a/b", 5, kColored), "a/b  ");
  EXPECT_EQ(FitName("abcdefgh", 4, kColored), "abc…");
  EXPECT_EQ(FitName("训练训练训练", 9, kColored), "训练训…练");
}

TEST(LineTest, IsCutWithAMarkInTheLastColumn) {
  Line line("abc");
  line.Add("def", {.color = Color::kRed});
  EXPECT_EQ(line.FitTo(8, kColored).text(), "abcdef  ");
  EXPECT_EQ(line.FitTo(6, kColored).text(), "abcdef");
  EXPECT_EQ(line.FitTo(5, kColored).text(), "abcd…");
  EXPECT_EQ(line.FitTo(3, kColored).text(), "ab…");
  EXPECT_EQ(line.FitTo(4, kColored).width(), 4U);
}

TEST(LineTest, RendersStylesOnlyWithColor) {
  Line line("a");
  line.Add("b", {.color = Color::kRed, .is_bold = true});
  line.Add("c  ");
  EXPECT_EQ(Render(line, kColored), "a\x1b[0;1;31mb\x1b[0mc");
  EXPECT_EQ(Render(line, kPlainLook), "abc");
  EXPECT_EQ(Render(Line("x ").Reversed(), kColored), "\x1b[0;7mx \x1b[0m");
  EXPECT_EQ(Render(Line("x ").Reversed(), kPlainLook), "x");
}

}  // namespace
}  // namespace kgpu::terminal
