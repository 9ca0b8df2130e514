// kgpu labels against simulated hosts: what GPUs say of a node, in every strategy; feature files;
// rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/platform/sys/unix_socket.h"
#include "testing/golden.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LabelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
  }

  // `kgpu labels` with this configuration; an empty one is the defaults.
  static Result Labels(const SimHost& host, std::vector<std::string> words,
                       const std::string& config = "") {
    host.dir().WriteFile(
        "config.yaml",
        config.empty() ? "" : "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n" + config);
    words.insert(words.begin(), "labels");
    words.insert(words.end(), {"--config", host.dir().At("config.yaml")});
    return host.Kgpu(words);
  }

  static void ExpectGpuLabels(const SimHost& host, const std::string& name,
                              const std::string& config = "") {
    const Result result = Labels(host, {"--only", "gpus"}, config);
    EXPECT_EQ(result.code, 0) << result.err;
    ExpectGolden("tests/data/labels/" + name + ".labels", result.out);
  }
};

TEST_F(LabelsTest, EveryProfileHasTheLabelsOfItsGpus) {
  for (const char* profile :
       {"8xA100-SXM4-80GB", "8xH100-SXM5-80GB", "8xH200-SXM5-141GB", "8xB200", "16xA100", "4xT4",
        "4xK80", "2xL40S", "1xQuadro-K620", "mixed", "8xA100-mig", "none"}) {
    const SimHost host(profile);
    ExpectGpuLabels(host, profile);
  }
}

TEST_F(LabelsTest, EveryStrategyHasItsOwn) {
  const SimHost host("8xA100-mig");
  ExpectGpuLabels(host, "8xA100-mig-single", "migStrategy: single\n");
  ExpectGpuLabels(host, "8xA100-mig-mixed", "migStrategy: mixed\n");
}

TEST_F(LabelsTest, SharingShows) {
  const SimHost host("4xT4");
  ExpectGpuLabels(host, "4xT4-shared",
                  "pools: [{resource: nvidia.com/gpu, share: {by: time, replicas: 10}}]\n");
}

TEST_F(LabelsTest, AnnotationsListTheCards) {
  const SimHost host("mixed");
  const Result result = Labels(host, {"--only", "gpus", "--output", "json"});
  ExpectGolden("tests/data/labels/mixed.json", result.out);
}

// NVIDIA/k8s-device-plugin#1482, Project-HAMi/HAMi#1511: NVML does not report the memory of a GB10.
TEST_F(LabelsTest, AGpuWithoutMemoryIsServedWithoutMadeUpValues) {
  SimHost host("4xT4");
  host.Inject("refuse", {"3", "--call", "nvmlDeviceGetMemoryInfo"});
  EXPECT_THAT(host.Kgpu({"devices"}).out, HasSubstr("0    T4     -"));
  const Result labels = Labels(host, {"--only", "gpus"});
  EXPECT_THAT(labels.out, AllOf(HasSubstr("nvidia.com/gpu.count=4"), Not(HasSubstr(".memory="))));
  const Result page = host.Kgpu({"metrics", "--once", "--names", "kgpu,dcgm,gke"});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.out, AllOf(HasSubstr("kgpu_gpu_temperature"), Not(HasSubstr("FB_TOTAL")),
                              Not(HasSubstr("kgpu_gpu_memory_used"))));
  host.dir().WriteFile("slices.yaml",
                       "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n"
                       "pools: [{devices: all, share: {by: memory, size: 20Gi}}]\n");
  EXPECT_THAT(host.Kgpu({"config", "assign", host.dir().At("slices.yaml")}).out,
              HasSubstr("the driver does not report its memory, so it cannot be divided: set "
                        "share.by: time"));
  host.dir().WriteFile("time.yaml",
                       "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n"
                       "pools: [{devices: all, share: {by: time, replicas: 4}}]\n");
  EXPECT_THAT(host.Kgpu({"config", "assign", host.dir().At("time.yaml")}).out,
              HasSubstr("nvidia.com/gpu"));
}

TEST_F(LabelsTest, AFabricIsAClique) {
  SimHost host("8xH200-SXM5-141GB");
  for (const char* gpu : {"0", "1", "2", "3", "4", "5", "6", "7"}) {
    host.Inject("set", {gpu, "fabric-state", "3"});
    host.Inject("set", {gpu, "fabric-cluster", "258"});
    host.Inject("set", {gpu, "fabric-clique", "32766"});
  }
  EXPECT_THAT(Labels(host, {"--only", "gpus"}).out,
              HasSubstr("nvidia.com/gpu.clique=6b000000-0000-0000-0000-000000000102.32766\n"));
}

TEST_F(LabelsTest, GpusWithoutADriverAreSaidToBeThere) {
  SimHost host("4xT4");
  host.Inject("unload");
  const Result result = Labels(host, {"--only", "gpus"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("nvidia.com/gpu.present=true\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("nvidia.com/gpu.count")));
  EXPECT_THAT(result.err, Not(IsEmpty()));
}

TEST_F(LabelsTest, FeaturesAndGpusComeTogether) {
  const SimHost host("8xA100-SXM4-80GB");
  const Result result = Labels(host, {});
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("feature.node.kubernetes.io/pci-0302_10de.present=true\n"),
                    HasSubstr("feature.node.kubernetes.io/kernel-version.major="),
                    HasSubstr("nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB\n")));
}

TEST_F(LabelsTest, RulesMatchWhatTheHostIs) {
  const SimHost host("8xA100-SXM4-80GB");
  host.dir().WriteFile("host/etc/kgpu/rules.d/a.yaml", R"(
- name: datacenter-gpu
  labels: {vendor.io/datacenter-gpu: "true"}
  matchFeatures:
  - feature: pci.device
    matchExpressions: {vendor: {op: In, value: ["10de"]}, class: {op: In, value: ["0302"]}}
- name: never
  labels: {vendor.io/never: "true"}
  matchFeatures:
  - feature: pci.device
    matchExpressions: {vendor: {op: In, value: ["ffff"]}}
)");
  EXPECT_THAT(Labels(host, {}).out, AllOf(HasSubstr("vendor.io/datacenter-gpu=true\n"),
                                          Not(HasSubstr("vendor.io/never"))));
  const Result explained = Labels(host, {"--explain-rules"});
  EXPECT_THAT(explained.out,
              AllOf(HasSubstr("datacenter-gpu: matches"), HasSubstr("never: does not match")));
}

TEST_F(LabelsTest, NamedRulesAreRelativeToTheCurrentDirectory) {
  const SimHost host("none");
  host.dir().WriteFile("rules/a.yaml", "- {name: always, labels: {vendor.io/a: \"yes\"}}\n");
  host.dir().WriteFile("b.yaml", "- {name: always, labels: {vendor.io/b: \"yes\"}}\n");
  std::string words = "cd " + host.dir().path() + " && exec " + ProgramPath("kgpu") +
                      " labels --config /dev/null --rules ./rules b.yaml";
  for (const std::string& flag : host.flags()) {
    words += " " + flag;
  }
  const Result result = RunProgram({"/bin/sh", "-c", words});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("vendor.io/a=yes\n"), HasSubstr("vendor.io/b=yes\n")));
}

TEST(LabelsFlagsTest, RulesThatDoNotExistAreAUsageError) {
  const Result result = RunProgram({"kgpu", "labels", "--rules", "./no/such/rules"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--rules: ./no/such/rules: no such file or folder"));
}

TEST_F(LabelsTest, ARulesFolderOfTheConfigurationThatDoesNotExistIsReported) {
  const SimHost host("none");
  const Result result = Labels(host, {}, "labels: {rules: /no/such/rules}\n");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("/no/such/rules: no such file or folder"));
}

TEST_F(LabelsTest, RawFeaturesAreWhatRulesSee) {
  const SimHost host("4xT4");
  const Result result = Labels(host, {"--features", "--output", "yaml"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("pci.device"), HasSubstr("vendor: 10de"),
                                HasSubstr("kernel.version")));
}

TEST_F(LabelsTest, AFeatureFileIsWrittenOnceAndRemoved) {
  const SimHost host("4xT4");
  const std::string file = "host/etc/kubernetes/node-feature-discovery/features.d/kgpu";
  EXPECT_EQ(Labels(host, {"--write-file"}).code, 3) << "NFD does not run here";
  host.dir().MakeDir("host/etc/kubernetes/node-feature-discovery/features.d");
  EXPECT_THAT(Labels(host, {"--write-file"}).err, HasSubstr("written"));
  EXPECT_THAT(host.dir().ReadFile(file), HasSubstr("nvidia.com/gpu.product=Tesla-T4\n"));
  EXPECT_THAT(Labels(host, {"--write-file"}).err, HasSubstr("no changes"));
  EXPECT_EQ(Labels(host, {"--remove-file"}).code, 0);
  EXPECT_EQ(host.dir().ReadFile(file), "");
}

constexpr const char* kFeatureFile = "host/etc/kubernetes/node-feature-discovery/features.d/kgpu";

TEST_F(LabelsTest, ADryRunOfTheFeatureFileShowsTheChangeAndMakesNone) {
  const SimHost host("4xT4");
  host.dir().MakeDir("host/etc/kubernetes/node-feature-discovery/features.d");
  const Result writes = Labels(host, {"--write-file", "--dry-run"});
  EXPECT_EQ(writes.code, 0) << writes.err;
  EXPECT_THAT(writes.out, AllOf(HasSubstr("--- /dev/null\n"),
                                HasSubstr("\n+nvidia.com/gpu.product=Tesla-T4\n")));
  EXPECT_EQ(host.dir().ReadFile(kFeatureFile), "");

  EXPECT_EQ(Labels(host, {"--write-file"}).code, 0);
  const std::string written = host.dir().ReadFile(kFeatureFile);
  const Result removes = Labels(host, {"--remove-file", "--dry-run"});
  EXPECT_EQ(removes.code, 0) << removes.err;
  EXPECT_THAT(removes.out, AllOf(HasSubstr("+++ /dev/null\n"),
                                 HasSubstr("\n-nvidia.com/gpu.product=Tesla-T4\n")));
  EXPECT_EQ(host.dir().ReadFile(kFeatureFile), written);
}

TEST(LabelsFlagsTest, OnlyOneOfTheActionsIsTaken) {
  for (const std::vector<std::string>& two : {std::vector<std::string>{"--apply", "--write-file"},
                                              {"--apply", "--remove-file"},
                                              {"--write-file", "--remove-file"}}) {
    const Result result = RunProgram({"kgpu", "labels", "--dry-run", two[0], two[1]});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr(two[0]), HasSubstr(two[1])));
  }
}

// NFD takes labels off the node that are not in the file any more.
TEST_F(LabelsTest, AFeatureFileWithoutTheGpuLabelsIsNotWritten) {
  SimHost host("4xT4");
  host.dir().MakeDir("host/etc/kubernetes/node-feature-discovery/features.d");
  ASSERT_EQ(Labels(host, {"--write-file"}).code, 0);
  const std::string written = host.dir().ReadFile(kFeatureFile);

  const Result partial = Labels(host, {"--write-file", "--only", "features"});
  EXPECT_EQ(partial.code, 2);
  EXPECT_THAT(partial.err, HasSubstr("--write-file writes all labels: remove --only features"));
  EXPECT_EQ(host.dir().ReadFile(kFeatureFile), written);

  host.Inject("unload");
  const Result silent = Labels(host, {"--write-file"});
  EXPECT_EQ(silent.code, 6);
  EXPECT_THAT(silent.err, HasSubstr("the GPU labels are unknown"));
  EXPECT_EQ(host.dir().ReadFile(kFeatureFile), written);
}

TEST_F(LabelsTest, AnAgentBelowTheHostRootIsNotInterferedWith) {
  const SimHost host("none");
  host.dir().MakeDir("host/etc/kubernetes/node-feature-discovery/features.d");
  host.dir().MakeDir("host/run/kgpu");
  const auto listener = sys::UnixListener::Listen(host.dir().At("host/run/kgpu/agent.sock"), {});
  ASSERT_TRUE(listener.ok());
  for (const char* action : {"--apply", "--write-file"}) {
    const Result result = Labels(host, {action, "--node", "n"});
    EXPECT_EQ(result.code, 6) << result.err;
    EXPECT_THAT(result.err, HasSubstr("an agent is running here"));
  }
  EXPECT_EQ(Labels(host, {"--write-file", "--dry-run"}).code, 0);
  EXPECT_EQ(host.dir().ReadFile(kFeatureFile), "");
}

TEST(LabelsCheckTest, SaysWhatIsWrongWithRules) {
  const TempDir dir;
  dir.WriteFile("good.yaml", "- {name: a, labels: {x: y}}\n");
  dir.WriteFile("bad.yaml", "- {name: a, lables: {x: y}}\n");
  const Result good = RunProgram({"kgpu", "labels", "check", dir.At("good.yaml")});
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.out, HasSubstr("good.yaml: OK: 1 rule\n"));
  const Result bad = RunProgram({"kgpu", "labels", "check", dir.At("bad.yaml")});
  EXPECT_EQ(bad.code, 7);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("bad.yaml:1:"), HasSubstr("\"labels\"")));
  // kubernetes-sigs/node-feature-discovery-operator#268: such a rule never matches, and nobody says
  // so.
  dir.WriteFile("typo.yaml",
                "- name: t\n"
                "  labels: {a: \"@kernel.version.majr\"}\n"
                "  matchFeatures:\n"
                "  - feature: pci.devices\n"
                "    matchExpressions: {vendor: {op: Exists}}\n"
                "  - feature: pci.device\n"
                "    matchExpressions: {vendorid: {op: Exists}}\n"
                "  - feature: kubernetes.label\n");
  const Result typo = RunProgram({"kgpu", "labels", "check", dir.At("typo.yaml")});
  EXPECT_EQ(typo.code, 0) << "feature files and objects may bring more";
  EXPECT_THAT(typo.out, AllOf(HasSubstr("typo.yaml:2:"), HasSubstr("kernel.version never has majr"),
                              HasSubstr("typo.yaml:4:"), HasSubstr("did you mean pci.device?"),
                              HasSubstr("typo.yaml:6:"), HasSubstr("did you mean vendor?"),
                              HasSubstr("typo.yaml:8:"), HasSubstr("(warning)\n")));
  const Result json = RunProgram(
      {"kgpu", "labels", "check", dir.At("good.yaml"), dir.At("bad.yaml"), "--output", "json"});
  EXPECT_EQ(json.code, 7);
  EXPECT_THAT(json.out, AllOf(HasSubstr(R"("summary": "1 rule")"), HasSubstr(R"("valid": false)")));
}

}  // namespace
}  // namespace kgpu::e2e
