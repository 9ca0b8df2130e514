#include "src/node/object/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/object/test_facts.h"

namespace kgpu::node {
namespace {

using ::testing::HasSubstr;

std::string WrongName(const ChainFacts& facts) {
  const Chain chain = CheckChain(facts);
  const Link* wrong = FirstWrong(chain);
  return wrong == nullptr ? "" : wrong->name + "/" + wrong->reason;
}

TEST(ChainTest, HasItsLinksInOrder) {
  std::vector<std::string> names;
  for (const Link& link : CheckChain(ReadyFacts()).links) {
    names.push_back(link.name);
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("driver", "runtime", "cdi", "plugin", "kubelet", "handle"));
}

TEST(ChainTest, OfAReadyNodeIsTrue) {
  const Chain chain = CheckChain(ReadyFacts());
  EXPECT_EQ(FirstWrong(chain), nullptr);
  EXPECT_EQ(Worst(chain), LinkState::kOk);
  const ConditionText condition = ConditionOf(chain);
  EXPECT_TRUE(condition.is_true);
  EXPECT_EQ(condition.reason, "AllVerified");
}

TEST(ChainTest, BeforeAnythingIsKnownWaitsForTheDriver) {
  const Chain chain = CheckChain(ChainFacts{});
  EXPECT_EQ(WrongName(ChainFacts{}), "driver/DriverStarting");
  EXPECT_EQ(Worst(chain), LinkState::kWaiting);
  EXPECT_FALSE(ConditionOf(chain).is_true);
}

TEST(ChainTest, NamesTheDriversStateAndItsFix) {
  ChainFacts facts = ReadyFacts();
  facts.driver = device::DriverState::kVersionMismatch;
  facts.driver_problem = "module 535.1, library 535.2: reboot";
  EXPECT_EQ(WrongName(facts), "driver/DriverVersionMismatch");
  EXPECT_EQ(Worst(CheckChain(facts)), LinkState::kBad);
  EXPECT_EQ(ConditionOf(CheckChain(facts)).message, "module 535.1, library 535.2: reboot");
}

TEST(ChainTest, AConditionNamesTheLinkUnlessItsTextDoes) {
  ChainFacts facts = ReadyFacts();
  facts.cdi_problem = "disk full";
  EXPECT_EQ(ConditionOf(CheckChain(facts)).message, "cdi: disk full");
  facts.driver = device::DriverState::kNotLoaded;
  facts.driver_problem = "Driver 535.1 is installed, but not loaded: modprobe nvidia";
  EXPECT_EQ(ConditionOf(CheckChain(facts)).message, facts.driver_problem);
}

TEST(ChainTest, EachFactBreaksItsOwnLink) {
  struct Case {
    std::string expected;
    void (*breaks)(ChainFacts&);
  };
  const std::vector<Case> cases = {
      {"runtime/RuntimeUnknown", [](ChainFacts& f) { f.is_runtime_known = false; }},
      {"runtime/RuntimeNotReady", [](ChainFacts& f) { f.runtime_problem = "too old"; }},
      {"cdi/CdiNotWritten", [](ChainFacts& f) { f.is_cdi_written = false; }},
      {"cdi/CdiNotWritten", [](ChainFacts& f) { f.cdi_problem = "disk full"; }},
      {"plugin/PluginNotRegistered", [](ChainFacts& f) { f.has_resources = false; }},
      {"plugin/PluginNotRegistered", [](ChainFacts& f) { f.resources[0].is_registered = false; }},
      {"plugin/NothingAdvertised", [](ChainFacts& f) { f.resources.clear(); }},
      {"plugin/NothingAdvertised",
       [](ChainFacts& f) {
         f.resources.clear();
         f.local_gpus = 8;
       }},
      {"kubelet/KubeletCountDiffers",
       [](ChainFacts& f) { f.allocatable = Quantities{{"nvidia.com/gpu", "7"}}; }},
      {"kubelet/KubeletCountDiffers", [](ChainFacts& f) { f.allocatable = Quantities{}; }},
      {"kubelet/NothingAllocatable",
       [](ChainFacts& f) {
         f.resources[0].allocatable = 0;
         f.allocatable = Quantities{{"nvidia.com/gpu", "0"}};
       }},
      {"handle/HandleFailed", [](ChainFacts& f) { f.handles = 0; }},
  };
  for (const Case& c : cases) {
    ChainFacts facts = ReadyFacts();
    c.breaks(facts);
    EXPECT_EQ(WrongName(facts), c.expected);
  }
}

TEST(ChainTest, SaysWhyNoDeviceIsHealthy) {
  ChainFacts facts = ReadyFacts();
  facts.resources[0].allocatable = 0;
  facts.resources[0].fault = "libkgpu-share.so is missing: install it";
  facts.allocatable = Quantities{{"nvidia.com/gpu", "0"}};
  const ConditionText condition = ConditionOf(CheckChain(facts));
  EXPECT_EQ(condition.reason, "NothingAllocatable");
  EXPECT_THAT(condition.message, testing::HasSubstr("libkgpu-share.so is missing: install it"));
}

// A pool for other nodes of the cluster, for example.
TEST(ChainTest, AResourceWithoutDevicesNeedsNoRegistration) {
  ChainFacts facts = ReadyFacts();
  facts.resources.push_back({.name = "nvidia.com/t4"});
  EXPECT_EQ(WrongName(facts), "");
  facts.allocatable->emplace("nvidia.com/t4", "0");
  EXPECT_EQ(WrongName(facts), "");
  (*facts.allocatable)["nvidia.com/t4"] = "8";
  EXPECT_EQ(WrongName(facts), "kubelet/KubeletCountDiffers");
}

TEST(ChainTest, PoolsWithoutAnyDeviceAdvertiseNothing) {
  ChainFacts facts = ReadyFacts();
  facts.resources = {{.name = "nvidia.com/t4"}};
  facts.allocatable = Quantities{};
  EXPECT_EQ(WrongName(facts), "plugin/NothingAdvertised");
  EXPECT_EQ(Worst(CheckChain(facts)), LinkState::kBad);
}

TEST(ChainTest, ANodeWhoseDevicesAllWaitForTheirUsersIsReady) {
  ChainFacts facts = ReadyFacts();
  facts.resources = {{.name = "nvidia.com/a100"}};
  facts.allocatable = Quantities{{"nvidia.com/gpu", "0"}};
  facts.changing = 8;
  EXPECT_EQ(WrongName(facts), "");
  // Withdrawn until their MIG layout has changed: listed, but unhealthy.
  facts.resources[0] = {.name = "nvidia.com/a100", .devices = 8, .is_registered = true};
  EXPECT_EQ(WrongName(facts), "");
  facts.changing = 0;
  EXPECT_EQ(WrongName(facts), "kubelet/NothingAllocatable");
}

TEST(ChainTest, DoesNotNeedCdiWhereTheRuntimeGetsNodes) {
  ChainFacts facts = ReadyFacts();
  facts.is_cdi_used = false;
  facts.is_cdi_written = false;
  EXPECT_EQ(WrongName(facts), "");
}

TEST(ChainTest, TakesTheKubeletsWordOnlyWhereItIsKnown) {
  ChainFacts facts = ReadyFacts();
  facts.allocatable.reset();
  EXPECT_EQ(WrongName(facts), "");
}

TEST(ChainTest, WithoutAGpuHasNoLinksAndSaysSo) {
  ChainFacts facts;
  facts.gpus = 0;
  const Chain chain = CheckChain(facts);
  EXPECT_FALSE(chain.has_gpus);
  EXPECT_TRUE(chain.links.empty());
  EXPECT_EQ(ConditionOf(chain).reason, "NoGpu");
}

TEST(ChainTest, OfAForeignPluginAsksOnlyWhatTheNodeCounts) {
  ChainFacts facts = ReadyFacts();
  facts.plugin_owner = "NVIDIA's device plugin";
  facts.resources.clear();
  facts.is_cdi_written = false;
  EXPECT_EQ(WrongName(facts), "");
  facts.allocatable = Quantities{{"nvidia.com/gpu", "0"}};
  EXPECT_EQ(WrongName(facts), "kubelet/KubeletCountDiffers");
}

}  // namespace
}  // namespace kgpu::node
