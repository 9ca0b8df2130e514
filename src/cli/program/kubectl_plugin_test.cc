#include "src/cli/program/kubectl_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/cli/program/program.h"
#include "src/platform/commands/command_tree.h"

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;

TEST(KubectlPluginTest, IsRecognisedByTheProgramsName) {
  EXPECT_EQ(CalledAsOf("/usr/bin/kubectl-kgpu"), CalledAs::kPlugin);
  EXPECT_EQ(CalledAsOf("kubectl_complete-kgpu"), CalledAs::kCompletion);
  EXPECT_EQ(CalledAsOf("/usr/bin/kgpu"), CalledAs::kProgram);
}

TEST(KubectlPluginTest, CommandsOfTheClusterNeedNoGroup) {
  EXPECT_THAT(PluginWords({"status", "-n", "kgpu"}),
              ElementsAre("cluster", "status", "-n", "kgpu"));
  EXPECT_THAT(PluginWords({"help", "install"}), ElementsAre("help", "cluster", "install"));
  EXPECT_THAT(PluginWords({"cluster", "status"}), ElementsAre("cluster", "status"));
  EXPECT_THAT(PluginWords({"explain", "pod", "a/b"}), ElementsAre("explain", "pod", "a/b"));
  EXPECT_THAT(PluginWords({"top", "--once"}), ElementsAre("top", "--cluster", "--once"));
  EXPECT_THAT(PluginWords({"top", "--cluster"}), ElementsAre("top", "--cluster"));
  EXPECT_THAT(PluginWords({"help", "top"}), ElementsAre("help", "top"));
  EXPECT_THAT(PluginWords({}), ElementsAre("cluster", "--help"));
  EXPECT_THAT(PluginWords({"--help"}), ElementsAre("cluster", "--help"));
}

TEST(KubectlPluginTest, EveryCommandOfTheGroupIsKnown) {
  const commands::Command tree = Program().Tree();
  const auto group = std::ranges::find(tree.commands, "cluster", &commands::Command::name);
  ASSERT_NE(group, tree.commands.end());
  for (const commands::Command& command : group->commands) {
    EXPECT_THAT(PluginWords({command.name}), ElementsAre("cluster", command.name));
  }
}

}  // namespace
}  // namespace kgpu::cli
