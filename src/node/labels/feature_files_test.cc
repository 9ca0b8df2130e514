#include "src/node/labels/feature_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "src/platform/base/time_text.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::labels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

WallTime TimeOf(std::string_view text) {
  const auto time = ParseTime(text);
  EXPECT_OK(time);
  return time.value_or(WallTime());
}

FileFeatures Parsed(std::string_view text) {
  return ParseFeatureFile(text, "f", TimeOf("2026-06-01T00:00:00Z"));
}

TEST(FeatureFileTest, TakesKeysWithAndWithoutValues) {
  const FileFeatures file = Parsed(
      "# a comment\n\nvendor.io/a\n  vendor.io/b=1.2 \r\nplain=x\nvendor.io/c=\nvendor.io/b=2\n");
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_THAT(file.labels, ElementsAre(Pair("feature.node.kubernetes.io/plain", "x"),
                                       Pair("vendor.io/a", "true"), Pair("vendor.io/b", "2"),
                                       Pair("vendor.io/c", "")));
  EXPECT_THAT(file.raw_features, ElementsAre(Pair("plain", "x"), Pair("vendor.io/a", "true"),
                                             Pair("vendor.io/b", "2"), Pair("vendor.io/c", "")));
  EXPECT_EQ(file.raw_labels, file.raw_features);
}

TEST(FeatureFileTest, DirectivesCountForTheNextLine) {
  const FileFeatures file = Parsed(
      "# +no-feature\nv.io/label-only=a\nv.io/both=b\n# +no-label\nfeature-only=c d\n"
      "v.io/twice=1\n# +no-label\nv.io/twice=2\n");
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_THAT(file.labels, ElementsAre(Pair("v.io/both", "b"), Pair("v.io/label-only", "a")));
  EXPECT_THAT(file.raw_features, ElementsAre(Pair("feature-only", "c d"), Pair("v.io/both", "b"),
                                             Pair("v.io/twice", "2")));
}

TEST(FeatureFileTest, LinesExpireByTheWallClock) {
  const FileFeatures file = Parsed(
      "v.io/always=1\n"
      "# +expiry-time=2012-07-28T11:22:33Z\nv.io/old=1\n"
      "# +expiry-time=2080-07-28T11:22:33Z\nv.io/late=1\n"
      "# +expiry-time=2070-07-28T13:22:33+02:00\nv.io/soon=1\n"
      "# +expiry-time=2026-06-01T00:00:00Z\nv.io/now=1\n");
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_THAT(file.labels, ElementsAre(Pair("v.io/always", "1"), Pair("v.io/late", "1"),
                                       Pair("v.io/now", "1"), Pair("v.io/soon", "1")));
  const WallTime first_expiry = TimeOf("2026-06-01T00:00:00Z");
  EXPECT_EQ(file.next_expiry, first_expiry);
  EXPECT_EQ(ParseFeatureFile("# +expiry-time=2030-01-01T00:00:00Z\nv.io/a", "f", first_expiry)
                .next_expiry,
            TimeOf("2030-01-01T00:00:00Z"));
}

TEST(FeatureFileTest, BadLinesAreReportedAndOthersUsed) {
  const FileFeatures file = Parsed(
      "v.io/good=1\n"
      "v.io/bad value=1\n"
      "v.io/value=a b\n"
      "=x\n"
      "# +expiry-time\n"
      "# +expiry-time=tomorrow\n"
      "# +no-labels\n"
      "#+no-label\n"
      "v.io/also=1\n");
  EXPECT_THAT(file.labels, ElementsAre(Pair("v.io/also", "1"), Pair("v.io/good", "1")));
  EXPECT_THAT(
      file.problems,
      ElementsAre(HasSubstr("f:2: invalid label: \"v.io/bad value\""),
                  HasSubstr("f:3: invalid label v.io/value: \"a b\""),
                  HasSubstr("f:4: \"=x\" has no key"), HasSubstr("f:5: must be \"# +expiry"),
                  HasSubstr("f:6: expiry-time: "),
                  HasSubstr("f:7: unknown directive \"no-labels\", did you mean \"no-label\"?"),
                  HasSubstr("f:8: \"#+no-label\" is a comment")));
}

TEST(FeatureFileTest, ManyBadLinesAreCounted) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "=\n";
  }
  const FileFeatures file = Parsed(text);
  EXPECT_THAT(file.problems, SizeIs(11));
  EXPECT_EQ(file.problems.back(), "f: and 90 more");
}

class FeatureFolderTest : public testing::Test {
 protected:
  FeatureFolderTest() : root_(sys::Root::Open(dir_.path()).value()) {}

  FileFeatures Read() const {
    return ReadFeatureFiles(root_, "features.d", TimeOf("2026-06-01T00:00:00Z"));
  }

  TempDir dir_;
  sys::Root root_;
};

TEST_F(FeatureFolderTest, LaterFilesWinAndHiddenOnesAndOursAreLeftOut) {
  dir_.WriteFile("features.d/a", "v.io/x=a\nv.io/only-a=1\n");
  dir_.WriteFile("features.d/b", "v.io/x=b\n# +expiry-time=2027-01-01T00:00:00Z\nv.io/e\n");
  dir_.WriteFile("features.d/.hidden", "v.io/hidden=1\n");
  dir_.WriteFile("features.d/kgpu", "v.io/own=1\n");
  dir_.MakeDir("features.d/folder");
  dir_.Symlink("/outside", "features.d/link");
  const FileFeatures files = Read();
  EXPECT_THAT(files.labels,
              ElementsAre(Pair("v.io/e", "true"), Pair("v.io/only-a", "1"), Pair("v.io/x", "b")));
  EXPECT_EQ(files.next_expiry, TimeOf("2027-01-01T00:00:00Z"));
  EXPECT_THAT(files.problems, ElementsAre(HasSubstr("features.d/link")));
  EXPECT_EQ(files.Features().attributes.at("local.feature").at("v.io/x"), "b");
  EXPECT_EQ(files.Features().attributes.at("local.label").size(), 3U);
}

TEST_F(FeatureFolderTest, FilesThatAreTooLargeAreLeftOutWhole) {
  dir_.WriteFile("features.d/big", "v.io/a=1\n" + std::string(kMaxFeatureFileBytes, '#'));
  const FileFeatures files = Read();
  EXPECT_THAT(files.labels, IsEmpty());
  EXPECT_THAT(files.problems, ElementsAre(HasSubstr("features.d/big")));
}

TEST_F(FeatureFolderTest, AFolderThatIsMissingIsEmpty) {
  EXPECT_EQ(Read(), FileFeatures{});
  EXPECT_EQ(Read().Features().attributes.count("local.label"), 1U);
}

TEST_F(FeatureFolderTest, OurFileIsWrittenOnlyWhenItChanges) {
  dir_.MakeDir("features.d");
  const std::map<std::string, std::string> labels = {{"nvidia.com/gpu.count", "8"}, {"v.io/a", ""}};
  EXPECT_THAT(WriteFeatureFile(root_, "features.d", labels), IsOkAndHolds(true));
  EXPECT_THAT(WriteFeatureFile(root_, "features.d", labels), IsOkAndHolds(false));
  EXPECT_EQ(ParseFeatureFile(dir_.ReadFile("features.d/kgpu"), "f", WallTime()).labels, labels);
  EXPECT_THAT(WriteFeatureFile(root_, "features.d", {}), IsOkAndHolds(true));
  EXPECT_OK(RemoveFeatureFile(root_, "features.d"));
  EXPECT_OK(RemoveFeatureFile(root_, "features.d"));
  EXPECT_FALSE(root_.Exists("features.d/kgpu"));
  EXPECT_OK(RemoveFeatureFile(root_, "none.d"));
  EXPECT_THAT(WriteFeatureFile(root_, "none.d", labels), StatusIs(StatusCode::kNotFound));
}

TEST_F(FeatureFolderTest, APlanOfTheFileChangesNothingUntilItIsApplied) {
  dir_.MakeDir("features.d");
  const auto written = PlanFeatureFile(root_, "features.d", {{"v.io/a", "1"}});
  ASSERT_OK(written);
  EXPECT_TRUE(written->HasChange());
  EXPECT_EQ(written->before, std::nullopt);
  EXPECT_FALSE(root_.Exists("features.d/kgpu"));
  EXPECT_OK(ApplyFeatureFile(root_, *written));
  EXPECT_EQ(dir_.ReadFile("features.d/kgpu"), written->after);

  const auto removed = PlanFeatureFileRemoval(root_, "features.d");
  ASSERT_OK(removed);
  EXPECT_EQ(removed->before, written->after);
  EXPECT_TRUE(root_.Exists("features.d/kgpu"));
  EXPECT_OK(ApplyFeatureFile(root_, *removed));
  EXPECT_FALSE(root_.Exists("features.d/kgpu"));
  EXPECT_FALSE(PlanFeatureFileRemoval(root_, "features.d")->HasChange());
}

TEST_F(FeatureFolderTest, AFileThatOthersWroteIsNeverTouched) {
  dir_.WriteFile("features.d/kgpu", "v.io/theirs=1\n");
  EXPECT_FALSE(IsOwnFeatureFile(root_, "features.d/kgpu"));
  EXPECT_THAT(WriteFeatureFile(root_, "features.d", {{"v.io/a", "1"}}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("remove it, or set")));
  EXPECT_THAT(RemoveFeatureFile(root_, "features.d"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("left unchanged")));
  EXPECT_EQ(dir_.ReadFile("features.d/kgpu"), "v.io/theirs=1\n");
}

TEST_F(FeatureFolderTest, WhatIsNoLabelIsNotWritten) {
  EXPECT_THAT(FeatureFileText({{"v.io/a", "1\nv.io/b=2"}}), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(FeatureFileText({{"# +no-label", "1"}}), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(FeatureFolderTest, MoreThanNfdReadsIsNotWritten) {
  std::map<std::string, std::string> labels;
  for (int i = 0; i < 1000; ++i) {
    labels[fmt::format("v.io/{}{:04}", std::string(59, 'x'), i)] = std::string(63, 'y');
  }
  EXPECT_THAT(
      WriteFeatureFile(root_, "features.d", labels),
      StatusIs(StatusCode::kOutOfRange, HasSubstr("NFD reads no feature file larger than")));
}

}  // namespace
}  // namespace kgpu::labels
