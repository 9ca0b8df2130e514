#include "src/diagnose/manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "src/diagnose/manifest/view.h"
#include "testing/status_matchers.h"

namespace kgpu::manifest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ReadSource(const std::string& path) {
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Report Check(const std::string& text, const KubernetesVersion& target = kNewestKubernetes) {
  auto report = CheckManifest(text, "m.yaml", target);
  EXPECT_OK(report);
  return report.ok() ? *std::move(report) : Report{};
}

std::vector<std::string> IdsOf(const std::vector<Match>& findings) {
  std::vector<std::string> ids;
  for (const Match& found : findings) {
    ids.emplace_back(found.finding.id);
  }
  return ids;
}

// A pod with one container; both texts are indented as its fields are.
std::string Pod(const std::string& container, const std::string& spec = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n" + spec +
         "  containers:\n  - name: c\n" + container;
}

constexpr const char* kLimit = "    resources: {limits: {nvidia.com/gpu: 1}}\n";

struct Row {
  std::string name;
  std::string text;
  std::string id;
  bool is_fixed;
};

std::vector<Row> Rows() {
  const std::string claim =
      "apiVersion: resource.k8s.io/v1alpha3\nkind: ResourceClaim\nspec:\n"
      "  devices:\n    requests:\n"
      "    - {name: gpu, deviceClassName: gpu.nvidia.com}\n";
  return {
      {"same", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n", "api-gone", true},
      {"psp", "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\n", "api-gone", false},
      {"ingress", "apiVersion: extensions/v1beta1\nkind: Ingress\n", "api-gone", false},
      {"workload without labels", "apiVersion: apps/v1beta2\nkind: Deployment\n", "api-gone",
       false},
      {"claim", claim, "api-gone", true},
      {"old key", Pod("    resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 1}}\n"),
       "resource-key-gone", true},
      {"fraction", Pod("    resources: {limits: {nvidia.com/gpu: 0.5}}\n"), "gpu-fraction", false},
      {"request alone", Pod("    resources: {requests: {nvidia.com/gpu: 1}}\n"),
       "gpu-request-without-limit", true},
      {"unequal",
       Pod("    resources: {requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 1}}\n"),
       "gpu-request-differs", true},
      {"driver files",
       Pod(kLimit, "  volumes: [{name: v, hostPath: {path: /usr/lib/nvidia-384}}]\n"),
       "host-driver-mount", true},
      {"device node", Pod(kLimit, "  volumes:\n  - {name: v, hostPath: {path: /dev/nvidia0}}\n"),
       "host-driver-mount", true},
      {"driver files without a GPU",
       Pod("    image: x\n", "  volumes: [{name: v, hostPath: {path: /usr/lib/nvidia-384}}]\n"),
       "host-driver-mount", false},
      {"all with a GPU",
       Pod("    env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]\n" + std::string(kLimit)),
       "visible-devices-set", true},
      {"all without one", Pod("    env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]\n"),
       "visible-devices-set", false},
      {"privileged", Pod("    securityContext: {privileged: true}\n" + std::string(kLimit)),
       "gpu-privileged", false},
      {"runtime class", Pod("    image: x\n", "  runtimeClassName: nvidia\n"),
       "runtime-class-without-gpu", false},
      {"label", Pod("    image: x\n", "  nodeSelector: {accelerator: nvidia-tesla-k80}\n"),
       "node-label-gone", false},
      {"affinity",
       Pod("    image: x\n",
           "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: [{matchExpressions: [{key: beta.kubernetes.io/os, operator: "
           "Exists}]}]}}}\n"),
       "node-label-gone", true},
      {"taint", Pod("    image: x\n", "  tolerations: [{key: node-role.kubernetes.io/master}]\n"),
       "taint-gone", true},
      {"annotation",
       "kind: Service\nmetadata: {annotations: {experimental.kubernetes.io/nvidia-gpu: x}}\n",
       "annotation-gone", true},
      {"gate", Pod("    args: ['--feature-gates=Accelerators=true,Other=true']\n"),
       "feature-gate-gone", true},
      {"kubelet's gate", "kind: KubeletConfiguration\nfeatureGates: {DevicePlugins: true}\n",
       "feature-gate-gone", true},
      {"quota", "kind: ResourceQuota\nspec: {hard: {requests.alpha.kubernetes.io/nvidia-gpu: 4}}\n",
       "resource-key-gone", true},
      {"range",
       "kind: LimitRange\nspec:\n  limits:\n  - max: {alpha.kubernetes.io/nvidia-gpu: 4}\n",
       "resource-key-gone", true},
      {"workflow's step",
       "kind: Workflow\nspec:\n  templates:\n  - name: a\n    container:\n      image: x\n"
       "      resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 1}}\n",
       "resource-key-gone", true},
      {"privileged in the words of an older YAML",
       Pod("    securityContext: {privileged: yes}\n" + std::string(kLimit)), "gpu-privileged",
       false},
      {"budget for all",
       "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nspec: {selector: {}}\n", "api-gone",
       false},
      {"a scheduler policy: extenders are now set in a KubeSchedulerConfiguration",
       "apiVersion: v1\nkind: Policy\n", "api-gone", false},
      {"CUDA image without a distribution", Pod("    image: nvidia/cuda:9.0-base\n"), "image-gone",
       false},
      {"old device plugin", Pod("    image: nvidia/k8s-device-plugin:1.0.0-beta\n"),
       "image-outdated", false},
      {"NFD's operator", "apiVersion: nfd.openshift.io/v1\nkind: NodeFeatureDiscovery\n",
       "nfd-operator", false},
      {"driver installer", Pod("    image: cos-nvidia-installer:fixed\n"), "driver-installer",
       false},
      {"merge key", "x: &x {a: 1}\ny:\n  <<: *x\n", "merge-key", false},
      {"kubelet's flag", Pod("    command: [kubelet, --network-plugin=cni]\n"), "kubelet-flag-gone",
       true},
  };
}

TEST(ManifestTest, EveryFindingHasItsManifestAndIsFixedWhereItSaysSo) {
  std::set<std::string, std::less<>> seen;
  for (const Row& row : Rows()) {
    const Report report = Check(row.text);
    EXPECT_THAT(IdsOf(report.findings), ElementsAre(row.id)) << row.name;
    EXPECT_EQ(report.left.empty(), row.is_fixed) << row.name << "\n" << report.modern;
    EXPECT_EQ(report.modern != row.text, row.is_fixed) << row.name;
    EXPECT_EQ(Check(report.modern).findings.empty(), row.is_fixed) << row.name;
    for (const Match& found : report.findings) {
      EXPECT_FALSE(found.advice.empty()) << row.name;
      EXPECT_FALSE(found.finding.message.empty()) << row.name;
      seen.insert(found.finding.id);
    }
  }
  for (const report::Kind& rule : AllRules()) {
    EXPECT_TRUE(seen.contains(rule.id)) << rule.id << " has no manifest";
  }
  EXPECT_EQ(seen.size(), AllRules().size()) << "a finding is not in the table";
}

TEST(ManifestTest, ImagesAreJudgedByRegistryAndTag) {
  const struct {
    const char* image;
    const char* id;  // empty: nothing is wrong with it
  } kImages[] = {
      {"nvidia/cuda", "image-gone"},
      {"nvidia/cuda:latest", "image-gone"},
      {"docker.io/nvidia/cuda:10.2-base-ubuntu18.04", "image-gone"},
      {"nvidia/cuda:11.0-base", "image-gone"},
      {"nvidia/cuda:12.4.1-base-ubuntu22.04", ""},
      {"nvidia/cuda:12.4.1-cudnn-devel-rockylinux8", ""},
      {"nvidia/cuda@sha256:00", ""},
      {"registry.example:5000/nvidia/cuda:9.0-base", ""},
      {"nvcr.io/nvidia/k8s-device-plugin:1.0.0-beta6", "image-outdated"},
      {"nvidia/k8s-device-plugin:1.11", "image-outdated"},
      {"nvidia/k8s-device-plugin:v1.9", "image-outdated"},
      {"nvcr.io/nvidia/k8s-device-plugin:v0.17.0", ""},
      {"k8s.gcr.io/cuda-vector-add:v0.1", "image-outdated"},
      {"k8s.gcr.io/pause:3.2", "image-outdated"},
      {"registry.k8s.io/pause:3.9", ""},
      {"cos-nvidia-installer:fixed", "driver-installer"},
      {"gcr.io/google-containers/ubuntu-nvidia-driver-installer@sha256:00", "driver-installer"},
      {"nvcr.io/nvidia/driver:550.54.15-ubuntu22.04", "driver-installer"},
      {"example.com/nvidia/driver-tests:1", ""},
      {"nvidia/k8s-device-plugin:v1.0.0", ""}};
  for (const auto& row : kImages) {
    const Report report = Check(Pod(fmt::format("    image: {}\n", row.image)));
    const std::vector<std::string> ids =
        *row.id == '\0' ? std::vector<std::string>() : std::vector<std::string>{row.id};
    EXPECT_EQ(IdsOf(report.findings), ids) << row.image;
  }
}

// Its shape: the installer is an init container of a privileged pod that sees the whole node.
TEST(ManifestTest, GkesInstallerOfTheDriverIsNamedWithItsFolder) {
  const Report report = Check(
      "apiVersion: apps/v1\nkind: DaemonSet\n"
      "metadata: {name: nvidia-driver-installer, namespace: kube-system}\n"
      "spec:\n  selector: {matchLabels: {k8s-app: nvidia-driver-installer}}\n  template:\n"
      "    metadata: {labels: {k8s-app: nvidia-driver-installer}}\n    spec:\n"
      "      volumes: [{name: nvidia, hostPath: {path: /home/kubernetes/bin/nvidia}},\n"
      "        {name: dev, hostPath: {path: /dev}}, {name: root, hostPath: {path: /}}]\n"
      "      initContainers:\n      - name: nvidia-driver-installer\n"
      "        image: cos-nvidia-installer:fixed\n"
      "        securityContext: {privileged: true}\n"
      "      containers: [{name: pause, image: \"registry.k8s.io/pause:3.9\"}]\n");
  ASSERT_THAT(IdsOf(report.findings), ElementsAre("driver-installer"));
  const Match& found = report.findings[0];
  EXPECT_EQ(found.finding.severity, Severity::kInfo);
  EXPECT_EQ(found.path.str(), "spec.template.spec.initContainers[0].image");
  EXPECT_THAT(found.finding.message, HasSubstr("/home/kubernetes/bin/nvidia of each node"));
  EXPECT_THAT(found.advice, HasSubstr("agent.driverRoot=/home/kubernetes/bin/nvidia"));
}

// A pod of the first guides: the driver's files by hand, the GPU by the old key.
TEST(ManifestTest, MountsOfAPodWithTheOldKeyAreFixedWithIt) {
  const Report report =
      Check(Pod("    resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 1}}\n"
                "    volumeMounts:\n    - {name: bin, mountPath: /usr/local/nvidia/bin}\n"
                "    - {name: lib, mountPath: /usr/local/nvidia/lib}\n"
                "    - {name: data, mountPath: /data}\n",
                "  volumes:\n  - {name: bin, hostPath: {path: /usr/bin}}\n"
                "  - {name: lib, hostPath: {path: /usr/lib64/nvidia}}\n"
                "  - {name: data, hostPath: {path: /data}}\n"));
  EXPECT_THAT(IdsOf(report.findings),
              ElementsAre("resource-key-gone", "host-driver-mount", "host-driver-mount"));
  for (const Match& match : report.findings) {
    EXPECT_THAT(match.changes, Not(IsEmpty())) << match.finding.id;
  }
  EXPECT_THAT(report.modern, Not(HasSubstr("nvidia/")));
  EXPECT_THAT(report.modern, HasSubstr("mountPath: /data"));
  EXPECT_THAT(report.left, IsEmpty());
}

TEST(ManifestTest, TheModernManifestKeepsCommentsAndOrder) {
  const Report report = Check(ReadSource("src/diagnose/manifest/testdata/deployment.old.yaml"));
  EXPECT_EQ(report.modern, ReadSource("src/diagnose/manifest/testdata/deployment.modern.yaml"));
  EXPECT_THAT(report.left, IsEmpty());
  EXPECT_THAT(report.reprinted, IsEmpty());
  EXPECT_EQ(report.documents, 2U);
}

TEST(ManifestTest, AModernManifestStaysByteForByte) {
  const std::string text = ReadSource("src/diagnose/manifest/testdata/deployment.modern.yaml");
  const Report report = Check(text);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.modern, text);
}

TEST(ManifestTest, FindingsAreCountedFromTheTopOfTheFile) {
  const Report report = Check(
      "# head\n---\nkind: Service\n---\napiVersion: batch/v1beta1\nkind: CronJob\n"
      "metadata: {name: n}\n");
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].document, 2U);
  EXPECT_EQ(report.findings[0].position, (doc::Position{5, 1}));
  EXPECT_EQ(report.findings[0].object, "CronJob n");
  EXPECT_EQ(report.findings[0].path.str(), "apiVersion");
  EXPECT_EQ(report.findings[0].gone_by, "1.25");
}

TEST(ManifestTest, ObjectsOfAListAreLookedAtOneByOne) {
  const Report report = Check(
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: batch/v1beta1\n  kind: CronJob\n"
      "  metadata: {name: n}\n");
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].path.str(), "items[0].apiVersion");
  EXPECT_EQ(report.findings[0].object, "CronJob n");
  EXPECT_THAT(report.modern, HasSubstr("- apiVersion: batch/v1\n"));
}

TEST(ManifestTest, WhatGoesLaterIsAWarning) {
  const std::string text = "apiVersion: batch/v1beta1\nkind: CronJob\n";
  EXPECT_EQ(Check(text, {1, 24}).findings.at(0).finding.severity, Severity::kWarning);
  EXPECT_EQ(Check(text, {1, 25}).findings.at(0).finding.severity, Severity::kError);
}

TEST(ManifestTest, AGateOrFlagThatGoesLaterIsAWarning) {
  const std::string gate = Pod("    args: ['--feature-gates=DevicePluginCDIDevices=true']\n");
  const std::string flag = Pod("    command: [kubelet, --pod-infra-container-image=pause]\n");
  const std::string config = "kind: KubeletConfiguration\nfeatureGates: {CPUManager: true}\n";
  EXPECT_EQ(Check(gate, {1, 33}).findings.at(0).finding.severity, Severity::kWarning);
  EXPECT_EQ(Check(gate, {1, 34}).findings.at(0).finding.severity, Severity::kError);
  EXPECT_EQ(Check(flag, {1, 34}).findings.at(0).finding.severity, Severity::kWarning);
  EXPECT_EQ(Check(flag, {1, 35}).findings.at(0).finding.severity, Severity::kError);
  EXPECT_EQ(Check(config, {1, 32}).findings.at(0).finding.severity, Severity::kWarning);
  EXPECT_EQ(Check(config, {1, 33}).findings.at(0).finding.severity, Severity::kError);
}

TEST(ManifestTest, AGateThatEveryVersionKnowsIsNotFound) {
  EXPECT_THAT(Check(Pod("    args: ['--feature-gates=DynamicResourceAllocation=true']\n")).findings,
              IsEmpty());
}

TEST(ManifestTest, APartOfTheNodeMayMountTheDriver) {
  EXPECT_THAT(
      Check(Pod("    image: x\n",
                "  volumes:\n  - {name: a, hostPath: {path: /var/lib/kubelet/device-plugins}}\n"
                "  - {name: b, hostPath: {path: /usr/local/nvidia}}\n"))
          .findings,
      IsEmpty());
}

TEST(ManifestTest, InstallersAndMonitorsMayMountTheDriver) {
  const std::string mount = "  - {name: v, hostPath: {path: /home/kubernetes/bin/nvidia}}\n";
  const std::string installer =
      "  initContainers: [{name: i, securityContext: {privileged: true}}]\n";
  EXPECT_THAT(Check(Pod("    image: x\n", installer + "  volumes:\n" + mount)).findings, IsEmpty());
  EXPECT_THAT(Check(Pod("    image: x\n", "  hostPID: true\n  volumes:\n" + mount)).findings,
              IsEmpty());
  for (const char* path : {"/", "/dev", "/dev/", "/etc/cdi", "/run/nvidia/driver",
                           "/var/lib/kubelet", "/var/lib/kubelet/pod-resources"}) {
    const std::string other = fmt::format("  - {{name: n, hostPath: {{path: {}}}}}\n", path);
    EXPECT_THAT(Check(Pod("    image: x\n", "  volumes:\n" + other + mount)).findings, IsEmpty())
        << path;
  }
}

TEST(ManifestTest, ChannelsBetweenNodesAndPipesOfMpsAreNotTheDrivers) {
  for (const char* path : {"/dev/nvidia-caps-imex-channels", "/var/lib/nvidia-mps/pipe"}) {
    const std::string volume =
        fmt::format("  volumes:\n  - {{name: v, hostPath: {{path: {}}}}}\n", path);
    EXPECT_THAT(Check(Pod(kLimit, volume)).findings, IsEmpty()) << path;
  }
}

TEST(ManifestTest, AClaimAsksForAGpuToo) {
  EXPECT_THAT(Check(Pod("    resources: {claims: [{name: gpu}]}\n",
                        "  runtimeClassName: nvidia\n  resourceClaims: [{name: gpu, "
                        "resourceClaimName: c}]\n"))
                  .findings,
              IsEmpty());
}

TEST(ManifestTest, OnlyWhatIsServedTakesThePlaceOfTheOld) {
  const std::string claim = "apiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\n";
  Report report = Check(claim, {1, 33});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].finding.severity, Severity::kInfo);
  EXPECT_THAT(report.findings[0].finding.fix.commands.at(0), HasSubstr("from Kubernetes 1.34 on"));
  EXPECT_EQ(report.modern, claim);
  report = Check(claim, {1, 34});
  EXPECT_THAT(report.modern, HasSubstr("resource.k8s.io/v1\n"));
  const std::string job = "apiVersion: batch/v1beta1\nkind: CronJob\n";
  EXPECT_EQ(Check(job, {1, 20}).modern, job);
}

TEST(ManifestTest, ALargeListIsFixedWhole) {
  std::string text = "apiVersion: v1\nkind: List\nitems:\n";
  for (int i = 0; i < 400; ++i) {
    text += fmt::format(
        "- apiVersion: batch/v1beta1\n  kind: CronJob\n  metadata: {{name: n{}}}  # {}\n", i, i);
  }
  const Report report = Check(text);
  EXPECT_EQ(report.findings.size(), 400U);
  EXPECT_THAT(report.left, IsEmpty());
  EXPECT_THAT(report.modern, HasSubstr("{name: n399}  # 399\n"));
  EXPECT_THAT(report.reprinted, IsEmpty());
}

TEST(ManifestTest, AFlagStaysAsLongAsTheKubeletKnowsIt) {
  const std::string pod = Pod("    command: [kubelet, --container-runtime=remote]\n");
  EXPECT_EQ(Check(pod, {1, 23}).modern, pod);
  EXPECT_THAT(Check(pod, {1, 27}).modern, Not(HasSubstr("container-runtime")));
}

TEST(ManifestTest, WhileBothTaintsAreAboutBothAreTolerated) {
  const std::string pod = Pod("    image: x\n",
                              "  tolerations:\n  - key: node-role.kubernetes.io/master\n"
                              "    operator: Exists\n");
  const Report report = Check(pod, {1, 23});
  EXPECT_THAT(report.left, IsEmpty());
  EXPECT_THAT(report.modern, HasSubstr("node-role.kubernetes.io/master"));
  EXPECT_THAT(report.modern, HasSubstr("node-role.kubernetes.io/control-plane"));
  EXPECT_THAT(Check(report.modern, {1, 23}).findings, IsEmpty());
}

TEST(ManifestTest, WhatAnOlderYamlReadsOtherwiseIsNotPrintedAgain) {
  const std::string pod =
      "{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, env: [{name: "
      "NVIDIA_VISIBLE_DEVICES, value: all}], resources: {limits: {nvidia.com/gpu: 1}}}], "
      "volumes: [{name: v, secret: {secretName: s, defaultMode: 0400}}]}}\n";
  const Report report = Check(pod);
  EXPECT_EQ(report.modern, pod);
  EXPECT_EQ(report.left.size(), 1U);
}

TEST(ManifestTest, WhatAnOlderYamlReadsOtherwiseStaysBesideAFix) {
  const Report report = Check(Pod("    resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 1}}\n",
                                  "  volumes:\n  - name: v\n    secret: {defaultMode: 0400}\n"));
  EXPECT_THAT(report.left, IsEmpty());
  EXPECT_THAT(report.modern, HasSubstr("defaultMode: 0400"));
}

TEST(ManifestTest, ACommaWithinAWordEndsItOnlyWithinBrackets) {
  const Report report =
      Check(Pod("    args:\n    # gates\n    - --feature-gates=Accelerators=true,"
                "Other=true  # two\n"));
  EXPECT_THAT(report.reprinted, IsEmpty());
  EXPECT_THAT(report.modern, HasSubstr("    # gates\n"));
  EXPECT_THAT(report.modern, HasSubstr("\"--feature-gates=Other=true\"  # two\n"));
}

TEST(ManifestTest, JsonStaysJson) {
  const Report report = Check(
      R"({"kind": "KubeletConfiguration", "featureGates": {"DevicePlugins": true, "X": true}})");
  EXPECT_THAT(report.left, IsEmpty());
  EXPECT_TRUE(report.modern.starts_with("{")) << report.modern;
  EXPECT_THAT(report.modern, HasSubstr("\"X\": true"));
  EXPECT_THAT(report.reprinted, IsEmpty());
}

TEST(ManifestTest, WhatUpdatedOnDeleteGoesOnDoingSo) {
  const Report report = Check(
      "apiVersion: extensions/v1beta1\nkind: DaemonSet\nspec:\n  template:\n    metadata:\n"
      "      labels: {app: driver}\n    spec:\n      containers: [{name: c}]\n");
  EXPECT_THAT(report.left, IsEmpty());
  EXPECT_THAT(report.modern, HasSubstr("type: OnDelete"));
  EXPECT_THAT(report.findings.at(0).finding.fix.commands.at(0), HasSubstr("OnDelete"));
}

TEST(ManifestTest, OnlyPodsOfTheSystemWereCritical) {
  const std::string critical =
      "apiVersion: v1\nkind: Pod\nmetadata:\n  namespace: {}\n  annotations:\n"
      "    scheduler.alpha.kubernetes.io/critical-pod: ''\n    a: b\nspec:\n  containers:\n"
      "  - name: c\n";
  EXPECT_THAT(Check(fmt::format(fmt::runtime(critical), "kube-system")).modern,
              HasSubstr("priorityClassName: system-cluster-critical"));
  const Report report = Check(fmt::format(fmt::runtime(critical), "team-a"));
  EXPECT_THAT(report.modern, Not(HasSubstr("priorityClassName")));
  EXPECT_THAT(report.left, IsEmpty());
}

TEST(ManifestTest, APathThatEndsLikeTheKubeletIsNoKubelet) {
  EXPECT_THAT(
      Check(Pod("    args: [--root-dir=/var/lib/kubelet, --container-runtime=containerd]\n"))
          .findings,
      IsEmpty());
  EXPECT_THAT(
      IdsOf(Check(Pod("    args: [/usr/bin/kubelet, --container-runtime=remote]\n")).findings),
      ElementsAre("kubelet-flag-gone"));
}

TEST(ManifestTest, ADocumentThatCannotBeFixedInPlaceIsPrintedAgain) {
  const Report report = Check(
      "{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, env: [{name: "
      "NVIDIA_VISIBLE_DEVICES, value: all}], resources: {limits: {nvidia.com/gpu: 1}}}]}}\n");
  EXPECT_THAT(report.left, IsEmpty());
  EXPECT_THAT(report.reprinted, ElementsAre(1U));
  EXPECT_THAT(report.modern, Not(HasSubstr("VISIBLE")));
}

TEST(ManifestTest, ADocumentThatIsPrintedAgainStaysOneOfItsOwn) {
  const Report report = Check(
      "kind: Service\n--- {kind: KubeletConfiguration, featureGates: {DevicePlugins: true}}\n");
  EXPECT_EQ(report.modern, "kind: Service\n---\nkind: KubeletConfiguration\n");
  EXPECT_THAT(report.reprinted, ElementsAre(2U));
}

TEST(ManifestTest, BrokenManifestsAreErrorsWithTheLineOfTheFile) {
  EXPECT_THAT(CheckManifest("a: b\n---\n\na: [\n", "m.yaml", kNewestKubernetes).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("m.yaml:5")));
  EXPECT_THAT(CheckManifest("a: {{ .Values.x }}\n", "m.yaml", kNewestKubernetes).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("helm template")));
}

TEST(ManifestTest, NothingHasNoFindings) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n---\n"}) {
    const Report report = Check(text);
    EXPECT_EQ(report.documents, 0U);
    EXPECT_EQ(report.modern, text);
  }
}

TEST(ManifestViewTest, ALineNamesFilePlaceObjectPathAndValue) {
  const Report report = Check("apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: n}\n");
  const std::string text = ReportsText({&report, 1});
  EXPECT_THAT(text, HasSubstr("error    api-gone: m.yaml:1:1: "));
  EXPECT_THAT(text, HasSubstr("\n         CronJob n: apiVersion: batch/v1beta1\n"));
  EXPECT_THAT(text, HasSubstr("\n         removed in 1.25\n"));
  EXPECT_THAT(text, HasSubstr("1 document: 1 error, 0 warnings, 0 info; --print fixes 1\n"));
}

TEST(ManifestViewTest, TheTableOfTheDocumentIsThatOfTheCode) {
  EXPECT_THAT(ReadSource("docs/reference/doctor-manifest.md"), HasSubstr(RulesMarkdown()))
      << "docs/reference/doctor-manifest.md must hold what `kgpu doctor manifest --list` prints";
}

TEST(KubernetesVersionTest, ReadsVersionsAsPeopleWriteThem) {
  EXPECT_THAT(KubernetesVersion::Parse("1.29"), IsOkAndHolds(KubernetesVersion{1, 29}));
  EXPECT_THAT(KubernetesVersion::Parse("v1.9.3"), IsOkAndHolds(KubernetesVersion{1, 9}));
  EXPECT_THAT(KubernetesVersion::Parse("new"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("new")));
}

}  // namespace
}  // namespace kgpu::manifest
