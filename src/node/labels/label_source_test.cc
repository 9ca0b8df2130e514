#include "src/node/labels/label_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "src/host/features/cpuid.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::labels {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr const char* kFeature = "feature.node.kubernetes.io/";

class LabelSourceTest : public ::testing::Test {
 protected:
  LabelSourceTest() {
    dir_.WriteFile(features::kRecordedCpuid, "");
    dir_.WriteFile("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
    host_ = *sys::Root::Open(dir_.path());
  }

  LabelLook Look(const LookOptions& options = {}) {
    if (!source_ && host_.has_value()) {
      source_ = std::make_unique<LabelSource>(*host_, config_, "n1");
    }
    return source_->Look(options);
  }

  TempDir dir_;
  std::optional<sys::Root> host_;
  config::LabelsConfig config_;
  std::unique_ptr<LabelSource> source_;
};

constexpr const char* kRule = R"(
- name: debian
  labels: {vendor.io/debian: "true"}
  matchFeatures:
  - feature: system.osrelease
    matchExpressions: {ID: {op: In, value: [debian]}}
)";

TEST_F(LabelSourceTest, TellsOfTheHostAndItsGpus) {
  const LabelLook look = Look({.gpus = {.labels = {{"nvidia.com/gpu.count", "8"}}}});
  EXPECT_THAT(look.labels.claims.labels,
              AllOf(Contains(Pair(std::string(kFeature) + "system-os_release.ID", "debian")),
                    Contains(Pair("nvidia.com/gpu.count", "8"))));
  EXPECT_THAT(look.features.attributes.at("system.name"), Contains(Pair("nodename", "n1")));
  EXPECT_TRUE(look.publishes);
}

TEST_F(LabelSourceTest, WithoutFeaturesOnlyGpusAreReported) {
  config_.features = false;
  const LabelLook look = Look({.gpus = {.labels = {{"nvidia.com/gpu.count", "8"}}}});
  EXPECT_THAT(look.labels.claims.labels, ::testing::ElementsAre(Pair("nvidia.com/gpu.count", "8")));
}

TEST_F(LabelSourceTest, WhatWeSayOfGpusMayBeLongerThanFeatures) {
  const std::string cards(4'000, 'x');
  const LabelLook look = Look({.gpus = {.annotations = {{"kgpu.dev/gpus", cards}}}});
  EXPECT_THAT(look.labels.claims.annotations, Contains(Pair("kgpu.dev/gpus", cards)));
  EXPECT_THAT(look.labels.problems, Not(Contains(HasSubstr("kgpu.dev/gpus"))));
}

TEST_F(LabelSourceTest, RuleFilesCountWhenTheyChange) {
  EXPECT_THAT(Look().labels.claims.labels, Not(Contains(Key("vendor.io/debian"))));
  dir_.WriteFile("etc/kgpu/rules.d/a.yaml", kRule);
  EXPECT_THAT(Look().labels.claims.labels, Contains(Pair("vendor.io/debian", "true")));
  dir_.WriteFile("etc/kgpu/rules.d/a.yaml", "[]");
  EXPECT_THAT(Look().labels.claims.labels, Not(Contains(Key("vendor.io/debian"))));
}

TEST_F(LabelSourceTest, AFileThatIsBeingEditedTakesNothingOff) {
  dir_.WriteFile("etc/kgpu/rules.d/a.yaml", kRule);
  Look();
  dir_.WriteFile("etc/kgpu/rules.d/a.yaml", "- name: [");
  const LabelLook look = Look();
  EXPECT_THAT(look.labels.claims.labels, Contains(Key("vendor.io/debian")));
  EXPECT_THAT(look.labels.problems, Contains(HasSubstr("its previous rules stay in use")));
  std::filesystem::remove(dir_.At("etc/kgpu/rules.d/a.yaml"));
  EXPECT_THAT(Look().labels.claims.labels, Not(Contains(Key("vendor.io/debian"))));
}

TEST_F(LabelSourceTest, AWrongRuleFileIsReportedAndHidesNoOther) {
  dir_.WriteFile("etc/kgpu/rules.d/a.yaml", "- nam: x\n");
  dir_.WriteFile("etc/kgpu/rules.d/b.yaml", kRule);
  dir_.WriteFile("etc/kgpu/rules.d/notes.txt", "- nam: x\n");
  dir_.WriteFile("etc/kgpu/rules.d/.hidden.yaml", "- nam: x\n");
  const LabelLook look = Look();
  EXPECT_THAT(look.labels.claims.labels, Contains(Key("vendor.io/debian")));
  EXPECT_THAT(look.labels.problems, Contains(HasSubstr("/etc/kgpu/rules.d/a.yaml:1:")));
  EXPECT_THAT(look.labels.problems, Not(Contains(HasSubstr("notes"))));
  EXPECT_THAT(look.labels.problems, Not(Contains(HasSubstr("hidden"))));
}

TEST_F(LabelSourceTest, AWrongRuleCostsNoOther) {
  dir_.WriteFile("etc/kgpu/rules.d/a.yaml",
                 "- name: bad\n  labels: {\"a b\": x}\n" + std::string(kRule).substr(1) +
                     "---\nkind: NodeFeatureGroup\nspec: {rules: []}\n---\n"
                     "- {name: last, labels: {vendor.io/last: \"1\"}}\n");
  const LabelLook look = Look();
  EXPECT_THAT(look.labels.claims.labels,
              AllOf(Contains(Key("vendor.io/debian")), Contains(Key("vendor.io/last"))));
  EXPECT_THAT(look.labels.problems,
              AllOf(Contains(HasSubstr("/etc/kgpu/rules.d/a.yaml:2:")),
                    Contains(HasSubstr("/etc/kgpu/rules.d/a.yaml:9:7: kind:"))));
}

TEST_F(LabelSourceTest, AWrongRuleOfNfdsConfigurationCostsNoOther) {
  dir_.WriteFile("etc/kubernetes/node-feature-discovery/nfd-worker.conf",
                 "core: {noPublish: true}\n"
                 "sources:\n"
                 "  custom:\n"
                 "  - {name: bad, labels: {a: 1}}\n"
                 "  - {name: good, labels: {vendor.io/good: \"1\"}}\n");
  const LabelLook look = Look();
  EXPECT_FALSE(look.publishes);
  EXPECT_THAT(look.labels.claims.labels, Contains(Key("vendor.io/good")));
  EXPECT_THAT(look.labels.problems,
              Contains(AllOf(HasSubstr("nfd-worker.conf:4:"),
                             HasSubstr("sources.custom[0].labels.a: 1 must be a string"))));
}

TEST_F(LabelSourceTest, NfdsConfigurationCounts) {
  dir_.WriteFile("etc/kubernetes/node-feature-discovery/nfd-worker.conf",
                 "core: {labelSources: [kernel], labelWhiteList: \"\", noPublsh: true}\n");
  const LabelLook look = Look();
  EXPECT_THAT(look.labels.claims.labels,
              Not(Contains(Key(std::string(kFeature) + "system-os_release.ID"))));
  EXPECT_THAT(look.labels.problems,
              Contains(AllOf(HasSubstr("nfd-worker.conf:1:"), HasSubstr("noPublsh"))));
}

TEST_F(LabelSourceTest, AWrongConfigurationOfNfdIsReported) {
  dir_.WriteFile("etc/kubernetes/node-feature-discovery/nfd-master.conf", "enableTaints: 7\n");
  EXPECT_THAT(Look().labels.problems,
              Contains(AllOf(HasSubstr("nfd-master.conf:1:"), HasSubstr("enableTaints"))));
}

TEST_F(LabelSourceTest, FeatureFilesCountUntilTheyExpire) {
  dir_.WriteFile("etc/kubernetes/node-feature-discovery/features.d/site",
                 "# +expiry-time=2030-01-01T00:00:00Z\nvendor.io/rack=7\n");
  const auto in_2029 = WallTime(std::chrono::sys_days(std::chrono::year(2029) / 6 / 1));
  const LabelLook look = Look({.now = in_2029});
  EXPECT_THAT(look.labels.claims.labels, Contains(Pair("vendor.io/rack", "7")));
  const WallTime expired = look.next_expiry.value_or(in_2029) + std::chrono::seconds(1);
  EXPECT_THAT(Look({.now = expired}).labels.claims.labels, Not(Contains(Key("vendor.io/rack"))));
}

TEST_F(LabelSourceTest, OurOwnFeatureFileIsNotReadBack) {
  config_.file = "/etc/kubernetes/node-feature-discovery/features.d/of-kgpu";
  dir_.WriteFile("etc/kubernetes/node-feature-discovery/features.d/of-kgpu", "vendor.io/x=1\n");
  EXPECT_THAT(Look().labels.claims.labels, Not(Contains(Key("vendor.io/x"))));
}

TEST_F(LabelSourceTest, RulesOfTheClusterCount) {
  auto rules = ParseRules(kRule, "rules.yaml");
  ASSERT_OK(rules);
  LookOptions options;
  options.cluster = std::make_shared<const ClusterLabels>(ClusterLabels{.rules = {*rules}});
  options.wants_verdicts = true;
  const LabelLook look = Look(options);
  EXPECT_THAT(look.labels.claims.labels, Contains(Key("vendor.io/debian")));
  ASSERT_EQ(look.verdicts.size(), 1U);
  EXPECT_TRUE(look.verdicts[0].is_matched);
}

TEST_F(LabelSourceTest, TheWholeKernelConfigurationIsForThoseWhoLookAtIt) {
  dir_.WriteFile("proc/sys/kernel/osrelease", "6.1.0\n");
  dir_.WriteFile("boot/config-6.1.0", "CONFIG_NO_HZ=y\nCONFIG_VENDOR_X=y\n");
  const auto kernel = [this](const LookOptions& options) {
    return Look(options).features.attributes["kernel.config"];
  };
  EXPECT_THAT(kernel({}), Not(Contains(Key("VENDOR_X"))));
  EXPECT_THAT(kernel({}), Contains(Key("NO_HZ")));
  EXPECT_THAT(kernel({.wants_all_features = true}), Contains(Key("VENDOR_X")));
  dir_.WriteFile("etc/kgpu/rules.d/a.yaml", kRule);
  EXPECT_THAT(kernel({}), Contains(Key("VENDOR_X")));
}

TEST_F(LabelSourceTest, ABadRecordingIsReportedAndGpusStillAre) {
  dir_.WriteFile(features::kRecordedCpuid, "nonsense\n");
  const LabelLook look = Look({.gpus = {.labels = {{"nvidia.com/gpu.count", "8"}}}});
  EXPECT_THAT(look.labels.claims.labels, Contains(Key("nvidia.com/gpu.count")));
  EXPECT_THAT(look.labels.problems, Contains(HasSubstr("cpuid.txt")));
}

}  // namespace
}  // namespace kgpu::labels
