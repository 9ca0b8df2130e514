#include "src/platform/base/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string_view> kProfiles = {
    "16xA100", "4xT4", "8xA100-SXM4-80GB", "8xA100-mig", "8xB200", "8xH100-SXM5-80GB", "none"};

TEST(SuggestTest, WhatBeginsWithTheWordComesBeforeWhatIsNear) {
  EXPECT_THAT(Suggest("8xA100", kProfiles), ElementsAre("8xA100-SXM4-80GB", "8xA100-mig"));
  EXPECT_THAT(Suggest("8xb", kProfiles), ElementsAre("8xB200"));
}

TEST(SuggestTest, ElseTheNearest) {
  EXPECT_THAT(Suggest("8xA100-SMX4-80GB", kProfiles), ElementsAre("8xA100-SXM4-80GB"));
  EXPECT_THAT(Suggest("plna", {"plan", "status"}), ElementsAre("plan"));
}

TEST(SuggestTest, ElseWhatSharesTheLongestBeginning) {
  EXPECT_THAT(Suggest("8xA100-PCIE-40G", kProfiles), ElementsAre("8xA100-SXM4-80GB", "8xA100-mig"));
  EXPECT_THAT(Suggest("8xH100-PCIe", kProfiles), ElementsAre("8xH100-SXM5-80GB"));
}

TEST(SuggestTest, DashesInFrontDoNotCount) {
  const std::vector<std::string_view> flags = {"--host-root", "--output", "--help"};
  EXPECT_THAT(Suggest("--out", flags), ElementsAre("--output"));
  EXPECT_THAT(Suggest("-host", flags), ElementsAre("--host-root"));
  EXPECT_THAT(Suggest("--teapot", flags), IsEmpty());
  EXPECT_THAT(Suggest("--", flags), IsEmpty());
}

TEST(SuggestTest, NothingWhereNothingOrTooMuchIsLikeIt) {
  EXPECT_THAT(Suggest("teapot", kProfiles), IsEmpty());
  EXPECT_THAT(Suggest("", kProfiles), IsEmpty());
  EXPECT_THAT(Suggest("ab", {"ab1", "ab2", "ab3", "ab4", "ab5", "ab6"}), IsEmpty());
}

TEST(SuggestTest, IsPrintedAsAQuestion) {
  EXPECT_EQ(DidYouMean({}), "");
  EXPECT_EQ(DidYouMean({"a"}), "did you mean a?");
  EXPECT_EQ(DidYouMean({"a", "b"}, "\""), "did you mean \"a\" or \"b\"?");
  EXPECT_EQ(DidYouMean({"a", "b", "c"}), "did you mean a, b or c?");
}

}  // namespace
}  // namespace kgpu
