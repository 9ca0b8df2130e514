#include "src/platform/terminal/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::terminal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Key Typed(const char* text) {
  return {.text = text};
}

Key Pressed(KeyKind kind) {
  return {.kind = kind};
}

TEST(KeysTest, ReadsCharactersAndNamedKeys) {
  KeyReader reader;
  EXPECT_THAT(reader.Feed("aZ/"), ElementsAre(Typed("a"), Typed("Z"), Typed("/")));
  EXPECT_THAT(
      reader.Feed("\r\x7f\t"),
      ElementsAre(Pressed(KeyKind::kEnter), Pressed(KeyKind::kBackspace), Pressed(KeyKind::kTab)));
  EXPECT_THAT(
      reader.Feed("\x1b[A\x1bOB\x1b[5~\x1b[1;5H"),
      ElementsAre(Pressed(KeyKind::kUp), Pressed(KeyKind::kDown), Pressed(KeyKind::kPageUp)));
  EXPECT_FALSE(reader.is_incomplete());
}

TEST(KeysTest, SequencesMayArriveInPieces) {
  KeyReader reader;
  EXPECT_THAT(reader.Feed("\x1b"), IsEmpty());
  EXPECT_TRUE(reader.is_incomplete());
  EXPECT_THAT(reader.Feed("["), IsEmpty());
  EXPECT_THAT(reader.Feed("Bx"), ElementsAre(Pressed(KeyKind::kDown), Typed("x")));
  EXPECT_THAT(reader.Feed("\xed\x95"), IsEmpty());
  EXPECT_THAT(reader.Feed("\x99"), ElementsAre(Typed("학")));
}

TEST(KeysTest, AnEscapeAloneIsAKeyOnceNothingFollows) {
  KeyReader reader;
  EXPECT_THAT(reader.Feed("\x1b"), IsEmpty());
  EXPECT_THAT(reader.Flush(), ElementsAre(Pressed(KeyKind::kEscape)));
  EXPECT_THAT(reader.Flush(), IsEmpty());
  EXPECT_THAT(reader.Feed("\x1bq"), ElementsAre(Pressed(KeyKind::kEscape), Typed("q")));
}

TEST(KeysTest, SkipsWhatIsNoKey) {
  KeyReader reader;
  EXPECT_THAT(reader.Feed("\x1b[99z\x01\xff\x1b[20~a"), ElementsAre(Typed("a")));
}

}  // namespace
}  // namespace kgpu::terminal
