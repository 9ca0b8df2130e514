// Real kubectl applies what `kgpu cluster render` prints to `kgpu sim apiserver`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/kubectl.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kManifest = KGPU_SOURCE_DIR "/deploy/manifests/kgpu.yaml";

size_t CountLines(const std::string& text, const std::string& end) {
  size_t count = 0;
  for (size_t at = text.find(end + "\n"); at != std::string::npos;
       at = text.find(end + "\n", at + 1)) {
    ++count;
  }
  return count;
}

class KubectlChartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasKubectl()) {
      GTEST_SKIP() << "no kubectl: install kubernetes-client (scripts/setup.sh --test)";
    }
    server_ = std::make_unique<Background>(std::vector<std::string>{
        ProgramPath("kgpu-sim"), "apiserver", "--kubeconfig-out", dir_.At("kubeconfig")});
    ASSERT_TRUE(server_->WaitFor("serving on"));
  }

  Result Run(const std::vector<std::string>& arguments) {
    return RunProgram(KubectlCommand(dir_.path(), arguments));
  }
  std::string Out(const std::vector<std::string>& arguments) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.code, 0) << result.err << result.out;
    return result.out;
  }
  // The path of what render prints.
  std::string Render(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"kgpu", "cluster", "render"});
    const Result result = RunProgram(flags);
    EXPECT_EQ(result.code, 0) << result.err;
    dir_.WriteFile("rendered.yaml", result.out);
    return dir_.At("rendered.yaml");
  }
  // For kinds that only some clusters have.
  void Define(const std::string& group, const std::string& kind, const std::string& plural,
              const std::string& scope) {
    dir_.WriteFile("crd.yaml",
                   fmt::format(R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {1}.{0}}}
spec:
  group: {0}
  scope: {3}
  names: {{plural: {1}, singular: {4}, kind: {2}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
)",
                               group, plural, kind, scope, plural.substr(0, plural.size() - 1)));
    Out({"apply", "-f", dir_.At("crd.yaml")});
  }

  TempDir dir_;
  std::unique_ptr<Background> server_;
};

TEST_F(KubectlChartTest, TheDefaultManifestsAreAppliedOnceAndRemoved) {
  EXPECT_EQ(CountLines(Out({"apply", "-f", kManifest}), " created"), 21U);
  // kubectl always sends a budget's selector again: its patch strategy is "replace".
  const std::string again = Out({"apply", "-f", kManifest});
  EXPECT_EQ(CountLines(again, " unchanged"), 20U);
  EXPECT_THAT(again, HasSubstr("poddisruptionbudget.policy/kgpu-controller configured"));
  EXPECT_EQ(Out({"get", "daemonset", "-n", "kgpu", "kgpu-agent", "-o",
                 "jsonpath={.spec.template.spec.containers[0].args[0]}"}),
            "agent");
  EXPECT_THAT(Out({"get", "validatingadmissionpolicies,networkpolicies", "-A", "-o", "name"}),
              HasSubstr("validatingadmissionpolicy.admissionregistration.k8s.io/kgpu-agent"));
  // The namespace takes what is in it along.
  Out({"delete", "-f", kManifest, "--timeout", "20s", "--ignore-not-found"});
  EXPECT_THAT(Out({"get", "clusterroles,clusterrolebindings,validatingadmissionpolicies,namespaces",
                   "-o", "name"}),
              Not(HasSubstr("kgpu")));
}

TEST_F(KubectlChartTest, EveryDistributionIsAppliedOnTheServersSide) {
  Define("security.openshift.io", "SecurityContextConstraints", "securitycontextconstraints",
         "Cluster");
  Define("monitoring.coreos.com", "PodMonitor", "podmonitors", "Namespaced");
  Define("monitoring.coreos.com", "PrometheusRule", "prometheusrules", "Namespaced");
  for (const char* distribution : {"kubeadm", "k3s", "rke2", "minikube", "kind", "openshift"}) {
    const std::string file = Render({"--for", distribution, "--set", "monitoring.dashboards=true"});
    EXPECT_THAT(Out({"apply", "--server-side", "--force-conflicts", "-f", file}),
                HasSubstr("daemonset.apps/kgpu-agent serverside-applied"))
        << distribution;
  }
}

TEST_F(KubectlChartTest, AFieldThatDoesNotExistIsRefused) {
  const std::string file = Render({});
  std::string text = dir_.ReadFile("rendered.yaml");
  text.replace(text.find("hostPID: true"), 7, "hostPDI");
  dir_.WriteFile("rendered.yaml", text);
  const Result result = Run({"apply", "--validate=true", "-f", file});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("hostPDI"));
}

TEST_F(KubectlChartTest, KustomizeBuildsOnTheBase) {
  const Result written = RunProgram({"kgpu", "cluster", "render", "--kustomize", dir_.At("base")});
  ASSERT_EQ(written.code, 0) << written.err;
  dir_.WriteFile("overlay/kustomization.yaml",
                 "resources: [../base]\nnamespace: gpus\n"
                 "images: [{name: localhost/kgpu, newName: example.com/kgpu, newTag: v1}]\n");
  const std::string out = Out({"kustomize", dir_.At("overlay")});
  EXPECT_THAT(out, HasSubstr("image: example.com/kgpu:v1"));
  EXPECT_THAT(out, HasSubstr("namespace: gpus"));
  EXPECT_EQ(CountLines(Out({"apply", "-k", KGPU_SOURCE_DIR "/deploy/kustomize"}), " created"), 21U);
}

}  // namespace
}  // namespace kgpu::e2e
