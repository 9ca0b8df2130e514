#include "src/container/engine/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::engine {
namespace {

TEST(UnifiedDiffTest, IsEmptyForEqualTexts) {
  EXPECT_EQ(UnifiedDiff("/f", "a\n", "a\n"), "");
}

TEST(UnifiedDiffTest, ShowsThreeLinesAround) {
  EXPECT_EQ(UnifiedDiff("/f", "1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nx\n6\n7\n8\n"),
            "--- /f\n+++ /f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
}

TEST(UnifiedDiffTest, TakesCloseChangesTogetherAndFarOnesApart) {
  std::string before;
  for (int i = 0; i < 30; ++i) {
    before += std::to_string(i) + "\n";
  }
  std::string after = before;
  after.replace(after.find("\n5\n"), 3, "\nfive\n");
  after.replace(after.find("\n10\n"), 4, "\nten\n");
  after.replace(after.find("\n25\n"), 4, "\nmany\n");

  const std::string diff = UnifiedDiff("/f", before, after);

  EXPECT_THAT(diff, ::testing::HasSubstr("@@ -3,12 +3,12 @@\n 2\n"));
  EXPECT_THAT(diff, ::testing::HasSubstr("@@ -23,7 +23,7 @@\n 22\n"));
}

TEST(UnifiedDiffTest, NamesAFileThatWasNotThere) {
  EXPECT_EQ(UnifiedDiff("/f", std::nullopt, "a\n"), "--- /dev/null\n+++ /f\n@@ -0,0 +1 @@\n+a\n");
  EXPECT_EQ(UnifiedDiff("/f", "a\nb\n", std::nullopt),
            "--- /f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n");
}

TEST(UnifiedDiffTest, TellsOfAMissingNewline) {
  EXPECT_EQ(UnifiedDiff("/f", "{}", "{}\n"),
            "--- /f\n+++ /f\n@@ -1 +1 @@\n-{}\n\\ No newline at end of file\n+{}\n");
}

TEST(UnifiedDiffTest, InsertsBetweenEqualLines) {
  EXPECT_EQ(UnifiedDiff("/f", "a\na\n", "a\nb\na\n"),
            "--- /f\n+++ /f\n@@ -1,2 +1,3 @@\n a\n+b\n a\n");
}

TEST(UnifiedDiffTest, SurvivesLargeTexts) {
  std::string before = "first\n";
  std::string after = "last\n";
  for (int i = 0; i < 3000; ++i) {
    before += std::to_string(i) + " before\n";
    after += std::to_string(i) + " after\n";
  }

  EXPECT_THAT(UnifiedDiff("/f", before, after), ::testing::HasSubstr("@@ -1,3001 +1,3001 @@"));
}

}  // namespace
}  // namespace kgpu::engine
