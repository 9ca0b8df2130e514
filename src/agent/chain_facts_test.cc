#include "src/agent/chain_facts.h"

#include <gtest/gtest.h>

#include <memory>

#include "src/agent/test_state.h"

namespace kgpu::agent {
namespace {

// A state whose snapshot is changed.
template <typename Change>
AgentState With(Change change) {
  AgentState state = TestState();
  auto snapshot = std::make_shared<device::Snapshot>(*state.snapshot);
  change(*snapshot);
  state.snapshot = std::move(snapshot);
  return state;
}

TEST(ChainFactsTest, AWorkingNodeIsReported) {
  const node::ChainFacts facts = ChainFactsOf(TestState());
  EXPECT_EQ(facts.gpus, 2U);
  EXPECT_EQ(facts.driver, device::DriverState::kReady);
  EXPECT_EQ(facts.driver_version, "535.104.05");
  EXPECT_TRUE(facts.is_runtime_known);
  EXPECT_TRUE(facts.is_cdi_used);
  EXPECT_TRUE(facts.is_cdi_written);
  EXPECT_TRUE(facts.has_resources);
  ASSERT_EQ(facts.resources.size(), 1U);
  EXPECT_EQ(facts.resources[0].name, "nvidia.com/gpu");
  EXPECT_EQ(facts.resources[0].allocatable, 1U) << "one of two is unhealthy";
  EXPECT_TRUE(facts.resources[0].is_registered);
}

TEST(ChainFactsTest, AGpuThatLivesHasAHandleThoughItIsUnhealthy) {
  EXPECT_EQ(ChainFactsOf(TestState()).handles, 2U);
  const node::ChainFacts facts = ChainFactsOf(
      With([](device::Snapshot& snapshot) { snapshot.gpus[1].health.reason = "GpuLost"; }));
  EXPECT_EQ(facts.handles, 1U);
  EXPECT_NE(facts.handle_problem.find("fallen off the bus"), std::string::npos);
}

TEST(ChainFactsTest, ADriverThatDoesNotAnswerHasNoHandles) {
  const node::ChainFacts facts = ChainFactsOf(With([](device::Snapshot& snapshot) {
    snapshot.driver.state = device::DriverState::kNotLoaded;
    snapshot.driver.reason = "load it";
  }));
  EXPECT_EQ(facts.handles, 0U);
  EXPECT_EQ(facts.driver_problem, "load it");
  EXPECT_FALSE(facts.has_resources);
}

TEST(ChainFactsTest, AMissingPrivilegeExplainsWhatTheDriverAndTheKubeletCannot) {
  AgentState state = With([](device::Snapshot& snapshot) {
    snapshot.driver.state = device::DriverState::kNoPermission;
    snapshot.driver.reason = "cannot be opened";
  });
  state.endpoints[0].state = plugin::EndpointState::kWaiting;
  state.endpoints[0].reason = "no such folder";
  EXPECT_EQ(ChainFactsOf(state).driver_problem, "cannot be opened");
  state.missing_privileges = {{Purpose::kKubelet, "no folder", "no GPUs", "mount it"},
                              {Purpose::kDriver, "no cgroup", "no GPU", "privileged"}};
  const node::ChainFacts facts = ChainFactsOf(state);
  EXPECT_EQ(facts.driver_problem, "no cgroup: no GPU: privileged");
  EXPECT_EQ(facts.resources[0].problem, "no folder: no GPUs: mount it");
  std::string why;
  EXPECT_FALSE(IsReady(state, &why));
  EXPECT_EQ(why, "no cgroup: no GPU: privileged");
}

TEST(ChainFactsTest, APrivilegeThatIsNotUsedIsNoProblem) {
  AgentState state = TestState();
  state.missing_privileges = {{Purpose::kDriver, "no /proc", "no version", "mount it"},
                              {Purpose::kCdi, "no /run", "no specs", "mount it"},
                              {Purpose::kKubelet, "no folder", "no GPUs", "mount it"}};
  const node::ChainFacts facts = ChainFactsOf(state);
  EXPECT_EQ(facts.driver_problem + facts.cdi_problem + facts.resources[0].problem, "");
  std::string why;
  EXPECT_TRUE(IsReady(state, &why)) << why;
}

// One configuration for nodes with different GPUs.
TEST(ChainFactsTest, APoolThatSelectsNothingLeavesTheNodeReady) {
  AgentState state = TestState();
  state.assignment.resources.push_back({.name = "nvidia.com/t4", .slots = {}, .share = {}});
  const node::ChainFacts facts = ChainFactsOf(state);
  ASSERT_EQ(facts.resources.size(), 2U);
  EXPECT_EQ(facts.resources[0].devices, 2U);
  EXPECT_EQ(facts.resources[1].devices, 0U);
  EXPECT_TRUE(node::ConditionOf(node::CheckChain(facts)).is_true);
}

TEST(ChainFactsTest, DevicesThatWaitForTheirUsersAreCounted) {
  AgentState state = TestState();
  state.assignment.resources[0].slots[0].health = {
      .is_healthy = false, .reason = std::string(pools::kMigChangeReason), .message = "waits"};
  EXPECT_EQ(ChainFactsOf(state).changing, 1U);
  state.assignment.resources[0].slots.clear();
  state.endpoints.clear();
  state.assignment.unassigned.push_back(
      {.device_uuid = "GPU-1", .reason = "a pod has it", .gpu = {}, .is_changing = true});
  const node::ChainFacts facts = ChainFactsOf(state);
  EXPECT_EQ(facts.changing, 1U);
  EXPECT_TRUE(node::ConditionOf(node::CheckChain(facts)).is_true);
}

TEST(ChainFactsTest, NobodyKnowsHowManyGpusThereAreAtTheStart) {
  const node::ChainFacts facts = ChainFactsOf(With(
      [](device::Snapshot& snapshot) { snapshot.driver.state = device::DriverState::kStarting; }));
  EXPECT_EQ(facts.gpus, std::nullopt);
}

TEST(ChainFactsTest, WithoutADecisionTheRuntimeIsNotKnown) {
  AgentState state = TestState();
  state.delivery.reset();
  EXPECT_FALSE(ChainFactsOf(state).is_runtime_known);
}

TEST(ChainFactsTest, NodesAndMountsNeedNoCdi) {
  AgentState state = TestState();
  state.delivery->strategies = {config::DeviceListStrategy::kDeviceSpecs,
                                config::DeviceListStrategy::kMounts};
  EXPECT_FALSE(ChainFactsOf(state).is_cdi_used);
}

TEST(ChainFactsTest, ABadConfigurationIsReportedFirst) {
  AgentState state = TestState();
  state.has_config = false;
  state.config_problem = "config.yaml:1: fix it";
  EXPECT_EQ(ChainFactsOf(state).runtime_problem, "config.yaml:1: fix it");
  EXPECT_FALSE(ChainFactsOf(state).has_resources);
}

}  // namespace
}  // namespace kgpu::agent
