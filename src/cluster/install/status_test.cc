#include "src/cluster/install/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>

#include "src/cluster/install/test_install.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class StatusTest : public ::testing::Test {
 protected:
  void Install() {
    ASSERT_OK(cluster_.DoInstall());
    cluster_.loop.Advance(std::chrono::seconds(10));
  }
  void SetReady(const std::string& node, const char* status, const char* reason,
                const char* message) {
    EXPECT_OK(cluster_.api.Do("PATCH", fmt::format("/api/v1/nodes/{}/status", node),
                              {{"status",
                                {{"conditions",
                                  {{{"type", "GPUReady"},
                                    {"status", status},
                                    {"reason", reason},
                                    {"message", message}}}}}}}));
  }
  ClusterStatus Read() {
    kube::Kinds kinds(cluster_.client);
    const auto status = ReadStatus(cluster_.client, kinds, "kgpu");
    EXPECT_OK(status);
    return status.ok() ? *status : ClusterStatus();
  }

  TestInstallation cluster_;
};

TEST_F(StatusTest, WithoutAnInstallationItSaysHowToInstall) {
  kube::Kinds kinds(cluster_.client);
  EXPECT_THAT(ReadStatus(cluster_.client, kinds, "kgpu"),
              StatusIs(StatusCode::kNotFound, HasSubstr("kgpu cluster install")));
}

TEST_F(StatusTest, ShowsTheChainOfEachNodeAndItsFirstProblem) {
  Install();
  SetReady("n1", "True", "AllVerified", "");
  SetReady("n2", "False", "CdiNotWritten", "disk full: free some space");
  const ClusterStatus status = Read();
  ASSERT_THAT(status.nodes, SizeIs(2));
  EXPECT_TRUE(status.nodes[0].is_ready);
  EXPECT_EQ(status.nodes[0].problem, "");
  EXPECT_EQ(status.nodes[1].problem, "CdiNotWritten: disk full: free some space");
  EXPECT_FALSE(status.IsHealthy());
  EXPECT_EQ(StatusTable(status),
            "kgpu 0.1.0 in namespace kgpu\n"
            "DaemonSet kgpu/kgpu-agent: 2 of 2 pods are available\n"
            "\n"
            "NODE  DRIVER  RUNTIME  CDI    PLUGIN  VALIDATED  GPUS  AGENT\n"
            "n1    ok      ok       ok     ok      ok         8     ready\n"
            "n2    ok      ok       wrong  -       -          8     ready\n"
            "\n"
            "n2: CdiNotWritten: disk full: free some space\n");
  const json::object object = StatusJson(status);
  EXPECT_EQ(object.at("nodes").at(1).at("steps").at("cdi").as_string(), "wrong");
  EXPECT_FALSE(object.at("healthy").as_bool());
}

TEST_F(StatusTest, EverythingOkIsHealthy) {
  Install();
  SetReady("n1", "True", "AllVerified", "");
  SetReady("n2", "True", "AllVerified", "");
  EXPECT_TRUE(Read().IsHealthy());
}

TEST_F(StatusTest, AnAgentThatCannotStartIsTheFirstProblem) {
  cluster_.sim.SetScript(
      [](const json::object&) { return simcluster::PodPlan{.waiting = "ImagePullBackOff"}; });
  Install();
  const ClusterStatus status = Read();
  ASSERT_THAT(status.nodes, SizeIs(2));
  EXPECT_EQ(status.nodes[0].agent, "failing");
  EXPECT_THAT(status.nodes[0].problem, HasSubstr("agent: container agent: ImagePullBackOff"));
  EXPECT_FALSE(status.IsHealthy());
}

TEST_F(StatusTest, ANodeThatLostItsAgentIsNamed) {
  Install();
  ASSERT_OK(cluster_.api.Do("POST", "/api/v1/nodes", {{"metadata", {{"name", "old"}}}}));
  ASSERT_OK(cluster_.api.Do("DELETE", "/apis/apps/v1/namespaces/kgpu/daemonsets/kgpu-agent",
                            json::object()));
  cluster_.loop.Advance(std::chrono::seconds(10));
  SetReady("n1", "True", "AllVerified", "");
  const ClusterStatus status = Read();
  ASSERT_THAT(status.nodes, SizeIs(1));
  EXPECT_EQ(status.nodes[0].agent, "none");
  EXPECT_EQ(status.nodes[0].steps[0], StepState::kUnknown) << "its condition is of the past";
  EXPECT_THAT(status.nodes[0].problem, HasSubstr("no agent runs on the node"));
  ASSERT_THAT(status.workloads, SizeIs(1));
  EXPECT_THAT(status.workloads[0].text, HasSubstr("is missing"));
}

// `kgpu cluster render | kubectl apply`, or helm.
TEST_F(StatusTest, WhatOthersHaveInstalledIsShown) {
  kube::Kinds kinds(cluster_.client);
  ASSERT_OK(kube::StatusOfResults(
      kube::ApplyObjects(cluster_.client, kinds, SmallSet(), {.field_manager = "kubectl"})));
  cluster_.loop.Advance(std::chrono::seconds(10));
  SetReady("n1", "True", "AllVerified", "");
  SetReady("n2", "True", "AllVerified", "");
  const ClusterStatus status = Read();
  EXPECT_TRUE(status.IsHealthy());
  ASSERT_THAT(status.workloads, SizeIs(1));
  EXPECT_EQ(status.workloads[0].name, "DaemonSet kgpu/kgpu-agent");
  EXPECT_THAT(status.nodes, SizeIs(2));
  EXPECT_THAT(StatusTable(status),
              HasSubstr("kgpu in namespace kgpu, not installed by kgpu cluster install"));
  EXPECT_THAT(ReadStatus(cluster_.client, kinds, "default"),
              StatusIs(StatusCode::kNotFound, HasSubstr("but in kgpu: set --namespace kgpu")));
}

TEST_F(StatusTest, ANodeThatIsNotReadyIsNamed) {
  Install();
  SetReady("n1", "True", "AllVerified", "");
  SetReady("n2", "True", "AllVerified", "");
  EXPECT_OK(cluster_.api.Do("PATCH", "/api/v1/nodes/n2/status",
                            {{"status",
                              {{"conditions",
                                {{{"type", "Ready"},
                                  {"status", "Unknown"},
                                  {"reason", "NodeStatusUnknown"},
                                  {"message", "Kubelet stopped posting node status."}}}}}}}));
  const ClusterStatus status = Read();
  EXPECT_FALSE(status.IsHealthy());
  ASSERT_THAT(status.nodes, SizeIs(2));
  EXPECT_EQ(status.nodes[1].problem,
            "the node is not ready: NodeStatusUnknown: Kubelet stopped posting node status. Look "
            "at the kubelet there: systemctl status kubelet");
  EXPECT_FALSE(status.nodes[1].is_ready);
  EXPECT_EQ(status.nodes[1].steps[0], StepState::kUnknown);
}

TEST_F(StatusTest, AnAgentThatHasNotReportedYetIsAwaited) {
  Install();
  SetReady("n1", "True", "AllVerified", "");
  const ClusterStatus status = Read();
  ASSERT_THAT(status.nodes, SizeIs(2));
  EXPECT_FALSE(status.nodes[0].is_awaited);
  EXPECT_TRUE(status.nodes[1].is_awaited);
  EXPECT_THAT(status.nodes[1].problem, HasSubstr("has not reported yet"));
  EXPECT_TRUE(status.nodes[1].has_gpus);
}

// Every reason of docs/reference/gating.md.
TEST(StepOfReasonTest, KnowsTheReasonsOfTheGate) {
  for (const auto& [reason, step] :
       std::vector<std::pair<const char*, size_t>>{{"DriverNouveau", 0},
                                                   {"RuntimeNotReady", 1},
                                                   {"CdiNotWritten", 2},
                                                   {"PluginNotRegistered", 3},
                                                   {"NothingAdvertised", 3},
                                                   {"KubeletCountDiffers", 3},
                                                   {"NothingAllocatable", 3},
                                                   {"HandleFailed", 4},
                                                   {"NoGpu", kSteps.size()},
                                                   {"Recovering", kSteps.size()}}) {
    EXPECT_EQ(StepOfReason(reason), step) << reason;
  }
}

}  // namespace
}  // namespace kgpu::install
