// Real kubectl against `kgpu-sim apiserver`: what people and scripts do with nodes by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/kubectl.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr const char* kNode = R"(
apiVersion: v1
kind: Node
metadata:
  name: gpu-1
  labels: {zone: a, node-role.kubernetes.io/worker: ""}
status:
  capacity: {cpu: "8", nvidia.com/gpu: "2"}
  allocatable: {cpu: "8", nvidia.com/gpu: "2"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady}]
  nodeInfo: {kubeletVersion: v1.36.0, osImage: Debian 12}
)";

constexpr const char* kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: default, labels: {app: train}}
spec:
  nodeName: gpu-1
  containers:
  - {name: main, image: "example.com/train:1", resources: {limits: {nvidia.com/gpu: 2}}}
)";

class KubectlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasKubectl()) {
      GTEST_SKIP() << "no kubectl: install kubernetes-client (scripts/setup.sh --test)";
    }
    server_ = std::make_unique<Background>(std::vector<std::string>{
        ProgramPath("kgpu-sim"), "apiserver", "--kubeconfig-out", dir_.At("kubeconfig")});
    ASSERT_TRUE(server_->WaitFor("serving on"));
    dir_.WriteFile("node.yaml", kNode);
    dir_.WriteFile("pod.yaml", kPod);
  }

  Result Run(const std::vector<std::string>& arguments) {
    return RunProgram(KubectlCommand(dir_.path(), arguments));
  }
  // Must succeed; what it printed.
  std::string Out(const std::vector<std::string>& arguments) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.code, 0) << result.err << result.out;
    return result.out;
  }
  void MakeNode() { Out({"create", "-f", dir_.At("node.yaml")}); }

  TempDir dir_;
  std::unique_ptr<Background> server_;
};

TEST_F(KubectlTest, GetShowsTheServersTable) {
  MakeNode();
  EXPECT_THAT(Out({"get", "nodes"}), MatchesRegex("NAME +STATUS +ROLES +AGE +VERSION\n"
                                                  "gpu-1 +Ready +worker +[0-9]+s +v1.36.0\n"));
  EXPECT_THAT(Out({"get", "nodes", "-o", "wide"}), HasSubstr("Debian 12"));
  EXPECT_THAT(Out({"get", "node", "gpu-1", "-o", "yaml"}),
              AllOf(HasSubstr("kind: Node"), HasSubstr("nvidia.com/gpu: \"2\"")));
  EXPECT_EQ(Out({"get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"}), "gpu-1");
  EXPECT_EQ(Out({"get", "nodes", "-l", "zone=b", "-o", "name"}), "");
  EXPECT_EQ(Out({"get", "nodes", "-l", "zone in (a,b)", "-o", "name"}), "node/gpu-1\n");
  EXPECT_THAT(Run({"get", "node", "gpu-2"}).err, HasSubstr("not found"));
}

TEST_F(KubectlTest, LabelAnnotateAndTaint) {
  MakeNode();
  Out({"label", "node", "gpu-1", "gpu=true"});
  Out({"annotate", "node", "gpu-1", "kgpu.dev/uuid=GPU 1"});
  Out({"taint", "node", "gpu-1", "kgpu.dev/not-ready=:NoSchedule"});
  EXPECT_EQ(Out({"get", "nodes", "-l", "gpu=true", "-o", "name"}), "node/gpu-1\n");
  EXPECT_THAT(Out({"get", "node", "gpu-1", "-o", "jsonpath={.spec.taints[0].key}"}),
              HasSubstr("kgpu.dev/not-ready"));
  Out({"taint", "node", "gpu-1", "kgpu.dev/not-ready:NoSchedule-"});
  Out({"label", "node", "gpu-1", "gpu-"});
  EXPECT_EQ(Out({"get", "node", "gpu-1", "-o", "jsonpath={.spec.taints}{.metadata.labels.gpu}"}),
            "");
  const Result wrong = Run({"label", "node", "gpu-1", "gpu=a b"});
  EXPECT_NE(wrong.code, 0);
}

TEST_F(KubectlTest, TakesThePodThatValidates) {
  Out({"apply", "-f", KGPU_SOURCE_DIR "/deploy/validate/pod.yaml"});
  EXPECT_EQ(Out({"get", "pod", "kgpu-validate", "-o",
                 "jsonpath={.spec.containers[0].resources.limits.nvidia\\.com/gpu}"}),
            "1");
}

TEST_F(KubectlTest, TheDriversManifestGivesOneInitContainerThatIsNotPrivileged) {
  Out({"apply", "-f", KGPU_SOURCE_DIR "/deploy/driver/kgpu-driver.yaml"});

  const std::string of = "{.spec.template.spec";
  const auto see = [&](const char* path) {
    return Out({"get", "daemonset", "-n", "kgpu", "kgpu-driver", "-o",
                fmt::format("jsonpath={}{}", of, path)});
  };
  EXPECT_EQ(see(".initContainers[*].name}"), "driver");
  EXPECT_EQ(see(".initContainers[*].securityContext.privileged}"), "");
  EXPECT_EQ(see(".initContainers[*].securityContext.capabilities.drop}"), "[\"ALL\"]");
  EXPECT_EQ(see(".containers[*].securityContext.capabilities.add}"), "");
}

TEST_F(KubectlTest, ABadGpuPolicyIsRejectedByItsField) {
  Out({"apply", "-f", KGPU_SOURCE_DIR "/deploy/chart/crds/gpupolicies.yaml"});
  const auto apply = [&](const char* groups) {
    dir_.WriteFile("policy.yaml", fmt::format("apiVersion: kgpu.dev/v1alpha1\nkind: GpuPolicy\n"
                                              "metadata: {{name: p}}\nspec: {{groups: {}}}\n",
                                              groups));
    return Run({"apply", "-f", dir_.At("policy.yaml")});
  };
  EXPECT_THAT(apply("[{name: a, nodeSelector: {}, driver: {from: apt}}]").err,
              HasSubstr("spec.groups[0].driver.from"));
  EXPECT_THAT(apply("[{name: a, nodeSelector: {}, gate: {taint: 1}}]").err,
              HasSubstr("gate.taint"));
  EXPECT_THAT(apply("[{name: a}]").err, HasSubstr("nodeSelector"));
  EXPECT_EQ(apply("[{name: a, nodeSelector: {}, driver: {from: host}}]").code, 0);
  EXPECT_THAT(Out({"get", "gpupolicies"}), HasSubstr("UP-TO-DATE"));
  Out({"delete", "gpol", "p"});
}

TEST_F(KubectlTest, DescribeShowsNodeAndPod) {
  MakeNode();
  Out({"create", "-f", dir_.At("pod.yaml")});
  EXPECT_THAT(Out({"describe", "node", "gpu-1"}),
              AllOf(HasSubstr("Roles:              worker"), HasSubstr("KubeletReady"),
                    HasSubstr("nvidia.com/gpu"), HasSubstr("train")));
  EXPECT_THAT(Out({"describe", "pod", "train"}), HasSubstr("example.com/train:1"));
}

TEST_F(KubectlTest, ApplyOnTheClientsSide) {
  dir_.WriteFile("map.yaml",
                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: one, b: two}\n");
  EXPECT_THAT(Out({"apply", "-f", dir_.At("map.yaml")}), HasSubstr("created"));
  EXPECT_THAT(Out({"apply", "-f", dir_.At("map.yaml")}), HasSubstr("unchanged"));
  dir_.WriteFile("map.yaml",
                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {b: three}\n");
  EXPECT_THAT(Out({"apply", "-f", dir_.At("map.yaml")}), HasSubstr("configured"));
  EXPECT_EQ(Out({"get", "configmap", "m", "-o", "jsonpath={.data.a}{.data.b}"}), "three");
}

TEST_F(KubectlTest, ApplyOnTheServersSide) {
  const auto apply = [&](const char* manager, const char* value, bool force) {
    dir_.WriteFile("map.yaml", fmt::format("apiVersion: v1\nkind: ConfigMap\n"
                                           "metadata: {{name: m}}\ndata: {{a: {}}}\n",
                                           value));
    std::vector<std::string> arguments = {"apply", "--server-side",    "--field-manager", manager,
                                          "-f",    dir_.At("map.yaml")};
    if (force) {
      arguments.emplace_back("--force-conflicts");
    }
    return Run(arguments);
  };
  EXPECT_EQ(apply("one", "first", false).code, 0);
  const Result conflict = apply("two", "later", false);
  EXPECT_NE(conflict.code, 0);
  EXPECT_THAT(conflict.err, AllOf(HasSubstr("conflict with \"one\""), HasSubstr(".data.a")));
  EXPECT_EQ(apply("two", "later", true).code, 0);
  EXPECT_EQ(Out({"get", "configmap", "m", "-o", "jsonpath={.data.a}"}), "later");
}

TEST_F(KubectlTest, WatchTellsChanges) {
  MakeNode();
  Background watch(KubectlCommand(dir_.path(), {"get", "nodes", "-w"}));
  ASSERT_TRUE(watch.WaitFor("gpu-1"));
  watch.Clear();
  Out({"cordon", "gpu-1"});
  EXPECT_TRUE(watch.WaitFor("SchedulingDisabled")) << watch.out();
}

TEST_F(KubectlTest, PatchInThreeLanguages) {
  MakeNode();
  Out({"patch", "node", "gpu-1", "--type", "merge", "-p",
       R"({"metadata": {"labels": {"a": "1"}}})"});
  Out({"patch", "node", "gpu-1", "--type", "json", "-p",
       R"([{"op": "add", "path": "/metadata/labels/b", "value": "2"}])"});
  Out({"patch", "node", "gpu-1", "-p", R"({"metadata": {"labels": {"c": "3"}}})"});
  EXPECT_EQ(Out({"get", "node", "gpu-1", "-o",
                 "jsonpath={.metadata.labels.a}{.metadata.labels.b}{.metadata.labels.c}"}),
            "123");
}

TEST_F(KubectlTest, DrainEvicts) {
  MakeNode();
  Out({"create", "-f", dir_.At("pod.yaml")});
  EXPECT_NE(Run({"drain", "gpu-1", "--timeout", "5s"}).code, 0);  // nobody manages the pod
  const std::string out = Out({"drain", "gpu-1", "--force", "--timeout", "20s"});
  EXPECT_THAT(out, HasSubstr("evicted"));
  EXPECT_NE(Run({"get", "pod", "train"}).code, 0);
  Out({"uncordon", "gpu-1"});
}

TEST_F(KubectlTest, TlsAndATokenAreUsed) {
  Background server({ProgramPath("kgpu-sim"), "apiserver", "--tls", "--token", "secret",
                     "--kubeconfig-out", dir_.At("kubeconfig")});
  ASSERT_TRUE(server.WaitFor("serving on https://"));
  EXPECT_THAT(Out({"get", "namespaces"}), HasSubstr("kube-system"));
  EXPECT_THAT(Run({"get", "namespaces", "--token", "wrong"}).err, HasSubstr("nauthorized"));
}

TEST_F(KubectlTest, WaitAndDelete) {
  MakeNode();
  Out({"wait", "--for", "condition=Ready", "node/gpu-1", "--timeout", "10s"});
  Out({"create", "-f", dir_.At("pod.yaml")});
  Out({"delete", "pod", "train", "--timeout", "20s"});
  Out({"delete", "node", "gpu-1"});
  EXPECT_NE(Run({"get", "node", "gpu-1"}).code, 0);
}

TEST_F(KubectlTest, ResourcesAndTheirFieldsAreExplained) {
  EXPECT_THAT(Out({"api-resources"}),
              AllOf(HasSubstr("nodes"), HasSubstr("leases"), HasSubstr("daemonsets")));
  EXPECT_THAT(Out({"explain", "node.spec.taints"}), HasSubstr("NoExecute"));
  EXPECT_THAT(Out({"explain", "pod.spec.containers"}), HasSubstr("resources"));
}

TEST_F(KubectlTest, CustomResourceIsServed) {
  dir_.WriteFile("crd.yaml", R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodefeatures.nfd.k8s-sigs.io}
spec:
  group: nfd.k8s-sigs.io
  scope: Namespaced
  names: {plural: nodefeatures, singular: nodefeature, kind: NodeFeature}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Labels, type: string, jsonPath: .spec.labels.a}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              labels: {type: object, additionalProperties: {type: string}}
)");
  dir_.WriteFile("feature.yaml", R"(
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeature
metadata: {name: gpu-1, namespace: default}
spec: {labels: {a: "7"}}
)");
  Out({"apply", "-f", dir_.At("crd.yaml")});
  Out({"wait", "--for", "condition=Established", "crd/nodefeatures.nfd.k8s-sigs.io"});
  Out({"apply", "-f", dir_.At("feature.yaml")});
  EXPECT_THAT(Out({"get", "nodefeatures"}), MatchesRegex("NAME +LABELS\ngpu-1 +7\n"));
  Out({"delete", "-f", dir_.At("crd.yaml")});
  EXPECT_NE(Run({"get", "nodefeatures"}).code, 0);
}

}  // namespace
}  // namespace kgpu::e2e
