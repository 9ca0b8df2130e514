#include "src/cluster/policy/label_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::policy {
namespace {

using ::testing::ElementsAre;

const LabelMap kA100 = {{"gpu", "a100"}, {"zone", "a"}};

TEST(LabelSelectorTest, AnEmptyOneMatchesEverything) {
  EXPECT_TRUE(LabelSelector{}.Matches({}));
  EXPECT_TRUE(LabelSelector{}.Matches(kA100));
}

TEST(LabelSelectorTest, EveryLabelMustHaveItsValue) {
  EXPECT_TRUE((LabelSelector{.labels = {{"gpu", "a100"}}}.Matches(kA100)));
  EXPECT_FALSE((LabelSelector{.labels = {{"gpu", "h100"}}}.Matches(kA100)));
  EXPECT_FALSE((LabelSelector{.labels = {{"gpu", "a100"}, {"rack", "1"}}}.Matches(kA100)));
}

TEST(LabelSelectorTest, TermsFollowKubernetes) {
  struct Case {
    LabelTerm term;
    bool matches;
  };
  using enum LabelOperator;
  const std::vector<Case> cases = {
      {{"gpu", kIn, {"h100", "a100"}}, true}, {{"gpu", kIn, {"h100"}}, false},
      {{"rack", kIn, {""}}, false},           {{"gpu", kNotIn, {"a100"}}, false},
      {{"gpu", kNotIn, {"h100"}}, true},      {{"rack", kNotIn, {"1"}}, true},
      {{"gpu", kExists, {}}, true},           {{"rack", kExists, {}}, false},
      {{"gpu", kDoesNotExist, {}}, false},    {{"rack", kDoesNotExist, {}}, true},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(LabelSelector{.terms = {cases[i].term}}.Matches(kA100), cases[i].matches) << i;
  }
}

TEST(LabelSelectorTest, NamesTheKeysThatDecide) {
  std::set<std::string, std::less<>> keys;
  LabelSelector{.labels = {{"gpu", "a100"}}, .terms = {{.key = "zone"}}}.AddKeys(keys);
  EXPECT_THAT(keys, ElementsAre("gpu", "zone"));
}

}  // namespace
}  // namespace kgpu::policy
