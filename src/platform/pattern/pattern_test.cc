#include "src/platform/pattern/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu {
namespace {

Pattern CompiledPattern(std::string_view text) {
  auto pattern = Pattern::Compile(text);
  EXPECT_OK(pattern);
  return *std::move(pattern);
}

TEST(PatternTest, MatchesAnywhereUnlessAnchored) {
  EXPECT_TRUE(CompiledPattern("").Matches(""));
  EXPECT_TRUE(CompiledPattern("").Matches("a"));
  EXPECT_TRUE(CompiledPattern("b").Matches("abc"));
  EXPECT_FALSE(CompiledPattern("^b").Matches("abc"));
  EXPECT_FALSE(CompiledPattern("b$").Matches("abc"));
  EXPECT_FALSE(CompiledPattern("^b$").Matches("abc"));
  EXPECT_TRUE(CompiledPattern("^$").Matches(""));
  EXPECT_FALSE(CompiledPattern("^$").Matches("a"));
  EXPECT_FALSE(CompiledPattern("a$").Matches("a\n"));
}

// The comparison of plain texts must give the same result as the regular expression.
TEST(PatternTest, PlainTextsMeanWhatTheyMeanAsExpressions) {
  for (const std::string text : {"", "a", "b", "ab", "ba", "aba", "bab"}) {
    for (const std::string begin : {"", "^"}) {
      for (const std::string end : {"", "$"}) {
        const Pattern plain = CompiledPattern(fmt::format("{}{}{}", begin, text, end));
        const Pattern expression = CompiledPattern(fmt::format("{}(?:{}){}", begin, text, end));
        for (const std::string input : {"", "a", "b", "ab", "ba", "aab", "abab", "b\n"}) {
          EXPECT_EQ(plain.Matches(input), expression.Matches(input))
              << plain.text() << " of \"" << input << '"';
        }
      }
    }
  }
}

TEST(PatternTest, FindsAndReplaces) {
  EXPECT_EQ(CompiledPattern("[0-9]+").Find("ab12c3"), "12");
  EXPECT_EQ(CompiledPattern("[0-9]+").Find("abc"), "");
  EXPECT_EQ(CompiledPattern("^ab").Find("abab"), "ab");
  EXPECT_EQ(CompiledPattern("[ab]").Replace("xaybz", "\\1$1"), "x\\1$1y\\1$1z");
}

TEST(PatternTest, TakesTimeLinearInItsInput) {
  const Pattern pattern = CompiledPattern("(a*)*b");
  EXPECT_FALSE(pattern.Matches(std::string(100'000, 'a')));
}

TEST(PatternTest, EqualsByItsText) {
  EXPECT_EQ(CompiledPattern("a"), CompiledPattern("a"));
  EXPECT_FALSE(CompiledPattern("a") == CompiledPattern("b"));
}

}  // namespace
}  // namespace kgpu
