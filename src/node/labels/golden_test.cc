// Rules as people write them, on recorded hosts: what each does there, and why it does not. With
// KGPU_UPDATE_GOLDENS=1 the files are written again: read the difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/features/read.h"
#include "src/node/labels/assemble.h"
#include "src/platform/sys/root.h"
#include "testing/golden.h"
#include "testing/host_tree.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::labels {
namespace {

constexpr const char* kRules = "src/node/labels/testdata/rules";

StatusOr<RuleSet> RulesOf(const char* file) {
  auto root = sys::Root::Open(KGPU_SOURCE_DIR);
  if (!root.ok()) {
    return root.status();
  }
  const auto text = root->ReadFile(fmt::format("{}/{}", kRules, file));
  return text.ok() ? ParseRules(*text, file) : StatusOr<RuleSet>(text.status());
}

void Print(std::string& text, std::string_view kind,
           const std::map<std::string, std::string>& pairs) {
  for (const auto& [key, value] : pairs) {
    fmt::format_to(std::back_inserter(text), "{} {}={}\n", kind, key, value);
  }
}

std::string Print(const Assembled& assembled) {
  std::string text;
  Print(text, "label", assembled.claims.labels);
  Print(text, "annotation", assembled.claims.annotations);
  Print(text, "extended resource", assembled.claims.extended_resources);
  for (const Taint& taint : assembled.claims.taints) {
    text += fmt::format("taint {}\n", ToString(taint));
  }
  for (const std::string& problem : assembled.problems) {
    text += fmt::format("problem {}\n", problem);
  }
  return text;
}

class RulesOnHostTest : public testing::TestWithParam<const char*> {};

TEST_P(RulesOnHostTest, DoWhatTheyDid) {
  const TempDir dir;
  UnpackRecordedHost(GetParam(), dir);
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  const auto cpuid = features::OpenCpuid(*host);
  ASSERT_OK(cpuid);
  const features::Reading reading = features::ReadFeatures(*host, {}, **cpuid);
  std::vector<RuleSet> objects;
  for (const char* file : {"30-security.yaml", "10-rdma.yaml", "20-gpu.yaml"}) {
    auto set = RulesOf(file);
    ASSERT_OK(set);
    objects.push_back(*std::move(set));
  }
  auto list = RulesOf("40-system.yaml");
  ASSERT_OK(list);
  const std::vector<RuleSet> lists = {*std::move(list)};
  Filters filters;
  filters.taints = true;
  std::vector<RuleVerdict> verdicts;
  const Assembled assembled = Assemble({.features = reading.features,
                                        .own = {},
                                        .file_rules = lists,
                                        .files = {},
                                        .foreign = {},
                                        .object_rules = objects,
                                        .own_allow = {},
                                        .filters = filters},
                                       &verdicts);
  ExpectGolden(fmt::format("src/node/labels/testdata/hosts/{}.txt", GetParam()),
               fmt::format("{}\n{}", Print(assembled), PrintVerdicts(verdicts)));
}

// kubernetes-sigs/node-feature-discovery#864, #1313, #1192, #1970: templates of matchAny alone,
// several terms of one feature, counts, references, matchName, loaded or built-in modules.
TEST(PublicReportsTest, RulesDoAsInTheRepairedNfd) {
  auto set = RulesOf("50-reports.yaml");
  ASSERT_OK(set);
  features::FeatureSet features;
  const features::Attributes gpu = {{"class", "0302"}, {"vendor", "10de"}, {"device", "1eb8"}};
  features.instances["pci.device"] = {
      gpu, gpu, {{"class", "0604"}, {"vendor", "1000"}, {"device", "c010"}}};
  features.attributes["kernel.version"] = {{"major", "6"}, {"minor", "1"}};
  features.attributes["kernel.config"] = {};
  features.flags["kernel.loadedmodule"] = {"nvidia", "nvidia_uvm"};
  features.flags["kernel.enabledmodule"] = {};
  const std::vector<RuleSet> objects = {*std::move(set)};
  const Assembled done = Assemble({.features = features,
                                   .own = {},
                                   .file_rules = {},
                                   .files = {},
                                   .foreign = {},
                                   .object_rules = objects,
                                   .own_allow = {},
                                   .filters = {}},
                                  nullptr);
  const std::string ours = "feature.node.kubernetes.io/";
  EXPECT_THAT(
      done.claims.labels,
      testing::UnorderedElementsAre(
          testing::Pair("vendor.io/pci-device.0302-1eb8", "exists"),
          testing::Pair("vendor.io/pci-device.0604-c010", "exists"),
          testing::Pair(ours + "anyonly-10de", "true"), testing::Pair(ours + "foo.bar.count", "2"),
          testing::Pair(ours + "kmajor", "6"), testing::Pair(ours + "nvmods", "true"),
          testing::Pair(ours + "nvidia-any", "true"),
          testing::Pair("nvidia.com/from-rule", "true")));
  EXPECT_THAT(done.claims.annotations, testing::ElementsAre(testing::Pair("my.io/note", "hello")));
  EXPECT_THAT(done.claims.extended_resources,
              testing::ElementsAre(testing::Pair("vendor.io/nums", "1")));
  EXPECT_THAT(done.problems,
              testing::AllOf(testing::Contains(
                                 testing::HasSubstr("\"@kernel.config.LSM\": kernel.config has no "
                                                    "such element")),
                             testing::Contains(testing::HasSubstr("kubernetes.io/not-allowed"))));
}

std::string TestName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase_if(name, [](char c) { return c == '-'; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Hosts, RulesOnHostTest,
                         testing::Values("amd-epyc-sev", "arm-server", "intel-sriov-nvme", "rhcos",
                                         "vm-no-dmi"),
                         TestName);

}  // namespace
}  // namespace kgpu::labels
