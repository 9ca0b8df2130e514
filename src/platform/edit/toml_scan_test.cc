#include "src/platform/edit/toml_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::edit {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(TomlScanTest, KnowsNamesOfQuotedKeys) {
  const std::string_view text = R"("a\u00e9\"" . 'b\n'.c = 1)";
  const auto sections = ScanToml(text, "f");
  ASSERT_THAT(sections, IsOk());
  ASSERT_THAT(sections->front().entries, SizeIs(1));
  const std::vector<TomlName>& key = sections->front().entries.front().key;
  ASSERT_THAT(key, SizeIs(3));
  EXPECT_EQ(key[0].name, "a\xC3\xA9\"");
  EXPECT_EQ(key[1].name, "b\\n");
  EXPECT_EQ(Slice(text, key[1].raw), "'b\\n'");
}

TEST(TomlScanTest, FindsTheEndOfEveryKindOfString) {
  for (const std::string_view raw :
       {R"("a\"#]")", "'a\\'", "\"\"\"a\n\"x\"\"\"\"\"", "'''\n'a''b'''", "\"\"", "''"}) {
    const std::string text = fmt::format("a = {} # c\n", raw);
    const auto sections = ScanToml(text, "f");
    ASSERT_THAT(sections, IsOk());
    EXPECT_EQ(Slice(text, sections->front().entries.front().value.raw), raw);
  }
}

TEST(TomlScanTest, TakesABlankInADateAsPartOfIt) {
  const std::string_view text = "a = 1979-05-27 07:32:00  # x";
  const auto sections = ScanToml(text, "f");
  ASSERT_THAT(sections, IsOk());
  EXPECT_EQ(Slice(text, sections->front().entries.front().value.raw), "1979-05-27 07:32:00");
}

TEST(TomlScanTest, RefusesWhatHasNoEnd) {
  for (const std::string_view text : {"a = \"\"\"x\"\"", "a = [1,\n", "a = {b = 1", "[a", "[[a]",
                                      "a", "a =", "a = 'x\n'", "= 1"}) {
    EXPECT_THAT(ScanToml(text, "f"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("f:")))
        << text;
  }
}

TEST(TomlScanTest, HasLimits) {
  EXPECT_THAT(ScanToml("a = [[[1]]]\n", "f", {.depth = 3, .values = 99}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested deeper than 3 levels")));
  EXPECT_THAT(ScanToml("a = [1,2,3]\n", "f", {.depth = 9, .values = 4}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("more than 4 values")));
}

}  // namespace
}  // namespace kgpu::edit
