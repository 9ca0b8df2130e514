#include "src/platform/base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu {
namespace {

using ::testing::ElementsAre;

TEST(StringsTest, TrimRemovesBlanksAtBothEnds) {
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
}

TEST(StringsTest, SplitKeepsEmptyPieces) {
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(StringsTest, WordsSkipRunsOfBlanks) {
  EXPECT_THAT(Words("  nvidia\t 1 "), ElementsAre("nvidia", "1"));
  EXPECT_THAT(Words(""), ElementsAre());
}

TEST(StringsTest, ParseUintTakesOnlyWholeNumbers) {
  EXPECT_EQ(ParseUint("42"), 42u);
  EXPECT_EQ(ParseUint("0x10de", 16), 0x10deu);
  EXPECT_EQ(ParseUint("10DE", 16), 0x10deu);
  EXPECT_EQ(ParseUint("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", "1 ", "4x", "18446744073709551616", "0x"}) {
    EXPECT_EQ(ParseUint(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(ParseUint("0x", 16), std::nullopt);
}

TEST(StringsTest, NearestOffersOnlyWhatIsNear) {
  const std::vector<std::string_view> keys = {"replicas", "resource", "rename"};
  EXPECT_EQ(Nearest("replica", keys), "replicas");
  EXPECT_EQ(Nearest("Resuorce", keys), "resource");
  EXPECT_EQ(Nearest("colour", keys), std::nullopt);
  EXPECT_EQ(Nearest("", {}), std::nullopt);
  EXPECT_EQ(Nearest("renmae", keys), "rename");
}

TEST(StringsTest, NearestCountsExchangedNeighboursAsOneEdit) {
  EXPECT_EQ(Nearest("plna", {"plan", "status"}), "plan");
  EXPECT_EQ(Nearest("plxx", {"plan", "status"}), std::nullopt);
}

TEST(StringsTest, PrintableEscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("a\x1b[2J\n"), "a\\x1b[2J\\x0a");
  EXPECT_EQ(Printable("abcdef", 3), "abc…");
}

}  // namespace
}  // namespace kgpu
