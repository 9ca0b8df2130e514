#include "src/node/labels/nfd_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/host/features/read.h"
#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::string> Texts(const std::vector<config::Note>& notes) {
  std::vector<std::string> texts;
  for (const config::Note& note : notes) {
    texts.push_back(note.text);
  }
  return texts;
}

TEST(NfdWorkerConfigTest, NothingMeansTheDefaults) {
  for (const std::string_view text : {"", "# core:\n", "core:\nsources:\n", "{}"}) {
    const auto converted = ReadNfdWorkerConfig(text, "w.conf");
    ASSERT_OK(converted);
    EXPECT_EQ(converted->settings, LabelsSettings{}) << text;
    EXPECT_THAT(converted->notes, IsEmpty());
  }
}

TEST(NfdWorkerConfigTest, TakesWhatHasAMeaningHere) {
  const auto converted = ReadNfdWorkerConfig(R"(
core:
  labelWhiteList: "^cpu-"
  noPublish: true
  noOwnerRefs: true
  sleepInterval: 60s
  featureSources: [all, -usb]
  labelSources: [all, -local]
  noPublishFeatures: [kernel.config, "usb.*"]
  klog: {v: 1}
sources:
  cpu: {cpuid: {attributeBlacklist: [MMX], attributeWhitelist: [AVX2]}}
  kernel: {kconfigFile: /boot/config, configOpts: [NO_HZ, X86]}
  pci: {deviceClassWhitelist: ["0200", "0B40"], deviceLabelFields: [class, vendor, device]}
  usb: {deviceClassWhitelist: ["0e"], deviceLabelFields: [class, serial]}
  custom:
  - {name: r, labels: {a: b}, matchFeatures: [{feature: pci.device}]}
)",
                                             "w.conf");
  ASSERT_OK(converted);
  const LabelsSettings& settings = converted->settings;
  EXPECT_THAT(settings.features.feature_sources, ElementsAre("all", "-usb"));
  EXPECT_THAT(settings.features.label_sources, ElementsAre("all", "-local"));
  EXPECT_THAT(settings.features.cpuid_denied, ElementsAre("MMX"));
  EXPECT_THAT(settings.features.cpuid_allowed, ElementsAre("AVX2"));
  EXPECT_EQ(settings.features.kernel_config_file, "/boot/config");
  EXPECT_THAT(settings.features.kernel_config_options, ElementsAre("NO_HZ", "X86"));
  EXPECT_THAT(settings.features.pci_classes, ElementsAre("0200", "0b40"));
  EXPECT_THAT(settings.features.pci_label_fields, ElementsAre("class", "vendor", "device"));
  EXPECT_THAT(settings.features.usb_classes, ElementsAre("0e"));
  EXPECT_THAT(settings.features.usb_label_fields, ElementsAre("class", "serial"));
  EXPECT_TRUE(settings.reads_feature_files);
  EXPECT_FALSE(settings.labels_feature_files);
  EXPECT_TRUE(settings.runs_file_rules);
  EXPECT_FALSE(settings.publishes);
  EXPECT_THAT(settings.unpublished, ElementsAre("kernel.config", "usb.*"));
  ASSERT_EQ(settings.own_allow.size(), 1U);
  EXPECT_EQ(settings.own_allow[0].text(), "^cpu-");
  ASSERT_EQ(settings.rules.size(), 1U);
  EXPECT_EQ(settings.rules[0].name, "w.conf: sources.custom");
  EXPECT_THAT(
      Texts(converted->notes),
      testing::IsSupersetOf(
          {"w.conf:5:3: core.noOwnerRefs: not converted: kgpu's NodeFeature object belongs to its "
           "node",
           "w.conf:6:3: core.sleepInterval: not needed: kgpu writes on changes, not periodically",
           "w.conf:16:3: sources.custom: converted: 1 rule"}));
}

TEST(NfdWorkerConfigTest, TheOldNameOfLabelSourcesWins) {
  const auto converted = ReadNfdWorkerConfig(
      "core: {labelSources: [cpu], sources: [pci, custom], FEATURESOURCES: [pci]}", "w.conf");
  ASSERT_OK(converted);
  EXPECT_THAT(converted->settings.features.label_sources, ElementsAre("pci", "custom"));
  EXPECT_THAT(converted->settings.features.feature_sources, ElementsAre("pci"));
  EXPECT_FALSE(converted->settings.reads_feature_files);
  EXPECT_TRUE(converted->settings.runs_file_rules);
}

TEST(NfdWorkerConfigTest, TellsUnknownKeysAndRefusesWhatMeansNothing) {
  const auto converted = ReadNfdWorkerConfig(
      "core: {labelWhitelist: x, labelSource: [cpu]}\nsources: {pci: {deviceClass: []}, gpu: {}}",
      "w.conf");
  ASSERT_OK(converted);
  EXPECT_THAT(Texts(converted->notes),
              ElementsAre(HasSubstr("core.labelWhitelist: converted"),
                          HasSubstr("core.labelSource: unknown key: also ignored by its owner; did "
                                    "you mean \"labelSources\"?"),
                          HasSubstr("sources.pci.deviceClass: unknown key"),
                          HasSubstr("sources.gpu: unknown key")));
  struct Refusal {
    std::string_view text;
    std::string_view error;
  };
  for (const auto& [text, error] : std::initializer_list<Refusal>{
           {"core: {labelWhiteList: \"(\"}",
            "w.conf:1:24: core.labelWhiteList: \"(\" must be a regular"},
           {"core: {noPublish: \"yes\"}", "core.noPublish: \"yes\" must be true or false"},
           {"core: {featureSources: all}", "core.featureSources: \"all\" must be a list"},
           {"sources: {pci: {deviceClassWhitelist: [0200]}}", "must be a string: put it in quotes"},
           {"sources: {pci: {deviceClassWhitelist: [gpu]}}", "\"gpu\" must be a class"},
           {"sources: {usb: {deviceLabelFields: [subsystem_vendor]}}",
            "\"subsystem_vendor\" must be one of class, vendor, device, serial"},
           {"sources: [", "w.conf:"},
       }) {
    EXPECT_THAT(ReadNfdWorkerConfig(text, "w.conf"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(error))))
        << text;
  }
}

TEST(NfdWorkerConfigTest, AWrongRuleCostsNoOther) {
  const auto converted = ReadNfdWorkerConfig(
      "sources: {custom: [{name: x, labels: {a: 1}}, {name: y, labels: {a: b}}]}", "w.conf");
  ASSERT_OK(converted);
  ASSERT_EQ(converted->settings.rules.size(), 1U);
  ASSERT_EQ(converted->settings.rules[0].rules.size(), 1U);
  EXPECT_EQ(converted->settings.rules[0].rules[0].name, "y");
  EXPECT_THAT(
      converted->problems,
      ElementsAre(HasSubstr("w.conf:1:42: sources.custom[0].labels.a: 1 must be a string")));
}

// NVIDIA/gpu-feature-discovery#77, NVIDIA/gpu-operator#438: labels by vendor alone.
TEST(NfdWorkerConfigTest, PciLabelsMayHaveTheVendorAlone) {
  const auto converted = ReadNfdWorkerConfig(
      "sources:\n"
      "  pci:\n"
      "    deviceClassWhitelist: [\"02\", \"0200\", \"0300\", \"0302\"]\n"
      "    deviceLabelFields: [vendor]\n",
      "w.conf");
  ASSERT_OK(converted);
  features::FeatureSet features;
  features.instances["pci.device"] = {{{"class", "0302"}, {"vendor", "10de"}, {"device", "1eb8"}},
                                      {{"class", "0106"}, {"vendor", "8086"}, {"device", "a282"}}};
  EXPECT_THAT(features::FeatureLabels(features, converted->settings.features, nullptr),
              ElementsAre(Pair("feature.node.kubernetes.io/pci-10de.present", "true")));
}

TEST(NfdMasterConfigTest, TakesFiltersUponTheWorkers) {
  LabelsSettings base;
  base.unpublished = {"kernel.config"};
  const auto converted = ReadNfdMasterConfig(R"(
noPublish: false
extraLabelNs: [added.ns.io]
denyLabelNs: [denied.ns.io, "*.bad.io"]
enableTaints: true
labelWhiteList: foo
resyncPeriod: 2h
nfdApiParallelism: 1
informerPageSize: 50
leaderElection: {leaseDuration: 15s}
klog: {v: 0}
restrictions:
  disableLabels: true
  disableExtendedResources: true
  disableAnnotations: true
  allowOverwrite: false
  denyNodeFeatureLabels: true
  nodeFeatureNamespaceSelector: {matchLabels: {a: b}}
)",
                                             "m.conf", base);
  ASSERT_OK(converted);
  const LabelsSettings& settings = converted->settings;
  EXPECT_THAT(settings.unpublished, ElementsAre("kernel.config"));
  EXPECT_TRUE(settings.publishes);
  EXPECT_FALSE(settings.takes_over);
  EXPECT_THAT(settings.filters.extra_namespaces, ElementsAre("added.ns.io"));
  EXPECT_THAT(settings.filters.denied_namespaces, ElementsAre("denied.ns.io", "*.bad.io"));
  ASSERT_EQ(settings.filters.label_allow.size(), 1U);
  EXPECT_TRUE(settings.filters.taints);
  EXPECT_FALSE(settings.filters.labels);
  EXPECT_FALSE(settings.filters.annotations);
  EXPECT_FALSE(settings.filters.extended_resources);
  EXPECT_FALSE(settings.filters.foreign_labels);
  EXPECT_THAT(Texts(converted->notes),
              Contains(HasSubstr("restrictions.nodeFeatureNamespaceSelector: not converted")));
  EXPECT_THAT(Texts(converted->notes), Contains(HasSubstr("resyncPeriod: not needed")));
}

TEST(NfdMasterConfigTest, RestrictedTaintsStayOff) {
  for (const std::string_view text :
       {"{enableTaints: true, restrictions: {disableTaints: true}}",
        "{restrictions: {disableTaints: true}, enableTaints: true}", "{}"}) {
    const auto converted = ReadNfdMasterConfig(text, "m.conf");
    ASSERT_OK(converted);
    EXPECT_FALSE(converted->settings.filters.taints) << text;
  }
}

}  // namespace
}  // namespace kgpu::labels
