// The label nvidia.com/mig.config: what an agent does about it, and says on the node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"
#include "tests/e2e/cluster_fixture.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kState = "nvidia.com/mig.config.state";
constexpr const char* kMpsPools =
    "pools:\n- devices: {index: 0}\n  share: {by: mps, replicas: 4}\n"
    "- resource: nvidia.com/whole\n  devices: all\n";
constexpr const char* kConfigs =
    "version: v1\n"
    "mig-configs:\n"
    "  whole:\n"
    "  - devices: [0, 1]\n"
    "    mig-enabled: true\n"
    "    mig-devices: {\"7g.80gb\": 1}\n"
    "  halves:\n"
    "  - devices: [0, 1]\n"
    "    mig-enabled: true\n"
    "    mig-devices: {\"3g.40gb\": 2}\n";

class AgentMigTest : public ClusterFixture {
 protected:
  std::string Profile() const override { return "8xH100-SXM5-80GB"; }
  std::vector<std::string> AgentFlags() const override { return {"--mig-config", At("mig.yaml")}; }
  void SetUp() override {
    ClusterFixture::SetUp();
    if (host_) {
      host_->dir().WriteFile("mig.yaml", kConfigs);
    }
  }
  // "" removes the label.
  void SetLabel(const std::string& value, const std::string& key = "nvidia.com/mig.config") const {
    Merge("/api/v1/nodes/n1", fmt::format(R"({{"metadata":{{"labels":{{"{}":{}}}}}}})", key,
                                          value.empty() ? "null" : fmt::format("\"{}\"", value)));
  }
  bool WaitForState(const std::string& state) const {
    return WaitForNode([&] { return Label(kState) == state; });
  }
  std::string Layouts() const { return host_->Kgpu({"mig", "list", "--gpu", "0,1"}).out; }
  int Assert(const std::string& layout) const {
    return host_->Kgpu({"mig", "assert", "--gpu", "0,1", "--layout", layout}).code;
  }
  std::string Events() const {
    return Ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events", "");
  }
  std::string Status() const { return RunProgram({"kgpu", "status", "--run-dir", At("run")}).out; }
};

// With a GPU 0 that is shared by MPS.
class AgentMigMpsTest : public AgentMigTest {
 protected:
  void StartMps() {
    StartAgent(kMpsPools);
    ASSERT_TRUE(WaitForNode([this] {
      FindDaemon();
      return !folder_.empty() && !Answer("get_default_active_thread_percentage").empty();
    })) << Status();
  }
  void FindDaemon() {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(At("run/mps"), error), end;
         !error && entry != end; entry.increment(error)) {
      if (entry->path().filename().string().starts_with("GPU-")) {
        folder_ = entry->path().string();
      }
    }
  }
  // The daemon outlives the agent on purpose.
  void TearDown() override {
    AgentMigTest::TearDown();
    if (!folder_.empty()) {
      (void)Answer("quit");
    }
  }
  std::string Variable() const { return fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/pipe", folder_); }
  // Of the daemon; empty: none runs, or it has nothing to say.
  std::string Answer(const std::string& command) const {
    const std::string program =
        std::filesystem::path(ProgramPath("kgpu")).parent_path() / "../lib/nvidia-cuda-mps-control";
    const Result answer =
        RunProgram({"/bin/sh", "-c", fmt::format("echo {} | {} {}", command, Variable(), program)});
    return answer.code == 0 ? std::string(Trim(answer.out)) : "";
  }

  std::string folder_;  // of the daemon
};

TEST_F(AgentMigTest, TheLabelIsFollowedAndAnswered) {
  StartAgent("migStrategy: mixed\n");
  ASSERT_TRUE(WaitForNode([&] { return Label("nvidia.com/gpu.count") == "8"; }));
  EXPECT_EQ(Label(kState), "") << "nobody asked";
  SetLabel("halves");
  ASSERT_TRUE(WaitForState("success")) << Status();
  EXPECT_EQ(Assert("2x3g.40gb"), 0) << Layouts();
  EXPECT_TRUE(WaitForNode([&] { return Label("nvidia.com/mig-3g.40gb.count") == "4"; }));
  EXPECT_THAT(Status(), HasSubstr("MIG       nvidia.com/mig.config=halves: success\n"));
  // The admin's label is never ours.
  EXPECT_EQ(Label("nvidia.com/mig.config"), "halves");
  SetLabel("");
  ASSERT_TRUE(WaitForState(""));
  EXPECT_EQ(Assert("2x3g.40gb"), 0) << "the layout stays";
  EXPECT_THAT(Status(), Not(HasSubstr("MIG ")));
}

TEST_F(AgentMigTest, AnUnknownNameFails) {
  StartAgent();
  SetLabel("halfs");
  ASSERT_TRUE(WaitForState("failed")) << Status();
  EXPECT_THAT(Status(), HasSubstr("no MIG configuration \"halfs\": there are whole, halves"));
  EXPECT_TRUE(WaitForNode([&] { return Events().find("MIGConfigFailed") != std::string::npos; }));
  SetLabel("halves");
  ASSERT_TRUE(WaitForState("success")) << Status();
}

TEST_F(AgentMigTest, TheLastOfQuickChangesCounts) {
  StartAgent();
  SetLabel("halves");
  SetLabel("whole");
  SetLabel("halves");
  SetLabel("whole");
  ASSERT_TRUE(WaitForNode([&] {
    return Label(kState) == "success" &&
           Status().find("mig.config=whole: success") != std::string::npos;
  })) << Status();
  EXPECT_EQ(Assert("7g.80gb"), 0) << Layouts();
}

TEST_F(AgentMigTest, ARestartedAgentWritesNothing) {
  SetLabel("halves");
  StartAgent();
  ASSERT_TRUE(WaitForState("success")) << Status();
  ASSERT_TRUE(WaitForNode(
      [&] { return NodeStatus().out.find("the node is up to date") != std::string::npos; }));
  agent_->Stop();
  const std::string writes = Writes();
  EXPECT_EQ(Label(kState), "success");
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] {
    return NodeStatus().out.find("the node is up to date") != std::string::npos &&
           Status().find("mig.config=halves: success") != std::string::npos;
  })) << Status();
  EXPECT_EQ(Writes(), writes);
}

TEST_F(AgentMigTest, ALostGpuHoldsUpNoOther) {
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] { return Label("nvidia.com/gpu.count") == "8"; }));
  const auto listed =
      doc::Parse(host_->Kgpu({"mig", "list", "--output", "json"}).out, doc::Format::kJson, "list");
  ASSERT_OK(listed);
  std::vector<std::string> uuids;
  for (const boost::json::value& gpu : listed->at("gpus").as_array()) {
    uuids.push_back(TextAt(gpu, {"uuid"}));
  }
  host_->Inject("lose", {"1"});
  SetLabel("halves");
  ASSERT_TRUE(WaitForState("success")) << Status();
  const std::vector<std::string> first = {"mig", "assert", "--gpu", "0", "--layout", "2x3g.40gb"};
  EXPECT_EQ(host_->Kgpu(first).code, 0) << Status();
  // A plan that was asked for before the loss was known.
  const std::vector<std::string> plan = {
      "mig",      "apply",     "--dry-run", "--idle-only",
      "--layout", "2x3g.40gb", "--gpu",     uuids.at(1) + "," + uuids.at(0)};
  const Result planned = host_->Kgpu(plan);
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_THAT(planned.err, HasSubstr(uuids[1] + " is left out"));
  const Result alone = host_->Kgpu(
      {"mig", "apply", "--dry-run", "--idle-only", "--layout", "2x3g.40gb", "--gpu", uuids[1]});
  EXPECT_EQ(alone.code, 3) << alone.err;
}

TEST_F(AgentMigTest, AGpuInUseWaitsAndSaysSo) {
  host_->Inject("process", {"1", "--pid", "4711", "--memory", "1Gi"});
  StartAgent();
  SetLabel("halves");
  ASSERT_TRUE(WaitForNode([&] { return Status().find("process 4711") != std::string::npos; }));
  ASSERT_TRUE(WaitForState("pending")) << Status();
  ASSERT_TRUE(WaitForNode([&] {
    return host_->Kgpu({"mig", "assert", "--gpu", "0", "--layout", "2x3g.40gb"}).code == 0;
  })) << Layouts();
  EXPECT_TRUE(WaitForNode([&] { return Events().find("4711") != std::string::npos; }));
  host_->Inject("process", {"1", "--pid", "4711", "--end"});
  ASSERT_TRUE(WaitForState("success")) << Status();
  EXPECT_EQ(Assert("2x3g.40gb"), 0) << Layouts();
}

// The server of an MPS daemon counts as a user for the driver: the daemon ends with the GPU's pool,
// or the GPU would wait for ever.
TEST_F(AgentMigMpsTest, ItsServerMakesRoom) {
  ASSERT_NO_FATAL_FAILURE(StartMps());
  std::vector<std::string> client = {"/usr/bin/env", Variable(), ProgramPath("kgpu"), "validate",
                                     "--gpu",        "0",        "--no-bandwidth"};
  for (std::string& flag : host_->flags()) {
    client.push_back(std::move(flag));
  }
  const Result validated = RunProgram(std::move(client));
  ASSERT_EQ(validated.code, 0) << validated.out << validated.err;
  const std::string server = Answer("get_server_list");
  ASSERT_NE(server, "");
  host_->Inject("process", {"0", "--pid", server, "--memory", "300Mi"});
  SetLabel("halves");
  ASSERT_TRUE(WaitForNode([&] { return Answer("get_server_list").empty(); }))
      << "the daemon: " << Status();
  host_->Inject("process", {"0", "--pid", server, "--end"});
  ASSERT_TRUE(WaitForState("success")) << Status();
  EXPECT_EQ(Assert("2x3g.40gb"), 0) << Layouts();
}

// What the node said before a restart holds from the start.
TEST_F(AgentMigMpsTest, NoDaemonStartsBesideAnotherPlugin) {
  Merge("/api/v1/nodes/n1", R"({"metadata":{"annotations":{"kgpu.dev/released":"plugin"}}})");
  host_->dir().WriteFile("run/plugin-owner", "other\n");
  StartAgent(kMpsPools);
  ASSERT_TRUE(WaitForNode([&] { return Label("nvidia.com/gpu.count") == "8"; })) << Status();
  EXPECT_THAT(Status(), HasSubstr("left to NVIDIA's device plugin"));
  FindDaemon();
  EXPECT_EQ(folder_, "");
}

// While another plugin serves the GPUs, withdrawing them has no effect: the label waits. One write
// sets both, so that there is no moment in which the label alone counts.
TEST_F(AgentMigTest, AnotherPluginsGpusAreLeftAloneUntilTheyAreTakenOver) {
  StartAgent();
  ASSERT_TRUE(WaitForNode(
      [&] { return NodeStatus().out.find("the node is up to date") != std::string::npos; }));
  Merge("/api/v1/nodes/n1", R"({"metadata":{"labels":{"nvidia.com/mig.config":"halves"},)"
                            R"("annotations":{"kgpu.dev/released":"plugin"}}})");
  ASSERT_TRUE(WaitForNode([&] {
    return Status().find("left to NVIDIA's device plugin") != std::string::npos;
  })) << Status();
  EXPECT_THAT(Events(), Not(HasSubstr("MIGConfig")));
  EXPECT_NE(Assert("2x3g.40gb"), 0) << Layouts();
  Merge("/api/v1/nodes/n1", R"({"metadata":{"annotations":{"kgpu.dev/released":null}}})");
  ASSERT_TRUE(WaitForState("success")) << Status();
  EXPECT_EQ(Assert("2x3g.40gb"), 0) << Layouts();
}

TEST_F(AgentMigTest, NvidiasMigManagerIsLeftAlone) {
  SetLabel("true", "nvidia.com/gpu.deploy.mig-manager");
  SetLabel("halves");
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] {
    return Status().find("left to NVIDIA's MIG manager") != std::string::npos;
  })) << Status();
  EXPECT_EQ(Label(kState), "");
  EXPECT_NE(Assert("2x3g.40gb"), 0);
}

}  // namespace
}  // namespace kgpu::e2e
