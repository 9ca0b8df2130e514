// Faults on a node with a kubelet: which devices turn unhealthy, for how long, and who still knows
// after a restart.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "src/platform/doc/doc.h"
#include "tests/integration/agent_fixture.h"

namespace kgpu::integration {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr const char* kShared = "nvidia.com/gpu.shared";

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class NodeHealth : public AgentFixture {
 protected:
  void Xid(const std::string& gpu, const std::string& code, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {gpu, code};
    arguments.insert(arguments.end(), more.begin(), more.end());
    node_->host().Inject("xid", arguments);
  }
  // What `kgpu health` says; null while no agent answers.
  json::value Health() const {
    const e2e::Result result =
        e2e::RunProgram({"kgpu", "health", "--output", "json", "--run-dir", node_->run_dir()});
    const auto health = doc::Parse(result.out, doc::Format::kJson, "kgpu health");
    return health.ok() && health->is_object() ? *health : json::value();
  }
  bool WaitForHealth(const std::function<bool(const json::value&)>& is_wanted) const {
    return node_->WaitForStatus([&](const json::value& status) {
      const json::value health = status.is_null() ? json::value() : Health();
      return health.is_object() && is_wanted(health);
    });
  }
  // Whether the page of series comes to have `text`.
  bool WaitForPage(const std::string& text) const {
    return node_->WaitForStatus([&](const json::value&) {
      return e2e::RunProgram({"kgpu", "metrics", "--run-dir", node_->run_dir()}).out.find(text) !=
             std::string::npos;
    });
  }
  bool WaitForReason(size_t gpu, const std::string& reason) const {
    return WaitForHealth([&](const json::value& health) {
      const json::array& gpus = health.at("gpus").as_array();
      return gpu < gpus.size() && gpus[gpu].at("health").at("reason") == json::value(reason);
    });
  }
  // How often that was an event of the GPU, as its journal has it.
  bool WaitForHistory(const std::string& gpu, const std::string& kind, int times) const {
    return node_->WaitForStatus([&](const json::value&) {
      const e2e::Result result =
          e2e::RunProgram({"kgpu", "health", "history", "--gpu", gpu, "--output", "json",
                           "--run-dir", node_->run_dir()});
      const auto history = doc::Parse(result.out, doc::Format::kJson, "history");
      return history.ok() && history->is_object() &&
             std::ranges::count_if(history->at("entries").as_array(),
                                   [&](const json::value& entry) {
                                     return entry.at("kind") == json::value(kind);
                                   }) >= times;
    });
  }
  // What is healthy is trusted soon from now on.
  void EndHoldDown() {
    std::string config = TextOf(node_->host().dir().At("config.yaml"));
    config.replace(config.find("1h"), 2, "50ms");
    node_->host().dir().WriteFile("config.yaml", config);
  }
  void ClearGpu(const std::string& gpu) const {
    const e2e::Result result =
        e2e::RunProgram({"kgpu", "health", "clear", gpu, "--run-dir", node_->run_dir()});
    EXPECT_EQ(result.code, 0) << result.err;
  }
};

TEST_P(NodeHealth, AFaultReachesTheEightReplicasOfItsGpuAndNoOther) {
  ASSERT_NO_FATAL_FAILURE(
      MakeNode({.more_config =
                    "pools: [{resource: nvidia.com/gpu.shared, share: {by: time, replicas: 8}}]\n",
                .hold_down = "1h"}));
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(32, 32, kShared));
  Xid("1", "79");
  ASSERT_TRUE(WaitForGpus(24, 32, kShared));
  EndHoldDown();
  EXPECT_TRUE(WaitForGpus(32, 32, kShared)) << "it is healthy again after the hold-down";
}

TEST_P(NodeHealth, AFaultOfAMigGpuReachesItsSevenDevicesOneOfAnInstanceOnlyItsOwn) {
  ASSERT_NO_FATAL_FAILURE(MakeNode(
      {.profile = "8xA100-SXM4-80GB", .more_config = "migStrategy: mixed\n", .hold_down = "1h"}));
  node_->host().Inject("mig", {"2", "--enable"});
  node_->host().Inject(
      "mig", {"2", "--create", "1g.10gb,1g.10gb,1g.10gb,1g.10gb,1g.10gb,1g.10gb,1g.10gb"});
  node_->StartAgent();
  constexpr const char* kMig = "nvidia.com/mig-1g.10gb";
  ASSERT_TRUE(WaitForGpus(7, 7, kMig));
  Xid("2", "79");
  ASSERT_TRUE(WaitForGpus(0, 7, kMig));
  ClearGpu("2");
  ASSERT_TRUE(WaitForGpus(7, 7, kMig));
  EXPECT_TRUE(WaitForGpus(7, 7)) << "the other GPUs";
  Xid("2", "94", {"--gi", "9"});
  ASSERT_TRUE(WaitForGpus(6, 7, kMig));
  EndHoldDown();
  EXPECT_TRUE(WaitForGpus(7, 7, kMig));
}

// NVIDIA/gpu-operator#1065, NVIDIA/k8s-device-plugin#1974: a GPU must not stay out of use for ever.
TEST_P(NodeHealth, FaultsOfProgramsLeaveAGpuInUseAndOthersEnd) {
  StartNode(4, {.hold_down = "1h"});
  for (const char* code : {"13", "31", "43", "45", "68", "109", "63"}) {
    Xid("1", code);
  }
  Xid("2", "94");
  ASSERT_TRUE(WaitForGpus(3, 4));
  ASSERT_TRUE(WaitForReason(2, "Xid94"));
  EndHoldDown();
  EXPECT_TRUE(WaitForGpus(4, 4));
}

TEST_P(NodeHealth, EachSourceAloneIsEnoughAndBothAreOne) {
  StartNode(4, {.hold_down = "1h"});
  Xid("3", "79", {"--only", "driver"});
  ASSERT_TRUE(WaitForGpus(3, 4));
  ClearGpu("3");
  ASSERT_TRUE(WaitForGpus(4, 4));
  Xid("3", "48", {"--only", "kernel-log"});
  ASSERT_TRUE(WaitForGpus(3, 4));
  ClearGpu("3");
  ASSERT_TRUE(WaitForGpus(4, 4));
  Xid("0", "48");
  ASSERT_TRUE(WaitForGpus(3, 4));
  EndHoldDown();
  ASSERT_TRUE(WaitForGpus(4, 4));
  EXPECT_TRUE(WaitForHealth([](const json::value& health) {
    const json::array& xids = health.at("gpus").at(0).at("xids").as_array();
    return xids.size() == 1 && xids[0].at("count").to_number<int>() == 1;
  }));
}

TEST_P(NodeHealth, AGpuThatFailsTooOftenIsHeldUntilAnAdminClearsIt) {
  StartNode(4, {.flap_limit = 3});
  for (int i = 0; i < 3; ++i) {
    Xid("1", "48");
    ASSERT_TRUE(WaitForHistory("1", "cleared", i + 1)) << i;
  }
  Xid("1", "48");
  ASSERT_TRUE(WaitForHealth([](const json::value& health) {
    const json::array& faults = health.at("gpus").at(1).at("faults").as_array();
    return !faults.empty() && faults[0].at("held") == json::value(true);
  }));
  EXPECT_TRUE(WaitForGpus(3, 4));
  // Neither a reset nor restarts of the agent make it good, not even with a bad configuration.
  node_->host().Inject("heal");
  node_->EndAgent();
  const std::string config = TextOf(node_->host().dir().At("config.yaml"));
  node_->host().dir().WriteFile("config.yaml", "pools: 3\n");
  node_->StartAgent();
  ASSERT_TRUE(WaitForReason(1, "Xid48"));
  node_->EndAgent();
  node_->host().dir().WriteFile("config.yaml", config);
  node_->StartAgent();
  ASSERT_TRUE(WaitForReason(1, "Xid48"));
  Xid("0", "48");  // comes and goes meanwhile
  ASSERT_TRUE(WaitForHistory("0", "cleared", 1));
  EXPECT_TRUE(WaitForReason(1, "Xid48"));
  ClearGpu("1");
  EXPECT_TRUE(WaitForGpus(4, 4));
}

TEST_P(NodeHealth, AHungDriverTakesAllGpusUntilItAnswersAndTheHoldDownIsOver) {
  StartNode(4);
  node_->host().Inject("hang");
  Xid("0", "48", {"--only", "kernel-log"});  // has the agent ask
  ASSERT_TRUE(WaitForGpus(0, 4));
  ASSERT_TRUE(WaitForReason(2, "DriverUnresponsive"));
  EXPECT_TRUE(WaitForPage("rule=\"DriverUnresponsive\"")) << "the page knows while it lasts";
  node_->host().Inject("heal");
  EXPECT_TRUE(WaitForGpus(4, 4));
}

TEST_P(NodeHealth, ALostGpuStaysUnhealthyUntilItIsBack) {
  StartNode(4);
  node_->host().Inject("lose", {"2"});
  ASSERT_TRUE(WaitForGpus(3, 4));
  ASSERT_TRUE(WaitForReason(2, "Xid79"));
  EXPECT_TRUE(WaitForHealth([](const json::value& health) {
    const auto& shown = health.at("gpus").at(2).at("health").at("message").as_string();
    return shown.find("GpuLost") != json::string::npos;
  }));
  node_->host().Inject("heal", {"2"});
  EXPECT_TRUE(WaitForGpus(4, 4));
}

TEST_P(NodeHealth, WhatTheDriverWantsDoneKeepsAGpuUntilItIsDone) {
  StartNode(8, {.profile = "8xB200"});
  node_->host().Inject("set", {"1", "recovery-action", "1"});
  Xid("1", "154");
  ASSERT_TRUE(WaitForReason(1, "RecoveryReset"));
  EXPECT_TRUE(WaitForGpus(7, 8));
  node_->host().Inject("set", {"1", "recovery-action", "0"});
  Xid("1", "154");
  EXPECT_TRUE(WaitForGpus(8, 8));
}

TEST_P(NodeHealth, TenThousandXidsAreCountedEachAndReportedOnce) {
  StartNode(4);
  Xid("1", "13", {"--times", "10000"});
  EXPECT_TRUE(WaitForHealth([](const json::value& health) {
    const json::array& xids = health.at("gpus").at(1).at("xids").as_array();
    return xids.size() == 1 && xids[0].at("count").to_number<int>() == 10'000;
  }));
  EXPECT_TRUE(WaitForGpus(4, 4));
  const e2e::Result history = e2e::RunProgram(
      {"kgpu", "health", "history", "--output", "json", "--run-dir", node_->run_dir()});
  const auto entries = doc::Parse(history.out, doc::Format::kJson, "history");
  ASSERT_OK(entries);
  EXPECT_LE(entries->at("entries").as_array().size(), 10U);
}

INSTANTIATE_TEST_SUITE_P(Kubelet, NodeHealth, ::testing::Values(Registration::kKubeletSocket));

}  // namespace
}  // namespace kgpu::integration
