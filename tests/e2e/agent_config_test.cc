// The built agent beside the stub API server, with configurations that the labels of its node
// choose: what it serves, what it reports, and what a restart keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/cluster_fixture.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kConfigHead[] = "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n";

class AgentConfigTest : public ClusterFixture {
 protected:
  void WriteConfig(const std::string& key, const std::string& text) const {
    host_->dir().WriteFile("configs/" + key, text);
  }
  void SetLabel(const std::string& key, const std::string& value) {
    Merge("/api/v1/nodes/n1", fmt::format(R"({{"metadata":{{"labels":{{"{}":{}}}}}}})", key,
                                          value.empty() ? "null" : "\"" + value + "\""));
  }
  bool WaitForCondition(const std::string& condition) const {
    return WaitForNode([&] { return Condition("GPUConfigured") == condition; });
  }
  // The kubelet's devices of a resource.
  static Result WaitForResource(const std::string& folder, const std::string& resource,
                                const std::string& count) {
    return RunProgram(
        {"kgpu-sim", "kubelet", "wait", folder, "--resource", resource, "--allocatable", count});
  }
  Result Show(std::vector<std::string> words) const {
    std::vector<std::string> argv = {"kgpu", "config", "show", "--run-dir", At("run")};
    argv.insert(argv.end(), words.begin(), words.end());
    return RunProgram(argv);
  }
  Result ShowLive(std::vector<std::string> words = {}) const {
    words.insert(words.begin(), {"--live", "--kubeconfig", At("kubeconfig")});
    return Show(std::move(words));
  }
};

TEST_F(AgentConfigTest, ServesWhatTheLabelOfItsNodeNames) {
  StartKubelet();
  WriteConfig("shared.yaml", std::string(kConfigHead) +
                                 "pools: [{resource: example.com/shared, share: {by: time, "
                                 "replicas: 2}}]\n");
  WriteConfig("nvidia-shared",
              "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: "
              "3}]}}\n");
  StartAgent();
  ASSERT_TRUE(WaitForCondition("True ConfigApplied")) << Condition("GPUConfigured");
  EXPECT_EQ(WaitForResource(At("kubelet"), "nvidia.com/gpu", "4").code, 0);
  SetLabel("kgpu.dev/config", "shared");
  EXPECT_EQ(WaitForResource(At("kubelet"), "example.com/shared", "8").code, 0);
  SetLabel("kgpu.dev/config", "");
  SetLabel("nvidia.com/device-plugin.config", "nvidia-shared");
  EXPECT_EQ(WaitForResource(At("kubelet"), "nvidia.com/gpu", "12").code, 0);
  ASSERT_TRUE(WaitForNode(
      [&] { return ShowLive().out.find("nvidia-shared from kgpu-configs") != std::string::npos; }));
  const Result show = Show({});
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_THAT(show.out, AllOf(HasSubstr("runs       nvidia-shared from kgpu-configs\n"),
                              HasSubstr("chosen by  label nvidia.com/device-plugin.config="),
                              HasSubstr("kind: NodeConfig"), HasSubstr("replicas: 3")));
}

TEST_F(AgentConfigTest, KeepsWhatRunsWhenALabelOrAConfigurationIsWrong) {
  WriteConfig("good.yaml", std::string(kConfigHead) + "pools: [{resource: example.com/good}]\n");
  SetLabel("kgpu.dev/config", "good");
  StartAgent();
  ASSERT_TRUE(WaitForCondition("True ConfigApplied")) << Condition("GPUConfigured");
  SetLabel("kgpu.dev/config", "god");
  ASSERT_TRUE(WaitForCondition("False ConfigUnknown")) << Condition("GPUConfigured");
  const Result live = ShowLive();
  EXPECT_EQ(live.code, 7);
  EXPECT_THAT(live.out, AllOf(HasSubstr("good from kgpu-configs"), HasSubstr("unknown"),
                              HasSubstr("did you mean \"good\"?")));
  SetLabel("kgpu.dev/config", "good");
  ASSERT_TRUE(WaitForCondition("True ConfigApplied")) << Condition("GPUConfigured");
  WriteConfig("good.yaml", "pool: []\n");
  ASSERT_TRUE(WaitForCondition("False ConfigInvalid")) << Condition("GPUConfigured");
  // A restart changes nothing about it.
  agent_->Stop();
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] { return Show({}).code == 7; })) << Show({}).err;
  EXPECT_THAT(Show({}).out,
              AllOf(HasSubstr("runs       good from kgpu-configs\n"),
                    HasSubstr("resource: example.com/good"), HasSubstr("configs/good.yaml:1:1")));
  const Result status = RunProgram({"kgpu", "status", "--run-dir", At("run")});
  EXPECT_THAT(status.out, AllOf(HasSubstr("config    rejected: "),
                                HasSubstr("config    good from kgpu-configs (label "
                                          "kgpu.dev/config=good)\n")));
}

TEST_F(AgentConfigTest, ServesWithoutAnApiServerWhatItServedBefore) {
  StartKubelet();
  WriteConfig("good.yaml", std::string(kConfigHead) + "pools: [{resource: example.com/good}]\n");
  SetLabel("kgpu.dev/config", "good");
  StartAgent();
  EXPECT_EQ(WaitForResource(At("kubelet"), "example.com/good", "4").code, 0);
  agent_->Stop();
  server_->Stop();
  StartAgent();
  EXPECT_EQ(WaitForResource(At("kubelet"), "example.com/good", "4").code, 0);
  EXPECT_THAT(Show({"--output", "json"}).out,
              AllOf(HasSubstr("\"state\": \"applied\""), HasSubstr("label kgpu.dev/config=good")));
  server_.reset();  // its end looks for requests that were denied
}

TEST_F(AgentConfigTest, AnOrdinaryNodeHasNoSuchCondition) {
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "True AllHealthy"; }));
  ASSERT_TRUE(WaitForNode([&] { return !Condition().empty(); }));
  EXPECT_EQ(Condition("GPUConfigured"), "");
  EXPECT_FALSE(std::filesystem::exists(At("run/chosen-config.json")));
  const Result live = ShowLive();
  EXPECT_EQ(live.code, 0) << live.err;
  EXPECT_THAT(live.out, HasSubstr("n1    default  default    applied"));
  // A node without GPUs is none of kgpu's; one with a label that nobody answered is.
  Ask("POST", "/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"cpu"}})");
  EXPECT_THAT(ShowLive().out, Not(HasSubstr("cpu")));
  Merge("/api/v1/nodes/cpu", R"({"metadata":{"labels":{"kgpu.dev/config":"mig"}}})");
  const Result unanswered = ShowLive();
  EXPECT_EQ(unanswered.code, 7);
  EXPECT_THAT(unanswered.out, HasSubstr("unreported"));
  EXPECT_EQ(ShowLive({"--node", "n1"}).code, 0);
  EXPECT_EQ(ShowLive({"--node", "n2"}).code, 3);
  EXPECT_EQ(Show({"--node", "n1"}).code, 2);
}

}  // namespace
}  // namespace kgpu::e2e
