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
  EXPECT_EQ(Printable("\x7f"), "\\x7f");
  EXPECT_EQ(Printable("a\u009b2J"), "a\\xc2\\x9b2J") << "a control of two bytes";
  EXPECT_EQ(Printable("file\u202Egpj.sh"), "file\\xe2\\x80\\xaegpj.sh");
  for (const char* mark : {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u2066",
                           "\u2069", "\ufeff", "\u0080", "\u009f"}) {
    EXPECT_EQ(Printable(mark).front(), '\\') << Printable(mark);
  }
}

TEST(StringsTest, PrintableKeepsTextOfEveryLanguage) {
  for (const char* text :
       {"<OpenFx가 설치된 노드 IP:31113>", "节点没有可用的 GPU", "ノード", "Gerät", "узел",
        "کارت\u200cها", "नोड", "🚀", "\u00a0", "\u2027", "\u202f", "\u2065", "\u206a"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(StringsTest, PrintableEscapesWhatIsNotText) {
  EXPECT_EQ(Printable("\xff"
                      "a\xc3"),
            "\\xffa\\xc3");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half a surrogate pair";
  EXPECT_EQ(Printable("\xc1\x81"), "\\xc1\\x81") << "an overlong A";
}

TEST(StringsTest, PrintableCutsBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 3), "abc…");
  EXPECT_EQ(Printable("가나", 4), "가…");
  EXPECT_EQ(Printable("\x80\x80\x80\x80\x80\x80", 5), "\\x80\\x80\\x80\\x80\\x80…");
}

}  // namespace
}  // namespace kgpu
