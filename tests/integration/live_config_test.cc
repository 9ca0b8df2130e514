// A node's configuration that changes while the agent runs: what the kubelet and pods see of it.
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "tests/integration/agent_fixture.h"

namespace kgpu::integration {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string TextAt(const boost::json::value& status, const char* section, const char* key) {
  const auto* object = status.if_object();
  const auto* inner = object ? object->if_contains(section) : nullptr;
  const auto* field = inner && inner->is_object() ? inner->get_object().if_contains(key) : nullptr;
  return field && field->is_string() ? std::string(field->get_string()) : std::string();
}

class LiveConfig : public AgentFixture {
 protected:
  void Write(const std::string& pools, const std::string& strategy) const {
    node_->host().dir().WriteFile(
        "config.yaml",
        fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\nhealth: {{holdDown: 50ms}}\n"
                    "plugin: {{registration: {}, deviceListStrategy: {}}}\n{}",
                    is_watched() ? "plugin-watcher" : "kubelet-socket", strategy, pools));
  }
};

TEST_P(LiveConfig, ChangesHowContainersGetTheirDevices) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4, {.strategy = "[device-specs, mounts]"}));
  ASSERT_NO_FATAL_FAILURE(RunPod("nodes", 1));
  EXPECT_THAT(Container("nodes").options.devices, Not(IsEmpty()));
  Write("", "cdi-cri");
  ASSERT_TRUE(node_->WaitForStatus([](const boost::json::value& status) {
    return TextAt(status, "delivery", "by") == "CdiCri";
  }));
  ASSERT_NO_FATAL_FAILURE(RunPod("cdi", 1));
  EXPECT_THAT(Container("cdi").options.devices, IsEmpty());
  EXPECT_THAT(Container("cdi").options.cdi_devices, SizeIs(1));
}

TEST_P(LiveConfig, SharesAndRenamesWithoutTouchingPods) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("old", 1));
  Write(
      "pools:\n"
      "  - {resource: nvidia.com/gpu.shared, devices: {index: [3]}, "
      "share: {by: time, replicas: 5}}\n"
      "  - {resource: nvidia.com/gpu}\n",
      "auto");
  EXPECT_TRUE(WaitForGpus(5, 5, "nvidia.com/gpu.shared"));
  EXPECT_TRUE(WaitForGpus(3, 3));
  EXPECT_EQ(kubelet_->FindPod("old")->status.phase, PodPhase::kRunning);
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("shared", "nvidia.com/gpu.shared", 1)));
}

TEST_P(LiveConfig, KeepsTheFormerConfigurationWhenTheNewOneIsBad) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  Write("pool: []\n", "auto");
  ASSERT_TRUE(node_->WaitForStatus([](const boost::json::value& status) {
    return TextAt(status, "config", "problem").find("pool") != std::string::npos;
  }));
  EXPECT_TRUE(WaitForGpus(4, 4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  Write("", "auto");
  EXPECT_TRUE(node_->WaitForStatus([](const boost::json::value& status) {
    return TextAt(status, "config", "problem").empty();
  }));
}

TEST_P(LiveConfig, WithdrawsAResourceThatNoPoolHasAnyMore) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  Write("pools: [{resource: example.com/gpu}]\n", "auto");
  EXPECT_TRUE(WaitForGpus(4, 4, "example.com/gpu"));
  EXPECT_TRUE(
      kubelet_->WaitFor([&] { return kubelet_->Allocatable(kGpuResource) <= 0; }, kAgentPatience));
}

INSTANTIATE_TEST_SUITE_P(Both, LiveConfig,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         [](const auto& way) {
                           return way.param == Registration::kPluginWatcher ? "Watcher" : "Socket";
                         });

}  // namespace
}  // namespace kgpu::integration
