#include "src/node/labels/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

features::FeatureSet TestFeatures() {
  features::FeatureSet set;
  set.flags["kernel.loadedmodule"] = {"nvidia", "ib_uverbs", "rdma_ucm"};
  set.flags["cpu.cpuid"] = {"AVX2", "AVX512F"};
  set.attributes["cpu.cpuid"] = {{"AVX10_VERSION", "2"}};
  set.attributes["kernel.version"] = {
      {"full", "5.14.0-427.el9.x86_64"}, {"major", "5"}, {"minor", "14"}};
  set.attributes["cpu.security"] = {{"sgx.enabled", "true"}, {"sgx.epc", "98041856"}};
  set.attributes["empty.attributes"];
  set.instances["pci.device"] = {
      {{"class", "0302"}, {"vendor", "10de"}, {"device", "20b5"}},
      {{"class", "0302"}, {"vendor", "10de"}, {"device", "2330"}, {"sriov_totalvfs", "16"}},
      {{"class", "0200"}, {"vendor", "15b3"}, {"device", "1017"}, {"sriov_totalvfs", "many"}},
  };
  set.instances["usb.device"];
  return set;
}

RuleSet ParsedFeatures(const std::string& text) {
  auto set = ParseRules(text, "r.yaml");
  EXPECT_OK(set);
  return set.ok() ? *std::move(set) : RuleSet();
}

RuleResult Result(const std::string& text) {
  const std::vector<RuleSet> sets = {ParsedFeatures(text)};
  return Evaluate(sets, TestFeatures());
}

// Whether a rule with this list of terms matches.
bool Matches(const std::string& terms) {
  return !Result("[{name: r, labels: {hit: yes-1}, matchFeatures: " + terms + "}]")
              .claims.labels.empty();
}

std::string OneTerm(const std::string& feature, const std::string& expressions) {
  return "[{feature: " + feature + ", matchExpressions: " + expressions + "}]";
}

struct EvaluateCase {
  std::string_view feature;
  std::string_view expressions;
  bool matches;
};

void ExpectMatches(std::initializer_list<EvaluateCase> cases) {
  for (const EvaluateCase& one : cases) {
    EXPECT_EQ(Matches(OneTerm(std::string(one.feature), std::string(one.expressions))), one.matches)
        << one.feature << ' ' << one.expressions;
  }
}

TEST(RuleMatchTest, FlagsAreThereOrNot) {
  ExpectMatches({
      {"kernel.loadedmodule", "{nvidia: {op: Exists}}", true},
      {"kernel.loadedmodule", "{nouveau: {op: Exists}}", false},
      {"kernel.loadedmodule", "{nouveau: {op: DoesNotExist}}", true},
      {"kernel.loadedmodule", "{nvidia: {op: DoesNotExist}}", false},
      {"kernel.loadedmodule", "{nvidia: {op: In, value: [nvidia]}}", false},
      {"kernel.loadedmodule", "{nvidia: {op: NotIn, value: [x]}}", false},
      {"kernel.loadedmodule", "{nvidia: {op: IsTrue}}", false},
      {"kernel.loadedmodule", "{nvidia: {op: InRegexp, value: [n]}}", false},
      {"kernel.loadedmodule", "{nvidia: {op: Gt, value: [\"1\"]}}", false},
      {"kernel.loadedmodule", "{ib_uverbs: {op: Exists}, rdma_ucm: {op: Exists}}", true},
      {"kernel.loadedmodule", "{ib_uverbs: {op: Exists}, other: {op: Exists}}", false},
      {"kernel.loadedmodule", "{}", true},
      {"KERNEL.LoadedModule", "{nvidia: {op: Exists}}", true},
  });
}

TEST(RuleMatchTest, AttributesHaveValues) {
  ExpectMatches({
      {"kernel.version", "{major: {op: In, value: [\"5\", \"6\"]}}", true},
      {"kernel.version", "{major: {op: NotIn, value: [\"6\"]}}", true},
      {"kernel.version", "{none: {op: NotIn, value: [\"6\"]}}", false},
      {"kernel.version", "{none: {op: DoesNotExist}}", true},
      {"kernel.version", "{major: {op: Exists}, minor: {op: Gt, value: [\"13\"]}}", true},
      {"kernel.version", "{minor: {op: GtLt, value: [\"13\", \"15\"]}}", true},
      {"kernel.version", "{minor: {op: Lt, value: [\"13\"]}}", false},
      {"kernel.version", "{full: {op: Ge, value: [\"5.14\"], type: version}}", true},
      {"kernel.version", "{full: {op: Gt, value: [\"5\"]}}", false},
      {"cpu.security", "{sgx.enabled: {op: IsTrue}}", true},
      {"cpu.security", "{sgx.enabled: {op: IsFalse}}", false},
      {"empty.attributes", "{}", true},
      {"empty.attributes", "{a: {op: DoesNotExist}}", true},
      {"empty.attributes", "{a: {op: Exists}}", false},
  });
}

TEST(RuleMatchTest, OneInstanceMeetsAllExpressions) {
  ExpectMatches({
      {"pci.device", "{vendor: {op: In, value: [10de]}, class: {op: InRegexp, value: [\"^03\"]}}",
       true},
      {"pci.device", "{vendor: {op: In, value: [10de]}, class: {op: In, value: [\"0200\"]}}",
       false},
      {"pci.device", "{sriov_totalvfs: {op: DoesNotExist}}", true},
      {"pci.device", "{vendor: {op: In, value: [15b3]}, sriov_totalvfs: {op: DoesNotExist}}",
       false},
      {"pci.device", "{sriov_totalvfs: {op: Ge, value: [\"16\"]}}", true},
      {"pci.device", "{vendor: {op: In, value: [15b3]}, sriov_totalvfs: {op: Ge, value: [\"1\"]}}",
       false},
      {"pci.device", "{}", true},
      {"usb.device", "{}", false},
      {"usb.device", "{a: {op: DoesNotExist}}", false},
  });
}

TEST(RuleMatchTest, FlagsAndAttributesOfOneFeatureCountTogether) {
  ExpectMatches({
      {"cpu.cpuid", "{AVX2: {op: Exists}, AVX10_VERSION: {op: In, value: [\"2\"]}}", true},
      {"cpu.cpuid", "{AVX10_VERSION: {op: Exists}}", true},
      {"cpu.cpuid", "{AVX10_VERSION: {op: DoesNotExist}}", false},
      {"cpu.cpuid", "{AVX2: {op: DoesNotExist}}", false},
      {"cpu.cpuid", "{SSE: {op: DoesNotExist}}", true},
  });
}

TEST(RuleMatchTest, AFeatureThatIsMissingMatchesNothing) {
  ExpectMatches({
      {"storage.block", "{}", false},
      {"storage.block", "{a: {op: DoesNotExist}}", false},
      {"storage.block", "{a: {op: Exists}}", false},
  });
  EXPECT_FALSE(Matches("[{feature: storage.block}]"));
  EXPECT_TRUE(Matches("[{feature: usb.device}]"));
}

TEST(RuleMatchTest, NamesMatchByThemselves) {
  EXPECT_TRUE(Matches("[{feature: cpu.cpuid, matchName: {op: InRegexp, value: [\"^AVX512\"]}}]"));
  EXPECT_FALSE(Matches("[{feature: cpu.cpuid, matchName: {op: InRegexp, value: [\"^SSE\"]}}]"));
  EXPECT_TRUE(Matches("[{feature: cpu.cpuid, matchName: {op: In, value: [AVX10_VERSION]}}]"));
  EXPECT_TRUE(Matches("[{feature: cpu.cpuid, matchName: {op: NotIn, value: [AVX2]}}]"));
  EXPECT_TRUE(Matches("[{feature: cpu.cpuid, matchName: {op: Exists}}]"));
  EXPECT_FALSE(Matches("[{feature: cpu.cpuid, matchName: {op: DoesNotExist}}]"));
  EXPECT_FALSE(Matches("[{feature: empty.attributes, matchName: {op: Exists}}]"));
  EXPECT_TRUE(Matches("[{feature: pci.device, matchName: {op: In, value: [sriov_totalvfs]}}]"));
  EXPECT_FALSE(
      Matches("[{feature: pci.device, matchExpressions: {vendor: {op: In, value: [x]}}, "
              "matchName: {op: Exists}}]"));
}

TEST(RuleMatchTest, EveryTermAndOneAlternativeMustMatch) {
  EXPECT_FALSE(Matches("[{feature: pci.device}, {feature: storage.block}]"));
  const std::string any =
      "[{name: r, labels: {hit: yes-1}, matchAny: [{matchFeatures: [{feature: storage.block}]}, "
      "{matchFeatures: [{feature: pci.device}]}]";
  EXPECT_THAT(Result(any + "}]").claims.labels, testing::SizeIs(1));
  EXPECT_THAT(Result(any + ", matchFeatures: [{feature: storage.block}]}]").claims.labels,
              IsEmpty());
  EXPECT_THAT(Result("[{name: r, labels: {hit: a}}]").claims.labels, testing::SizeIs(1));
}

TEST(RuleTemplateTest, SeesTheElementsThatMatched) {
  EXPECT_THAT(Result(R"(
- name: r
  labelsTemplate: |
    {{range .pci.device}}pci-{{.device}}.present=true
    {{end}}{{range .cpu.cpuid}}cpu-{{.Name}}={{default "flag" (index . "Value")}}
    {{end}}{{range .kernel.version}}{{.Name}}=v{{.Value}}
    {{end}}
  matchFeatures:
  - feature: pci.device
    matchExpressions: {vendor: {op: In, value: [10de]}}
  - feature: cpu.cpuid
    matchExpressions: {AVX2: {op: Exists}}
    matchName: {op: InRegexp, value: ["^AVX10"]}
  - feature: kernel.Version
    matchExpressions: {major: {op: Exists}, other: {op: DoesNotExist}}
)")
                  .claims.labels,
              ElementsAre(Pair("feature.node.kubernetes.io/cpu-AVX10_VERSION", "2"),
                          Pair("feature.node.kubernetes.io/cpu-AVX2", "flag"),
                          Pair("feature.node.kubernetes.io/major", "v5"),
                          Pair("feature.node.kubernetes.io/other", "v"),
                          Pair("feature.node.kubernetes.io/pci-20b5.present", "true"),
                          Pair("feature.node.kubernetes.io/pci-2330.present", "true")));
}

TEST(RuleTemplateTest, IsFilledInForEachAlternativeThatMatches) {
  const RuleResult result = Result(R"(
- name: r
  labels: {b: static}
  labelsTemplate: "{{range .pci.device}}dev-{{.device}}=1\nb=template\n{{end}}"
  matchAny:
  - matchFeatures: [{feature: pci.device, matchExpressions: {device: "20b5"}}]
  - matchFeatures: [{feature: pci.device, matchExpressions: {device: none}}]
  matchFeatures: [{feature: pci.device, matchExpressions: {device: "1017"}}]
)");
  EXPECT_THAT(result.claims.labels, ElementsAre(Pair("feature.node.kubernetes.io/b", "static"),
                                                Pair("feature.node.kubernetes.io/dev-1017", "1"),
                                                Pair("feature.node.kubernetes.io/dev-20b5", "1")));
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST(RuleTemplateTest, OneThatFailsUndoesItsRuleOnly) {
  const RuleResult result = Result(R"(
- name: bad
  labels: {a: b}
  labelsTemplate: "{{(index .pci.device 7).class}}=1"
  matchFeatures: [{feature: pci.device, matchExpressions: {}}]
- name: good
  labels: {c: d}
)");
  EXPECT_THAT(result.claims.labels, ElementsAre(Pair("feature.node.kubernetes.io/c", "d")));
  EXPECT_THAT(result.problems, ElementsAre("r.yaml: rule \"bad\": labelsTemplate: line 1, column "
                                           "4: index: no item 7 in a list of 3"));
}

TEST(RuleResultTest, LaterRulesSeeLabelsAndVarsOfEarlierOnes) {
  const RuleResult result = Result(R"(
- name: first
  labels: {kernel-ok: "true"}
  varsTemplate: "gpus={{len .pci.device}}"
  matchFeatures: [{feature: pci.device, matchExpressions: {vendor: "10de"}}]
- name: no
  vars: {never: "1"}
  matchFeatures: [{feature: storage.block}]
- name: second
  labels: {many-gpus: "@rule.matched.gpus"}
  matchFeatures:
  - feature: rule.matched
    matchExpressions: {kernel-ok: {op: IsTrue}, gpus: {op: Gt, value: ["1"]}, never: {op: DoesNotExist}}
)");
  EXPECT_THAT(result.claims.labels,
              ElementsAre(Pair("feature.node.kubernetes.io/kernel-ok", "true"),
                          Pair("feature.node.kubernetes.io/many-gpus", "2")));
  EXPECT_THAT(result.matched, ElementsAre(Pair("gpus", "2"), Pair("kernel-ok", "true"),
                                          Pair("many-gpus", "@rule.matched.gpus")));
}

TEST(RuleResultTest, ReferencesTakeValuesOfAttributes) {
  const RuleResult result = Result(R"(
- name: r
  labels: {kernel: "@kernel.version.major", gone: "@kernel.version.none", "x.io/none": "@a.b.c"}
  annotations: {kernel: "@kernel.version.full"}
  extendedResources: {sgx.epc: "@cpu.security.sgx.epc"}
)");
  EXPECT_THAT(result.claims.labels, ElementsAre(Pair("feature.node.kubernetes.io/kernel", "5")));
  EXPECT_THAT(result.claims.annotations,
              ElementsAre(Pair("feature.node.kubernetes.io/kernel", "5.14.0-427.el9.x86_64")));
  EXPECT_THAT(result.claims.extended_resources,
              ElementsAre(Pair("feature.node.kubernetes.io/sgx.epc", "98041856")));
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("kernel.version has no such element"),
                                           AllOf(HasSubstr("rule \"r\": x.io/none"),
                                                 HasSubstr("no attributes a.b"))));
}

TEST(RuleResultTest, KeysWithANamespaceWinWithinARuleAndLaterRulesBetween) {
  EXPECT_THAT(Result(R"(
- name: r
  labels: {a: short, feature.node.kubernetes.io/a: whole, b: first, profile.node.kubernetes.io/p: "1"}
- name: s
  labels: {b: second}
)")
                  .claims.labels,
              ElementsAre(Pair("feature.node.kubernetes.io/a", "whole"),
                          Pair("feature.node.kubernetes.io/b", "second"),
                          Pair("profile.node.kubernetes.io/p", "1")));
}

TEST(RuleResultTest, ALaterTaintOfAKeyAndEffectReplaces) {
  EXPECT_THAT(Result(R"(
- name: r
  taints: [{key: v.io/b, value: "1", effect: NoSchedule}, {key: v.io/a, effect: NoExecute}]
- name: s
  taints: [{key: v.io/b, value: "2", effect: NoSchedule}]
)")
                  .claims.taints,
              ElementsAre(Taint{"v.io/a", "", "NoExecute"}, Taint{"v.io/b", "2", "NoSchedule"}));
}

TEST(RuleResultTest, RulesThatTakeTooLongAreNotRun) {
  features::FeatureSet features;
  for (int i = 0; i < 5'000; ++i) {
    features.attributes["a.b"].emplace(fmt::format("{:05}", i), "x");
  }
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += fmt::format(
        "- {{name: r{}, labels: {{v.io/r{}: hit}}, matchFeatures: [{{feature: a.b, "
        "matchName: {{op: InRegexp, value: [",
        i, i);
    for (int j = 0; j < 199; ++j) {
      text += "\"[a-z]+z\", ";
    }
    text += "\"^0\"]}}]}\n";
  }
  const std::vector<RuleSet> sets = {ParsedFeatures(text)};
  FeatureView view(features);
  std::vector<RuleVerdict> verdicts;
  const RuleResult result = Evaluate(sets, view, &verdicts);
  EXPECT_THAT(result.claims.labels, ElementsAre(Pair("v.io/r0", "hit"), Pair("v.io/r1", "hit")));
  EXPECT_THAT(result.problems, ElementsAre("r.yaml: rule \"r2\": the rules take too long: use "
                                           "fewer or simpler rules; later rules are not run"));
  ASSERT_EQ(verdicts.size(), 5U);
  EXPECT_EQ(verdicts[4].why, "not run: earlier rules took too long");
}

TEST(RuleResultTest, LabelsPastAllReasonAreLeftOut) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    text += fmt::format("- {{name: r{}, labels: {{", i);
    for (int j = 0; j < 900; ++j) {
      text += fmt::format("v.io/l{}-{}: x, ", i, j);
    }
    text += "v.io/last: x}}\n";
  }
  const RuleResult result = Result(text);
  EXPECT_EQ(result.claims.labels.size(), kMaxClaims);
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("rule \"r2\": more than 2000 labels")));
}

TEST(RuleResultTest, SetsRunInTheOrderOfTheirNames) {
  std::vector<RuleSet> sets = {ParsedFeatures("[{name: r, labels: {a: z}}]"),
                               ParsedFeatures("[{name: r, labels: {a: b}}]")};
  sets[0].name = "z";
  sets[1].name = "b";
  SortByName(sets);
  EXPECT_THAT(Evaluate(sets, TestFeatures()).claims.labels,
              ElementsAre(Pair("feature.node.kubernetes.io/a", "z")));
}

std::string WhyNotOf(const std::string& terms) {
  const std::vector<RuleSet> sets = {ParsedFeatures("[{name: r, matchFeatures: " + terms + "}]")};
  const features::FeatureSet features = TestFeatures();
  FeatureView view(features);
  std::vector<RuleVerdict> verdicts;
  (void)Evaluate(sets, view, &verdicts);
  EXPECT_EQ(verdicts.size(), 1U);
  EXPECT_FALSE(verdicts[0].is_matched);
  return verdicts[0].why;
}

TEST(RuleVerdictTest, TellsTheFirstReasonWhyARuleDoesNotMatch) {
  EXPECT_EQ(WhyNotOf("[{feature: pci.devices}]"),
            "pci.devices: this node has no such feature, did you mean pci.device?");
  EXPECT_EQ(WhyNotOf("[{feature: kernel.loadedmodule, matchExpressions: [nvidia, nouveau]}]"),
            "kernel.loadedmodule: no nouveau");
  EXPECT_EQ(WhyNotOf("[{feature: kernel.loadedmodule, matchExpressions: [nvidia=1]}]"),
            "kernel.loadedmodule: nvidia is a flag without a value, which does not match In 1");
  EXPECT_EQ(
      WhyNotOf("[{feature: kernel.version, matchExpressions: {major: {op: Gt, value: [\"5\"]}}}]"),
      "kernel.version: major is \"5\", which does not match Gt 5");
  EXPECT_EQ(
      WhyNotOf("[{feature: kernel.version, matchExpressions: {full: {op: Gt, value: [\"5\"]}}}]"),
      "kernel.version: full is \"5.14.0-427.el9.x86_64\", which does not match Gt 5: it has "
      "another type");
  EXPECT_EQ(
      WhyNotOf("[{feature: pci.device, matchExpressions: {vendor: \"10de\", class: \"0200\"}}]"),
      "pci.device: none matches all of vendor In 10de (2 of 3), class In 0200 (1 of 3)");
  EXPECT_EQ(WhyNotOf("[{feature: usb.device, matchExpressions: {}}]"),
            "usb.device: there are none");
  EXPECT_EQ(WhyNotOf("[{feature: cpu.cpuid, matchName: {op: InRegexp, value: [^SSE]}}]"),
            "cpu.cpuid: no name matches InRegexp ^SSE");
  EXPECT_EQ(WhyNotOf("[{feature: cpu.cpuid, matchExpressions: {AVX2: {op: DoesNotExist}}}]"),
            "cpu.cpuid: AVX2 is a flag without a value, which does not match DoesNotExist");
}

TEST(RuleVerdictTest, ShowsWhatRulesDo) {
  const std::vector<RuleSet> sets = {ParsedFeatures(R"(
- name: hit
  labels: {a: b}
  annotations: {x.io/n: some text}
  extendedResources: {x.io/r: "5"}
  vars: {v: "1"}
  taints: [{key: x.io/t, effect: NoSchedule}]
  matchFeatures: [{feature: pci.device}]
- name: miss
  matchAny:
  - matchFeatures: [{feature: a.b}]
  - matchFeatures: [{feature: c.d}]
)")};
  const features::FeatureSet features = TestFeatures();
  FeatureView view(features);
  std::vector<RuleVerdict> verdicts;
  const RuleResult result = Evaluate(sets, view, &verdicts);
  EXPECT_EQ(verdicts[0].claims, result.claims);
  EXPECT_EQ(PrintVerdicts(verdicts),
            "r.yaml: hit: matches\n"
            "  label feature.node.kubernetes.io/a=b\n"
            "  annotation x.io/n=some text\n"
            "  extended resource x.io/r=5\n"
            "  taint x.io/t:NoSchedule\n"
            "  var v=1\n"
            "r.yaml: miss: does not match\n"
            "  matchAny: a.b: this node has no such feature; c.d: this node has no such feature\n");
}

}  // namespace
}  // namespace kgpu::labels
