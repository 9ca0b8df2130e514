#include "src/node/labels/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::string_view kObject = R"(apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata:
  name: gpu-rules
  creationTimestamp: null
spec:
  rules:
  - name: a100
    labels: {"vendor.io/a100": "true", plain: "@kernel.version.full"}
    labelsTemplate: "{{range .pci.device}}dev-{{.device}}=1\n{{end}}"
    annotations: {note: "some text"}
    vars: {x: "1"}
    varsTemplate: "y={{len .pci.device}}"
    extendedResources: {"vendor.io/epc": "93Mi", plain: "@cpu.security.sgx.epc"}
    taints: [{key: vendor.io/gpu, value: a100, effect: NoSchedule}, {key: vendor.io/b, effect: NoExecute}]
    matchFeatures:
    - feature: pci.device
      matchExpressions:
        class: {op: InRegexp, value: ["^03"]}
        vendor: {op: In, value: ["10de"]}
    - feature: kernel.version
      matchExpressions: {full: {op: Ge, value: ["5.10"], type: version}}
    matchAny:
    - matchFeatures:
      - feature: kernel.loadedModule
        matchName: {op: InRegexp, value: "^nvidia"}
)";

TEST(RulesTest, ReadsEveryFieldOfAnObject) {
  const auto set = ParseRules(kObject, "r.yaml");
  ASSERT_OK(set);
  EXPECT_EQ(set->name, "gpu-rules");
  ASSERT_EQ(set->rules.size(), 1U);
  const Rule& rule = set->rules[0];
  EXPECT_EQ(rule.name, "a100");
  EXPECT_THAT(rule.labels,
              ElementsAre(Pair("plain", "@kernel.version.full"), Pair("vendor.io/a100", "true")));
  EXPECT_THAT(rule.annotations, ElementsAre(Pair("note", "some text")));
  EXPECT_THAT(rule.vars, ElementsAre(Pair("x", "1")));
  EXPECT_THAT(rule.extended_resources,
              ElementsAre(Pair("plain", "@cpu.security.sgx.epc"), Pair("vendor.io/epc", "93Mi")));
  EXPECT_THAT(rule.taints, ElementsAre(Taint{"vendor.io/gpu", "a100", "NoSchedule"},
                                       Taint{"vendor.io/b", "", "NoExecute"}));
  EXPECT_TRUE(rule.labels_template.has_value());
  EXPECT_TRUE(rule.vars_template.has_value());
  ASSERT_EQ(rule.all.size(), 2U);
  EXPECT_EQ(rule.all[0].feature, "pci.device");
  ASSERT_TRUE(rule.all[0].expressions.has_value());
  EXPECT_EQ(rule.all[0].expressions->size(), 2U);
  ASSERT_EQ(rule.any.size(), 1U);
  EXPECT_EQ(rule.any[0][0].feature, "kernel.loadedModule");
  EXPECT_EQ(rule.any[0][0].lookup, "kernel.loadedmodule");
  EXPECT_TRUE(rule.any[0][0].name.has_value());
  EXPECT_FALSE(rule.any[0][0].expressions.has_value());
}

TEST(RulesTest, ReadsTheWorkersListOfRulesAndItsShortForms) {
  const auto set = ParseRules(R"(
- name: short
  labels: {a: "true"}
  matchFeatures:
  - feature: pci.device
    matchExpressions: {vendor: ["8086", "10de"], class: "0302", device: }
  - feature: cpu.cpuid
    matchExpressions: [AVX2, "AVX10_VERSION=2"]
  - feature: usb.device
    matchExpressions: {}
)",
                              "/etc/custom.d/a.yaml");
  ASSERT_OK(set);
  EXPECT_EQ(set->name, "/etc/custom.d/a.yaml");
  ASSERT_EQ(set->rules.size(), 1U);
  std::vector<std::string> texts;
  for (const FeatureTerm& term : set->rules[0].all) {
    ASSERT_TRUE(term.expressions.has_value());
    for (const KeyExpression& expression : *term.expressions) {
      texts.push_back(expression.key + " " + expression.match.Text());
    }
  }
  EXPECT_THAT(texts, ElementsAre("vendor In 8086, 10de", "class In 0302", "device Exists",
                                 "AVX2 Exists", "AVX10_VERSION In 2"));
}

TEST(RulesTest, ReadsJsonAndEmptyFiles) {
  EXPECT_OK(ParseRules(R"([{"name": "a", "labels": {"b": "c"}}])", "r.json"));
  for (const std::string_view text : {"", "  \n", "# nothing\n", "[]"}) {
    const auto set = ParseRules(text, "r.yaml");
    ASSERT_OK(set);
    EXPECT_THAT(set->rules, IsEmpty());
  }
}

TEST(RulesTest, SaysWhereEachMistakeStandsAndHowToFixIt) {
  struct Refusal {
    std::string_view text;
    std::string_view error;
  };
  for (const auto& [text, error] : std::initializer_list<Refusal>{
           {"kind: NodeFeatureRule\nspec: {}", "r.yaml:1:1: spec.rules is missing"},
           {"kind: NodeFeatureGroup\nspec: {rules: []}", "kind: \"NodeFeatureGroup\" must be"},
           {"apiVersion: v1\nspec: {rules: []}", "must be nfd.k8s-sigs.io/v1alpha1"},
           {"- labels: {a: b}", "r.yaml:1:3: [0]: name is missing"},
           {"- {name: x, label: {a: b}}", "label: unknown key, did you mean \"labels\"?"},
           {"- {name: x, labels: {a: true}}", "labels.a: true must be a string: put it in quotes"},
           {"- {name: x, labels: {\"-a\": \"b\"}}", "begin and end with a letter or digit"},
           {"- {name: x, labels: {a: \"b c\"}}", "a label value must have at most 63"},
           {"- {name: x, labels: {a: \"@kernel\"}}", "a reference must be @domain.feature.element"},
           {"- {name: x, extendedResources: {a: \"1.5\"}}", "must be an integer such as 8"},
           {"- {name: x, taints: [{key: a, effect: NoSchedule}]}", "taints need a namespace"},
           {"- {name: x, taints: [{key: a.b/c, effect: Never}]}", "a taint's effect must be"},
           {"- {name: x, matchFeatures: [{feature: pci}]}", "must be domain.feature"},
           {"- {name: x, matchFeatures: [{matchName: a}]}", "feature is missing"},
           {"- {name: x, matchFeatures: [{feature: a.b, matchExpressions: {c: {op: in}}}]}",
            "matchExpressions.c.op: \"in\" must be one of In, NotIn"},
           {"- {name: x, matchFeatures: [{feature: a.b, matchExpressions: {c: {op: In, values: "
            "[a]}}}]}",
            "values: unknown key, did you mean \"value\"?"},
           {"- {name: x, matchFeatures: [{feature: a.b, matchExpressions: {c: {value: [a]}}}]}",
            "op is missing"},
           {"- {name: x, matchFeatures: [{feature: a.b, matchExpressions: {c: {op: Gt, value: "
            "[a]}}}]}",
            "\"a\" must be an integer"},
           {"- {name: x, matchFeatures: [{feature: a.b, matchExpressions: {c: {op: Gt, value: "
            "[\"1\"], type: semver}}}]}",
            "must be one of version"},
           {"- {name: x, labelsTemplate: \"a=b\"}", "add matchFeatures or matchAny"},
           {"- {name: x, labelsTemplate: \"{{end}}\", matchFeatures: [{feature: a.b}]}",
            "labelsTemplate: line 1, column 1: there is no open block"},
           {"- {name: x, labelsTemplate: \"{{range .pci.devices}}{{end}}\", matchFeatures: "
            "[{feature: pci.device}]}",
            "labelsTemplate: line 1, column 9: .pci.devices belongs to no feature that this rule "
            "matches; it matches pci.device"},
           {"a: [", "r.yaml:"},
       }) {
    EXPECT_THAT(ParseRules(text, "r.yaml"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(error))))
        << text;
  }
}

TEST(RulesTest, AFileMayHoldSeveralObjects) {
  const auto sets = ParseRuleFile(
      "# head\n---\nmetadata: {name: a}\nspec: {rules: [{name: x}]}\n--- # next\n- {name: y}\n---\n"
      "---\nkind: List\nitems:\n- metadata: {name: b}\n  spec: {rules: [{name: z}]}\n"
      "- metadata: {name: c}\n  spec: {rules: []}\n",
      "r.yaml");
  ASSERT_OK(sets);
  std::vector<std::string> names;
  for (const RuleSet& set : *sets) {
    names.push_back(fmt::format("{} {}", set.name, set.rules.size()));
  }
  EXPECT_THAT(names, ElementsAre("a 1", "r.yaml 1", "b 1", "c 0"));
  EXPECT_THAT(
      ParseRuleFile("- {name: y}\n---\n\n- {nam: y}\n", "r.yaml"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("r.yaml:4:4: [0].nam: unknown key")));
  std::string many;
  for (size_t i = 0; i < kMaxRuleDocuments; ++i) {
    many += "---\n";
  }
  EXPECT_THAT(ParseRuleFile(many, "r.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("more than 64 documents")));
  EXPECT_OK(ParseRuleFile(R"({"kind": "NodeFeatureRuleList", "items": []})", "r.json"));
}

TEST(RulesTest, TellsAllMistakesOfAFile) {
  EXPECT_THAT(ParseRules("- {name: x, label: {}}\n- {nam: y}\n", "r.yaml"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("r.yaml:1:13:"), HasSubstr("r.yaml:2:4:"))));
}

TEST(RulesTest, BoundsTheRegularExpressionsOfAFile) {
  std::string text =
      "- {name: x, matchFeatures: [{feature: a.b, matchName: {op: InRegexp, value: [";
  for (int i = 0; i <= 1000; ++i) {
    text += "a,";
  }
  text += "b]}}]}\n";
  EXPECT_THAT(ParseRules(text, "r.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("more than 1000 regular")));
}

TEST(RulesTest, BoundsTheTemplatesOfAFile) {
  std::string text;
  for (int i = 0; i < 30; ++i) {
    text +=
        fmt::format("- name: r{}\n  matchFeatures: [{{feature: a.b}}]\n  labelsTemplate: \"", i);
    for (int j = 0; j < 400; ++j) {
      text += "{{1}}";
    }
    text += "\"\n";
  }
  EXPECT_THAT(
      ParseRules(text, "r.yaml"),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("[25].labelsTemplate: the templates of this file have more than")));
}

TEST(RulesTest, AnObjectKeepsItsGoodRules) {
  const auto value = doc::Parse(
      R"({"metadata": {"name": "o"}, "spec": {"rules": [
        {"name": "good", "labels": {"a": "b"}},
        {"name": "bad", "labelsTemplate": "{{htmlDate .a.b}}", "matchFeatures": [{"feature": "a.b"}]}]}})",
      doc::Format::kJson, "o");
  ASSERT_OK(value);
  const auto object = ReadRuleObject(*value);
  ASSERT_OK(object);
  EXPECT_EQ(object->rules.name, "o");
  ASSERT_EQ(object->rules.rules.size(), 1U);
  EXPECT_EQ(object->rules.rules[0].name, "good");
  EXPECT_THAT(object->problems,
              ElementsAre(AllOf(HasSubstr("NodeFeatureRule \"o\": rule \"bad\": labelsTemplate: "),
                                HasSubstr("unknown function \"htmlDate\""))));
  EXPECT_THAT(ReadRuleObject(boost::json::value(5)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("spec.rules must be a list")));
}

}  // namespace
}  // namespace kgpu::labels
