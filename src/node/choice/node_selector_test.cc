#include "src/node/choice/node_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/choice/selectors.h"
#include "testing/status_matchers.h"

namespace kgpu::choice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct MatchCase {
  const char* expression;
  const char* labels;  // "key=value", or empty
  bool matches;
};

Labels LabelsOf(const std::string& text) {
  const size_t sign = text.find('=');
  return sign == std::string::npos ? Labels()
                                   : Labels{{text.substr(0, sign), text.substr(sign + 1)}};
}

StatusOr<std::vector<Rule>> ParseExpression(const std::string& expression) {
  return ParseSelectors(
      "- config: c\n  nodeSelector:\n    matchExpressions:\n    - " + expression + "\n",
      "selectors.yaml");
}

TEST(NodeSelectorTest, MatchesAsKubernetesDoes) {
  const MatchCase cases[] = {
      {"{key: a, operator: In, values: [x, y]}", "a=y", true},
      {"{key: a, operator: In, values: [x, y]}", "a=z", false},
      {"{key: a, operator: In, values: [x, y]}", "b=x", false},
      {"{key: a, operator: NotIn, values: [x]}", "a=x", false},
      {"{key: a, operator: NotIn, values: [x]}", "a=y", true},
      {"{key: a, operator: NotIn, values: [x]}", "", true},
      {"{key: a, operator: Exists}", "a=", true},
      {"{key: a, operator: Exists}", "b=1", false},
      {"{key: a, operator: DoesNotExist}", "a=1", false},
      {"{key: a, operator: DoesNotExist, values: []}", "", true},
      {"{key: nvidia.com/gpu.count, operator: Gt, values: [\"4\"]}", "nvidia.com/gpu.count=8",
       true},
      {"{key: a, operator: Gt, values: [\"4\"]}", "a=4", false},
      {"{key: a, operator: Gt, values: [\"4\"]}", "a=x8", false},
      {"{key: a, operator: Gt, values: [\"4\"]}", "", false},
      {"{key: a, operator: Lt, values: [\"4\"]}", "a=-3", true},
      {"{key: a, operator: Lt, values: [\"4\"]}", "a=3", true},
      {"{key: a, operator: Lt, values: [\"4\"]}", "a=4.0", false},
  };
  for (const MatchCase& one : cases) {
    const auto rules = ParseExpression(one.expression);
    ASSERT_OK(rules.status());
    EXPECT_EQ(Matches(rules->at(0).nodes, LabelsOf(one.labels)), one.matches)
        << one.expression << " of " << one.labels;
  }
}

TEST(NodeSelectorTest, EveryPartMustMatch) {
  const auto rules = ParseSelectors(
      "- config: c\n"
      "  nodeSelector:\n"
      "    matchLabels: {a: x, b: \"1\"}\n"
      "    matchExpressions:\n"
      "    - {key: c, operator: Exists}\n"
      "    - {key: d, operator: DoesNotExist}\n",
      "selectors.yaml");
  ASSERT_OK(rules.status());
  const NodeSelector& selector = rules->at(0).nodes;
  EXPECT_TRUE(Matches(selector, {{"a", "x"}, {"b", "1"}, {"c", ""}}));
  EXPECT_FALSE(Matches(selector, {{"a", "x"}, {"b", "2"}, {"c", ""}}));
  EXPECT_FALSE(Matches(selector, {{"a", "x"}, {"b", "1"}}));
  EXPECT_FALSE(Matches(selector, {{"a", "x"}, {"b", "1"}, {"c", ""}, {"d", ""}}));
}

TEST(NodeSelectorTest, AnEmptySelectorIsEveryNode) {
  const auto rules = ParseSelectors("[{config: c, nodeSelector: {}}]", "selectors.yaml");
  ASSERT_OK(rules.status());
  EXPECT_TRUE(Matches(rules->at(0).nodes, {}));
}

TEST(NodeSelectorTest, AFileMayHaveNone) {
  for (const char* text : {"", "\n", "# later\n", "[]"}) {
    const auto rules = ParseSelectors(text, "selectors.yaml");
    ASSERT_OK(rules.status());
    EXPECT_THAT(*rules, IsEmpty());
  }
}

TEST(NodeSelectorTest, ErrorsHaveAPositionAndAFix) {
  const struct {
    const char* expression;
    const char* error;
  } cases[] = {
      {"{key: a, operator: in, values: [x]}", "operator: \"in\" must be one of In, NotIn"},
      {"{key: a, operator: In}", "values: missing: In needs at least one"},
      {"{key: a, operator: Exists, values: [x]}", "values: Exists takes none: remove them"},
      {"{key: a, operator: Gt, values: [x]}", "values: Gt needs exactly one integer"},
      {"{key: a, operator: Gt, values: [\"1\", \"2\"]}", "values: Gt needs exactly one integer"},
      {"{key: a, operator: Lt, values: [8]}", "must be a string: put it in quotes"},
      {"{key: a, operator: In, values: [\"x y\"]}", "matchExpressions[0].values[0]: "},
      {"{key: /a, operator: Exists}", "matchExpressions[0].key: "},
      {"{operator: Exists}", "key: missing: name a label"},
      {"{key: a}", "operator: missing: set In, NotIn"},
      {"{key: a, op: In}", "op: unknown key"},
      {"a", "must be a map"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(ParseExpression(one.expression),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("selectors.yaml:4:"), HasSubstr(one.error))))
        << one.expression;
  }
}

TEST(NodeSelectorTest, RefusesRulesWithoutTheirParts) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"config: c\n", "must be a list"},
      {"- nodeSelector: {}\n", "selectors.yaml:1:3: [0]: config: missing"},
      {"- config: c\n", "nodeSelector: missing: set matchLabels or matchExpressions; {} is every"},
      {"- {config: \"\", nodeSelector: {}}\n", "[0].config: is empty"},
      {"- {config: c, nodeSelector: {matchLabel: {}}}\n", "did you mean \"matchLabels\"?"},
      {"- {config: c, nodeSelector: {matchLabels: {a: 1}}}\n", "must be a string"},
      {"- {config: c, nodeSelector: {matchLabels: {\"a b\": x}}}\n", "matchLabels.a b: "},
      {"- {config: c, config: d, nodeSelector: {}}\n", "config"},
      {"[", "selectors.yaml:1"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(ParseSelectors(one.text, "selectors.yaml"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(one.error)))
        << one.text;
  }
}

TEST(NodeSelectorTest, HasALimit) {
  std::string text;
  for (size_t i = 0; i <= kMaxSelectors; ++i) {
    text += "- {config: c, nodeSelector: {}}\n";
  }
  EXPECT_THAT(ParseSelectors(text, "selectors.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exceed the limit of 1000")));
}

}  // namespace
}  // namespace kgpu::choice
