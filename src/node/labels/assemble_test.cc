#include "src/node/labels/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// Owns what RuleInput borrows.
struct Asked {
  features::FeatureSet features;
  std::vector<NodeClaims> own;
  std::vector<RuleSet> file_rules;
  FileFeatures files;
  std::vector<NodeFeature> foreign;
  std::vector<RuleSet> object_rules;
  std::vector<Pattern> own_allow;
  Filters filters;

  Assembled Run() const {
    return Assemble({.features = features,
                     .own = own,
                     .file_rules = file_rules,
                     .files = files,
                     .foreign = foreign,
                     .object_rules = object_rules,
                     .own_allow = own_allow,
                     .filters = filters});
  }
};

RuleSet Rules(std::string_view text, std::string_view name = "r.yaml") {
  auto set = ParseRules(text, name);
  EXPECT_OK(set);
  return set.ok() ? *std::move(set) : RuleSet();
}

NodeClaims Labels(std::map<std::string, std::string> labels) {
  NodeClaims claims;
  claims.labels = std::move(labels);
  return claims;
}

NodeFeature Foreign(std::map<std::string, std::string> labels) {
  NodeFeature object;
  object.name = "other";
  object.node = "n";
  object.labels = std::move(labels);
  return object;
}

Pattern Compiled(std::string_view text) {
  auto pattern = Pattern::Compile(text);
  EXPECT_OK(pattern);
  return *std::move(pattern);
}

TEST(AssembleTest, LaterSourcesWin) {
  Asked asked;
  asked.own = {
      Labels({{"v.io/1", "own"},
              {"v.io/2", "own"},
              {"v.io/3", "own"},
              {"v.io/4", "own"},
              {"v.io/5", "own"}}),
      Labels({{"v.io/2", "gpu"}, {"v.io/3", "gpu"}, {"v.io/4", "gpu"}, {"v.io/5", "gpu"}})};
  asked.file_rules = {
      Rules("[{name: r, labels: {v.io/3: rule, v.io/4: rule, v.io/5: rule, v.io/6: rule}}]")};
  asked.files.labels = {{"v.io/4", "file"}, {"v.io/5", "file"}, {"v.io/6", "file"}};
  asked.foreign = {Foreign({{"v.io/5", "foreign"}, {"v.io/6", "foreign"}})};
  asked.object_rules = {Rules("[{name: r, labels: {v.io/6: object}}]")};
  const Assembled assembled = asked.Run();
  EXPECT_THAT(
      assembled.claims.labels,
      ElementsAre(Pair("v.io/1", "own"), Pair("v.io/2", "gpu"), Pair("v.io/3", "rule"),
                  Pair("v.io/4", "file"), Pair("v.io/5", "foreign"), Pair("v.io/6", "object")));
  EXPECT_THAT(assembled.own_labels,
              ElementsAre(Pair("v.io/1", "own"), Pair("v.io/2", "gpu"), Pair("v.io/3", "rule"),
                          Pair("v.io/4", "file"), Pair("v.io/5", "file"), Pair("v.io/6", "file")));
}

TEST(AssembleTest, ObjectRulesSeeFeaturesOfOthersAndFileRulesDoNot) {
  Asked asked;
  asked.features.attributes["kernel.version"] = {{"major", "6"}};
  asked.files.raw_features = {{"knob", "5"}};
  asked.foreign = {Foreign({})};
  asked.foreign[0].features.flags["vendor.flags"] = {"x"};
  asked.foreign[0].features.attributes["kernel.version"] = {{"major", "7"}};
  const std::string rules = R"(
- {name: a, labels: {v.io/vendor: "1"}, matchFeatures: [{feature: vendor.flags, matchExpressions: [x]}]}
- {name: b, labels: {v.io/knob: "1"}, matchFeatures: [{feature: local.feature, matchExpressions: [knob=5]}]}
- {name: c, labels: {v.io/major: "@kernel.version.major"}}
)";
  asked.file_rules = {Rules(rules)};
  EXPECT_THAT(asked.Run().claims.labels,
              ElementsAre(Pair("v.io/knob", "1"), Pair("v.io/major", "6")));
  asked.object_rules = {Rules(rules)};
  EXPECT_THAT(
      asked.Run().claims.labels,
      ElementsAre(Pair("v.io/knob", "1"), Pair("v.io/major", "7"), Pair("v.io/vendor", "1")));
}

TEST(AssembleTest, ObjectRulesRunByNameAndDoNotSeeWhatFileRulesMatched) {
  Asked asked;
  asked.file_rules = {Rules("[{name: r, vars: {file: \"1\"}}]")};
  asked.object_rules = {
      Rules("[{name: r, labels: {v.io/order: b, v.io/seen: \"@rule.matched.a\"}}]", "b"),
      Rules("[{name: r, vars: {a: \"1\"}, labels: {v.io/order: a, v.io/file: "
            "\"@rule.matched.file\"}}]",
            "a")};
  const Assembled assembled = asked.Run();
  EXPECT_THAT(assembled.claims.labels,
              ElementsAre(Pair("v.io/order", "b"), Pair("v.io/seen", "1")));
  EXPECT_THAT(assembled.problems, ElementsAre(HasSubstr("rule.matched has no such element")));
}

TEST(AssembleTest, KeysOfOthersWithoutANamespaceGetOne) {
  Asked asked;
  asked.foreign = {
      Foreign({{"a", "short"}, {"feature.node.kubernetes.io/a", "whole"}, {"b", "1"}})};
  EXPECT_THAT(asked.Run().claims.labels, ElementsAre(Pair("feature.node.kubernetes.io/a", "whole"),
                                                     Pair("feature.node.kubernetes.io/b", "1")));
  asked.filters.foreign_labels = false;
  EXPECT_THAT(asked.Run().claims.labels, IsEmpty());
}

TEST(AssembleTest, FiltersTellWhatTheyLeaveOut) {
  Asked asked;
  asked.own = {
      Labels({{"v.io/a", "1"}, {"bad.io/a", "1"}, {"kubernetes.io/a", "1"}, {"v.io/b", "x y"}})};
  asked.filters.denied_namespaces = {"bad.io"};
  const Assembled assembled = asked.Run();
  EXPECT_THAT(assembled.own_labels, ElementsAre(Pair("bad.io/a", "1"), Pair("kubernetes.io/a", "1"),
                                                Pair("v.io/a", "1")));
  EXPECT_THAT(assembled.claims.labels, ElementsAre(Pair("v.io/a", "1")));
  EXPECT_THAT(assembled.left_out,
              ElementsAre(HasSubstr("label \"bad.io/a\": labels of bad.io are denied")));
  EXPECT_THAT(assembled.problems, ElementsAre(HasSubstr("label \"kubernetes.io/a\""),
                                              HasSubstr("label \"v.io/b\": \"x y\"")));
}

TEST(AssembleTest, TheWorkersWhiteListSparesTheClustersLabels) {
  Asked asked;
  asked.own = {Labels({{"v.io/cpu-a", "1"}, {"v.io/b", "1"}})};
  asked.files.labels = {{"v.io/c", "1"}};
  asked.object_rules = {Rules("[{name: r, labels: {v.io/d: \"1\"}}]")};
  asked.own_allow = {Compiled("^cpu-")};
  EXPECT_THAT(asked.Run().claims.labels, ElementsAre(Pair("v.io/cpu-a", "1"), Pair("v.io/d", "1")));
  asked.filters.label_allow = {Compiled("d$")};
  EXPECT_THAT(asked.Run().claims.labels, ElementsAre(Pair("v.io/d", "1")));
}

TEST(AssembleTest, EachKindCanBeSwitchedOffAndTaintsAre) {
  Asked asked;
  asked.object_rules = {Rules(R"(
- name: r
  labels: {v.io/a: "1"}
  annotations: {v.io/b: "2"}
  extendedResources: {v.io/c: "3"}
  taints: [{key: v.io/d, effect: NoSchedule}]
)")};
  Assembled assembled = asked.Run();
  EXPECT_THAT(assembled.claims.labels, ElementsAre(Pair("v.io/a", "1")));
  EXPECT_THAT(assembled.claims.annotations, ElementsAre(Pair("v.io/b", "2")));
  EXPECT_THAT(assembled.claims.extended_resources, ElementsAre(Pair("v.io/c", "3")));
  EXPECT_THAT(assembled.claims.taints, IsEmpty());
  EXPECT_THAT(assembled.left_out, ElementsAre("taints are disabled: 1 requested"));
  asked.filters = {};
  asked.filters.labels = false;
  asked.filters.annotations = false;
  asked.filters.extended_resources = false;
  asked.filters.taints = true;
  assembled = asked.Run();
  EXPECT_THAT(assembled.claims.taints, ElementsAre(Taint{"v.io/d", "", "NoSchedule"}));
  assembled.claims.taints.clear();
  EXPECT_EQ(assembled.claims, NodeClaims{});
  EXPECT_THAT(assembled.left_out, ElementsAre("labels are disabled: 1 requested",
                                              "annotations are disabled: 1 requested",
                                              "extended resources are disabled: 1 requested"));
}

TEST(AssembleTest, ReferencesThatAreTooLongAreProblems) {
  Asked asked;
  asked.features.attributes["a.b"] = {{"c", std::string(64, 'x')}};
  asked.object_rules = {
      Rules("[{name: r, labels: {v.io/a: \"@a.b.c\"}, extendedResources: {v.io/a: \"@a.b.c\"}}]")};
  const Assembled assembled = asked.Run();
  EXPECT_EQ(assembled.claims, NodeClaims{});
  EXPECT_THAT(assembled.problems, ElementsAre(HasSubstr("label \"v.io/a\""),
                                              HasSubstr("extended resource \"v.io/a\"")));
}

}  // namespace
}  // namespace kgpu::labels
