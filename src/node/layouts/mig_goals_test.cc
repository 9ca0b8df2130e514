#include "src/node/layouts/mig_goals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/node/pools/test_node.h"

namespace kgpu::layouts {
namespace {

using pools::TestConfig;
using pools::TestGpuName;
using pools::TestNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(MigGoalsTest, PoolsComeBeforeTheLabel) {
  const auto config = TestConfig(
      "exclude: [{index: 3}]\n"
      "pools:\n"
      "- devices: {index: 0}\n  share: {by: mig, layout: [3g.40gb, 3g.40gb]}\n"
      "- devices: {index: 4}\n  provider: local\n"
      "- devices: all\n");
  device::Snapshot node = TestNode(6);
  node.gpus[5].mig_mode.reset();
  const auto goals = MigGoalsOf(
      {.snapshot = node, .config = config, .label = "half", .configs_file = "/etc/mig.yaml"});
  ASSERT_THAT(goals, SizeIs(2));
  EXPECT_EQ(goals[0].name, "pools[0] (index=0)");
  EXPECT_EQ(goals[0].layout, mig::LayoutChoice{.instances = "3g.40gb,3g.40gb"});
  EXPECT_THAT(goals[0].gpus, ElementsAre(TestGpuName(0)));
  EXPECT_EQ(goals[1].name, "nvidia.com/mig.config=half");
  EXPECT_TRUE(goals[1].is_label);
  EXPECT_EQ(goals[1].layout, (mig::LayoutChoice{.named = "half", .configs_file = "/etc/mig.yaml"}));
  // Neither the excluded one, nor that of the local pool, nor the one without MIG.
  EXPECT_THAT(goals[1].gpus, ElementsAre(TestGpuName(1), TestGpuName(2)));
}

TEST(MigGoalsTest, WithoutPoolsAndLabelThereIsNothingToDo) {
  EXPECT_THAT(MigGoalsOf({.snapshot = TestNode(2), .config = config::DefaultNodeConfig()}),
              IsEmpty());
}

// It keeps its last good values, MIG included.
TEST(MigGoalsTest, AGpuThatIsLostHoldsUpNoOther) {
  device::Snapshot node = TestNode(4);
  node.gpus[0].health = {false, "Xid79", "."};
  node.gpus[1].health = {false, "GpuLost", "."};
  node.gpus[2].health = {false, "Xid48", "."};
  const auto goals = MigGoalsOf(
      {.snapshot = node, .config = config::DefaultNodeConfig(), .label = "all-balanced"});
  ASSERT_THAT(goals, SizeIs(1));
  EXPECT_THAT(goals[0].gpus, ElementsAre(TestGpuName(2), TestGpuName(3)));
}

TEST(MigGoalsTest, ALabelIsAGoalEvenWithoutGpus) {
  const auto goals = MigGoalsOf({.snapshot = device::Snapshot(),
                                 .config = config::DefaultNodeConfig(),
                                 .label = "all-disabled"});
  ASSERT_THAT(goals, SizeIs(1));
  EXPECT_THAT(goals[0].gpus, IsEmpty());
}

TEST(MigGoalsTest, MarksFollowTheLayouts) {
  device::Snapshot node = TestNode(2);
  const std::string before = MigMarksOf(node);
  EXPECT_EQ(MigMarksOf(TestNode(2)), before);
  node.gpus[0].mig_mode = device::MigMode{.is_enabled = false, .is_pending_enabled = true};
  EXPECT_NE(MigMarksOf(node), before) << "a reset would change the mode";
  node.gpus[0].mig_mode = device::MigMode{};
  pools::AddTestMig(node, 1, {"3g.40gb"});
  EXPECT_NE(MigMarksOf(node), before);
}

TEST(MigGoalsTest, TheOperatorsMigManagerOwnsTheLabel) {
  EXPECT_TRUE(HasMigManager({{"nvidia.com/gpu.deploy.mig-manager", "true"}}));
  EXPECT_FALSE(HasMigManager({{"nvidia.com/gpu.deploy.mig-manager", "false"}}));
  EXPECT_FALSE(HasMigManager({}));
}

}  // namespace
}  // namespace kgpu::layouts
