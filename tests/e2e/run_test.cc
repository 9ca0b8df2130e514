// `kgpu run` as built against `kgpu-sim apiserver --controllers`; real kubectl reads the results.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <vector>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/kubectl.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RunTest : public ::testing::Test {
 protected:
  RunTest()
      : server_({ProgramPath("kgpu-sim"), "apiserver", "--controllers", "--kubeconfig-out",
                 dir_.At("kubeconfig")}) {}

  void SetUp() override {
    if (!HasKubectl()) {
      GTEST_SKIP() << "kubectl is not installed";
    }
    ASSERT_TRUE(server_.WaitFor("serving on"));
    const Result made = Kubectl({"create", "-f", KGPU_SOURCE_DIR "/tests/docs/run_cluster.yaml"});
    ASSERT_EQ(made.code, 0) << made.err;
    const Result ready = Kubectl({"wait", "--for=condition=Ready", "nodes", "--all"});
    ASSERT_EQ(ready.code, 0) << ready.err;
  }

  Result Kubectl(const std::vector<std::string>& words) {
    return RunProgram(KubectlCommand(dir_.path(), words));
  }
  Result Run(std::vector<std::string> words) {
    std::vector<std::string> argv = {"kgpu", "run"};
    argv.insert(argv.end(), words.begin(), words.end());
    const auto end = std::ranges::find(argv, "--");
    argv.insert(end, {"--kubeconfig", dir_.At("kubeconfig")});
    return RunProgram(std::move(argv));
  }
  std::string Read(const std::string& kind, const std::string& name, const std::string& path) {
    return Kubectl({"get", kind, name, "-o", fmt::format("jsonpath={{{}}}", path)}).out;
  }
  // Everything in the namespace that a run may create.
  std::string All() {
    return Kubectl({"get", "jobs,pods,deployments,services,secrets,persistentvolumeclaims", "-o",
                    "name"})
        .out;
  }

  TempDir dir_;
  Background server_;
};

TEST_F(RunTest, AJobPrintsItsOutput) {
  const Result job = Run({"job", "app:1", "--name", "train", "--gpus", "2", "--cuda", "12.2",
                          "--env", "SIM_LOG=loss 0.31", "--", "python3", "train.py"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(job.out, "loss 0.31\n");
  EXPECT_THAT(job.err, HasSubstr("train: succeeded"));
  const std::string container = ".spec.template.spec.containers[0]";
  EXPECT_EQ(Read("job", "train", container + R"(.resources.limits.nvidia\.com/gpu)"), "2");
  EXPECT_EQ(Read("job", "train", container + ".args[1]"), "train.py");
  EXPECT_EQ(Read("job", "train", ".metadata.managedFields[0].manager"), "kgpu-run");
  EXPECT_EQ(Kubectl({"wait", "--for=condition=complete", "job/train", "--timeout=5s"}).code, 0);
  EXPECT_EQ(Run({"logs", "train"}).out, "loss 0.31\n");
  EXPECT_EQ(Run({"job", "app:1", "--name", "train", "--cuda", "12.2"}).code, 1);
}

TEST_F(RunTest, AJobThatFailsExitsWith7) {
  const Result job = Run({"job", "app:1", "--cuda", "12.2", "--env", "SIM_EXIT_CODE=3"});
  EXPECT_EQ(job.code, 7);
  EXPECT_THAT(job.err, HasSubstr("failed"));
}

TEST_F(RunTest, TheModelDecidesTheNode) {
  const Result job =
      Run({"job", "app:1", "--name", "big", "--model", "H100-SXM5-80GB,T4", "--memory", "10Gi",
           "--cuda", "12.2", "--detach", "--env", "SIM_RUN_SECONDS=60", "-o", "json"});
  ASSERT_EQ(job.code, 0) << job.err;
  const json::value run = json::parse(job.out).at("runs").at(0);
  EXPECT_EQ(run.at("node"), "node-b");
  EXPECT_EQ(run.at("state"), "running");
}

TEST_F(RunTest, WhatNoNodeCanRunFailsAtOnceAndLeavesNothing) {
  const std::string before = All();
  const Result many = Run({"job", "app:1", "--gpus", "16", "--cuda", "12.2"});
  EXPECT_EQ(many.code, 6);
  EXPECT_THAT(many.err, AllOf(HasSubstr("node-a"), HasSubstr("node-b"), HasSubstr("gpu-too-few")));
  const Result other = Run({"job", "app:1", "--model", "H100-SXM5-80GB", "--cuda", "12.2"});
  EXPECT_EQ(other.code, 6);
  EXPECT_THAT(other.err, HasSubstr("models of the cluster: A100-SXM4-80GB, T4"));
  const Result cuda = Run({"job", "app:1", "--model", "A100-SXM4-80GB", "--cuda", "13.0"});
  EXPECT_EQ(cuda.code, 6);
  EXPECT_THAT(cuda.err, HasSubstr("node-a has driver 535.104.05"));
  EXPECT_EQ(All(), before);
}

TEST_F(RunTest, ABusyNodeIsWaitedForUntilTheTimeout) {
  const std::string before = All();
  ASSERT_EQ(Run({"job", "app:1", "--name", "first", "--gpus", "8", "--cuda", "12.2", "--detach",
                 "--env", "SIM_RUN_SECONDS=600"})
                .code,
            0);
  const Result second =
      Run({"job", "app:1", "--name", "second", "--gpus", "8", "--cuda", "12.2", "--timeout", "4s"});
  EXPECT_EQ(second.code, 4);
  EXPECT_THAT(second.err, AllOf(HasSubstr("busy"), HasSubstr("gpu-in-use")));
  EXPECT_THAT(All(), Not(HasSubstr("second")));
  EXPECT_EQ(Run({"stop", "first"}).code, 0);
  EXPECT_EQ(All(), before);
}

TEST_F(RunTest, JupyterHasAUrlAndLeavesNothing) {
  const std::string before = All();
  const Result jupyter = Run({"jupyter", "--name", "lab"});
  ASSERT_EQ(jupyter.code, 0) << jupyter.err;
  const std::string node = Kubectl({"get", "pods", "-o", "jsonpath={.items[0].spec.nodeName}"}).out;
  const std::string address = Read("node", node, ".status.addresses[0].address");
  EXPECT_THAT(jupyter.out, ::testing::StartsWith("http://" + address + ":30061/?token="));
  EXPECT_EQ(Kubectl({"rollout", "status", "deployment/lab", "--timeout=5s"}).code, 0);
  EXPECT_EQ(Read("service", "lab", ".spec.ports[0].nodePort"), "30061");
  EXPECT_THAT(All(), HasSubstr("persistentvolumeclaim/lab"));
  const Result list = Run({"list", "--show-token"});
  EXPECT_THAT(list.out, HasSubstr(jupyter.out.substr(0, jupyter.out.size() - 1)));
  EXPECT_THAT(Run({"list"}).out, Not(HasSubstr("token")));

  const Result planned = Run({"stop", "lab", "--dry-run"});
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("would be removed Deployment default/lab"));
  EXPECT_THAT(All(), HasSubstr("deployment.apps/lab"));
  EXPECT_EQ(Run({"stop", "lab"}).code, 0);
  EXPECT_EQ(All(), before);
  EXPECT_EQ(Run({"stop", "lab"}).code, 3);
}

// The manifest is what kubectl, and through it the server, accepts, too.
TEST_F(RunTest, TheManifestOfADryRunCanBeApplied) {
  const std::string before = All();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"job", "app:1", "--cuda", "12.2", "--volume", "data:/data"},
        {"shell"},
        {"jupyter", "--model", "A100-SXM4-80GB", "--memory", "40Gi"}}) {
    std::vector<std::string> dry = words;
    dry.insert(dry.end(), {"--name", "once", "--dry-run"});
    const Result printed = Run(dry);
    ASSERT_EQ(printed.code, 0) << printed.err;
    EXPECT_EQ(All(), before);
    dir_.WriteFile("once.yaml", printed.out);
    const Result applied =
        Kubectl({"apply", "--server-side", "--dry-run=server", "-f", dir_.At("once.yaml")});
    EXPECT_EQ(applied.code, 0) << applied.err << printed.out;
  }
}

// kubectl cannot open a shell in a container that does not exist; the pod goes all the same.
TEST_F(RunTest, AShellIsHandedToKubectlAndRemoved) {
  const std::string before = All();
  const Result shell = Run({"shell", "--name", "sh"});
  EXPECT_EQ(shell.code, 1) << shell.err;
  EXPECT_EQ(All(), before);
  const Result detached = Run({"shell", "app:1", "--name", "sh", "--detach", "--", "python3"});
  EXPECT_THAT(detached.out, AllOf(StartsWith("kubectl "),
                                  HasSubstr(" exec -it -n default sh -c main -- python3\n")));
  EXPECT_EQ(Read("pod", "sh", ".status.phase"), "Running");
  EXPECT_EQ(Run({"stop", "sh"}).code, 0);
}

}  // namespace
}  // namespace kgpu::e2e
