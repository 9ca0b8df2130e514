#include "src/functions/build/ignore_list.h"

#include <gmock/gmock.h>

#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::HasSubstr;

bool IsIgnored(std::string_view list, std::string_view path) {
  const auto parsed = IgnoreList::Parse(list);
  EXPECT_OK(parsed);
  return parsed.ok() && parsed->Matches(path);
}

TEST(IgnoreListTest, MatchesPathsAndWhatIsInFolders) {
  EXPECT_TRUE(IsIgnored("data", "data"));
  EXPECT_TRUE(IsIgnored("data/", "data/a/b"));
  EXPECT_TRUE(IsIgnored("/data/**", "data/a/b"));
  EXPECT_TRUE(IsIgnored("./src/*.o", "src/a.o"));
  EXPECT_FALSE(IsIgnored("*.o", "src/a.o"));
  EXPECT_TRUE(IsIgnored("**/*.o", "src/deep/a.o"));
  EXPECT_TRUE(IsIgnored("**/*.o", "a.o"));
  EXPECT_TRUE(IsIgnored("**/cache", "src/cache/x"));
  EXPECT_FALSE(IsIgnored("data", "database"));
}

TEST(IgnoreListTest, TheLastMatchingLineDecides) {
  constexpr std::string_view kList = "# models\n\n*.bin\n!keep.bin\n";
  EXPECT_TRUE(IsIgnored(kList, "other.bin"));
  EXPECT_FALSE(IsIgnored(kList, "keep.bin"));
  EXPECT_TRUE(IsIgnored("!keep.bin\n*.bin", "keep.bin"));
}

TEST(IgnoreListTest, RefusesWhatItCannotKeep) {
  EXPECT_THAT(IgnoreList::Parse("a\na/**/b"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 2")));
  EXPECT_THAT(IgnoreList::Parse("*a*a*a*a*a*a*b"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("stars")));
}

}  // namespace
}  // namespace kgpu::functions
