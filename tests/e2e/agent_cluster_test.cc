// The built agent on a simulated host, beside the stub API server: labels, condition and taint of
// its Node object, and who else is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "src/platform/sys/unix_socket.h"
#include "testing/shell.h"
#include "testing/status_matchers.h"
#include "tests/e2e/cluster_fixture.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kProduct = "nvidia.com/gpu.product";
constexpr const char* kModel = "feature.node.kubernetes.io/cpu-model.vendor_id";

using AgentClusterTest = ClusterFixture;

TEST_F(AgentClusterTest, TheNodeIsReadyWhenEveryLinkIs) {
  Merge("/api/v1/nodes/n1",
        R"({"spec":{"taints":[{"key":"kgpu.dev/not-ready","effect":"NoSchedule"},)"
        R"({"key":"dedicated","value":"x","effect":"NoSchedule"}]}})");
  StartAgent("gate: {taint: true}\n");
  ASSERT_TRUE(WaitForNode([&] { return Condition() == "False PluginNotRegistered"; }))
      << Condition();
  ASSERT_TRUE(WaitForNode([&] { return Label(kProduct) == "Tesla-T4"; }));
  EXPECT_NE(Label(kModel), "");
  EXPECT_EQ(NodeStatus().code, 7);
  StartKubelet();
  ASSERT_TRUE(WaitForNode([&] { return Condition() == "False KubeletCountDiffers"; }));
  EXPECT_THAT(json::serialize(Node()), HasSubstr("kgpu.dev/not-ready"));
  Count(4);
  ASSERT_TRUE(WaitForNode([&] { return Condition() == "True AllVerified"; })) << Condition();
  ASSERT_TRUE(WaitForNode(
      [&] { return json::serialize(Node()).find("kgpu.dev/not-ready") == std::string::npos; }));
  EXPECT_THAT(json::serialize(Node()), HasSubstr("dedicated")) << "others' taints stay";
  EXPECT_EQ(NodeStatus().code, 0);
}

TEST_F(AgentClusterTest, ARestartWritesNothingAndLosesNothing) {
  StartKubelet();
  Count(4);
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] { return Condition() == "True AllVerified"; }));
  ASSERT_TRUE(WaitForNode(
      [&] { return !Label(kProduct).empty() && Condition("GPUHealthy") == "True AllHealthy"; }));
  const std::string writes = Writes();
  agent_->Stop();
  EXPECT_EQ(Label(kProduct), "Tesla-T4");
  StartAgent();
  // Its watch is what tells that it has seen the node.
  const auto has_seen = [&] {
    return NodeStatus().out.find("the node is up to date") != std::string::npos;
  };
  ASSERT_TRUE(WaitForNode(has_seen)) << NodeStatus().out;
  EXPECT_EQ(Writes(), writes);
}

TEST_F(AgentClusterTest, TheClusterIsCollectedForSupport) {
  Ask("POST", "/api/v1/namespaces/kgpu/pods",
      R"({"metadata":{"name":"kgpu-agent-x"},"spec":{"nodeName":"n1","containers":[{"name":"main",
          "image":"i","env":[{"name":"HF_TOKEN","value":"s3cr3t"}]}]}})");
  const std::string file = At("cluster.tar.gz");
  const Result result = RunProgram(
      {"kgpu", "collect", "--cluster", "--kubeconfig", At("kubeconfig"), "--file", file});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("logs/kgpu-agent-x.log: ")) << "no kubelet has it";
  ASSERT_EQ(Shell(fmt::format("tar -xzf {} -C {}", file, host_->dir().path())).code, 0);
  EXPECT_THAT(host_->dir().ReadFile("kgpu-collect/nodes.json"), HasSubstr("\"n1\""));
  const std::string pods = host_->dir().ReadFile("kgpu-collect/pods.json");
  EXPECT_THAT(pods, HasSubstr("HF_TOKEN"));
  EXPECT_THAT(pods, Not(HasSubstr("s3cr3t")));
}

TEST_F(AgentClusterTest, ItsGpusAreWatchedThroughTheApiServer) {
  keeps_log_ = true;
  http_address_ = "127.0.0.1:0";
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] { return Label(kProduct) == "Tesla-T4"; }));
  const std::string log = host_->dir().ReadFile("log");
  const std::string port = log.substr(log.find("address=127.0.0.1:") + 18);
  Ask("POST", "/api/v1/namespaces/kgpu/pods",
      fmt::format(R"({{"metadata":{{"name":"kgpu-agent-x","labels":{{"app.kubernetes.io/name":
          "kgpu-agent"}}}},"spec":{{"nodeName":"n1","containers":[{{"name":"main","image":"i",
          "ports":[{{"name":"metrics","containerPort":{}}}]}}]}}}})",
                  std::stoi(port)));
  Merge("/api/v1/namespaces/kgpu/pods/kgpu-agent-x/status",
        R"({"status":{"phase":"Running","podIP":"127.0.0.1"}})");
  Merge("/api/v1/nodes/n1/status",
        R"({"status":{"capacity":{"nvidia.com/gpu":"8"},"allocatable":{"nvidia.com/gpu":"8"}}})");
  const auto gpus = [this](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"kgpu", "cluster", "gpus", "--kubeconfig", At("kubeconfig")});
    return RunProgram(std::move(flags));
  };
  for (const char* by : {"node", "model", "pool"}) {
    const Result table = gpus({"--by", by});
    EXPECT_EQ(table.code, 0);
    EXPECT_EQ(table.err, "");
    EXPECT_THAT(table.out, ::testing::ContainsRegex("UTIL .*MEMORY")) << by;
    EXPECT_THAT(table.out, HasSubstr("% ")) << by;
    EXPECT_THAT(table.out, HasSubstr(" GiB")) << by;
  }
  EXPECT_THAT(gpus({"--api-only"}).out, Not(HasSubstr("MEMORY")));
  agent_->Stop();
  EXPECT_THAT(gpus({}).err,
              HasSubstr("not read: GPU use: 1 of 1 agents did not answer: kgpu-agent-x: "));
}

TEST_F(AgentClusterTest, AnUnhealthyGpuIsAConditionOfTheNode) {
  StartAgent("health: {holdDown: 1s}\n");
  ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "True AllHealthy"; }));
  host_->Inject("xid", {"0", "79"});
  ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "False Xid79"; }))
      << Condition("GPUHealthy");
  ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "True AllHealthy"; }));
}

TEST_F(AgentClusterTest, LabelsOutliveADriverThatGoesAndFollowOneThatComes) {
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] { return Label(kProduct) == "Tesla-T4"; }));
  host_->Inject("unload");
  ASSERT_TRUE(WaitForNode([&] { return Condition() == "False DriverNotLoaded"; })) << Condition();
  EXPECT_EQ(Label(kProduct), "Tesla-T4");
  agent_->Stop();
  StartAgent();
  ASSERT_TRUE(WaitForNode(
      [&] { return NodeStatus().out.find("the node is up to date") != std::string::npos; }));
  EXPECT_EQ(Label(kProduct), "Tesla-T4") << "what the node carries is remembered";
}

TEST_F(AgentClusterTest, AnotherPluginIsStoodBackForFromTheStart) {
  StartKubelet();
  const auto other = sys::UnixListener::Listen(At("kubelet/device-plugins/nvidia-gpu.sock"), {});
  ASSERT_OK(other);
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] { return !Label(kProduct).empty(); }));
  EXPECT_THAT(NodeStatus().out, HasSubstr("left to NVIDIA's device plugin"));
  const Result kubelet = RunProgram({"kgpu-sim", "kubelet", "status", At("kubelet")});
  EXPECT_THAT(kubelet.out, Not(HasSubstr("nvidia.com/gpu ")));
  // Told to, it takes over.
  const Result adopt = RunProgram({"kgpu", "node", "adopt", "--from", "plugin", "--node", "n1",
                                   "--kubeconfig", At("kubeconfig")});
  ASSERT_EQ(adopt.code, 0) << adopt.err;
  const Result wait = RunProgram({"kgpu-sim", "kubelet", "wait", At("kubelet"), "--resource",
                                  "nvidia.com/gpu", "--allocatable", "4"});
  EXPECT_EQ(wait.code, 0) << wait.err;
}

TEST_F(AgentClusterTest, LabelsGoWhereTheConfigurationSays) {
  host_->dir().MakeDir("host/etc/kubernetes/node-feature-discovery/features.d");
  StartAgent("labels: {to: file}\n");
  ASSERT_TRUE(WaitForNode([&] { return !Condition().empty(); }));
  const std::string file = "host/etc/kubernetes/node-feature-discovery/features.d/kgpu";
  ASSERT_TRUE(WaitForNode([&] { return !host_->dir().ReadFile(file).empty(); }));
  EXPECT_THAT(host_->dir().ReadFile(file), HasSubstr("nvidia.com/gpu.product=Tesla-T4\n"));
  EXPECT_EQ(Label(kProduct), "");
}

TEST_F(AgentClusterTest, LabelsAreAppliedOnceByAVerb) {
  const auto labels = [&](std::vector<std::string> words) {
    std::vector<std::string> argv = {"kgpu",         "labels",         "--apply",   "--node", "n1",
                                     "--kubeconfig", At("kubeconfig"), "--run-dir", At("run")};
    argv.insert(argv.end(), words.begin(), words.end());
    for (const std::string& flag : host_->flags()) {
      argv.push_back(flag);
    }
    return RunProgram(argv);
  };
  const Result dry = labels({"--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("label + nvidia.com/gpu.product=Tesla-T4 (dry run)"));
  EXPECT_EQ(Label(kProduct), "");
  EXPECT_EQ(labels({}).code, 0);
  EXPECT_EQ(Label(kProduct), "Tesla-T4");
  EXPECT_NE(Label(kModel), "");
  EXPECT_THAT(labels({}).out, HasSubstr("no changes"));
}

TEST_F(AgentClusterTest, HalfASetOfLabelsIsNotApplied) {
  const auto apply = [&](std::vector<std::string> words) {
    std::vector<std::string> argv = {"kgpu",         "labels",         "--apply",
                                     "--kubeconfig", At("kubeconfig"), "--node",
                                     "n1",           "--run-dir",      At("run")};
    argv.insert(argv.end(), words.begin(), words.end());
    for (const std::string& flag : host_->flags()) {
      argv.push_back(flag);
    }
    return RunProgram(argv);
  };
  EXPECT_EQ(apply({"--only", "gpus"}).code, 2);
  host_->Inject("unload");
  const Result silent = apply({});
  EXPECT_EQ(silent.code, 6) << silent.err;
  EXPECT_EQ(Label(kModel), "");
  StartAgent();
  host_->Inject("load");
  ASSERT_TRUE(WaitForNode([&] { return !Label(kProduct).empty(); }));
  EXPECT_THAT(apply({}).err, HasSubstr("an agent is running here"));
  EXPECT_EQ(apply({"--dry-run"}).code, 0);
}

TEST_F(AgentClusterTest, ClearTakesEverythingOff) {
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] {
    return !Label(kProduct).empty() && !Condition().empty() && !Condition("GPUHealthy").empty();
  }));
  agent_->Stop();
  const Result clear =
      RunProgram({"kgpu", "node", "clear", "--node", "n1", "--kubeconfig", At("kubeconfig")});
  EXPECT_EQ(clear.code, 0) << clear.err;
  EXPECT_EQ(Label(kProduct), "");
  EXPECT_EQ(Condition(), "");
  EXPECT_EQ(Condition("GPUHealthy"), "");
  EXPECT_THAT(json::serialize(Node().at("metadata")), Not(HasSubstr("kgpu.dev/gpus")));
}

}  // namespace
}  // namespace kgpu::e2e
