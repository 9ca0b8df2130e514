#include "src/functions/provider/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "src/functions/provider/test_machine.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

// The end of Leftovers::Remove on a machine whose service was killed.
Status RemoveAll(TestMachine& machine) {
  Leftovers leftovers(machine.loop, machine.podman,
                      {.run_dir = machine.dir.At("run"), .state_dir = machine.dir.At("state")});
  std::optional<Status> result;
  leftovers.Remove([&result](const Status& status) { result = status; });
  EXPECT_TRUE(machine.Until([&] { return result.has_value(); }));
  return result.value_or(Internal("no end"));
}

TEST(LeftoversTest, ContainersAndLoansGoWithoutAService) {
  for (const bool is_blind : {false, true}) {
    TestMachine machine;
    ASSERT_TRUE(machine.DeployAndRun(2));
    machine.KillProvider();
    machine.podman.is_blind = is_blind;
    EXPECT_OK(RemoveAll(machine));
    EXPECT_EQ(machine.podman.containers(), 0U);
    EXPECT_EQ(machine.agent.free(), 2U);
    EXPECT_TRUE(std::filesystem::is_empty(machine.dir.At("run/functions")));
    EXPECT_EQ(machine.podman.runs(), 2) << "none is started in their place";
  }
}

TEST(LeftoversTest, ContainersGoAlsoWhereNoAgentAnswers) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  machine.KillProvider();
  machine.agent.Stop();
  EXPECT_OK(RemoveAll(machine));
  EXPECT_EQ(machine.podman.containers(), 0U);
  EXPECT_EQ(machine.agent.free(), 1U);
}

TEST(EngineRecordTest, IsReadBackUntilItIsRemoved) {
  const TempDir dir;
  EXPECT_THAT(ReadEngineRecord(dir.path()), IsOkAndHolds(std::nullopt));
  const EngineSettings engine{.podman = "/opt/podman", .flags = {"--root=/a b"}};
  ASSERT_OK(WriteEngineRecord(dir.path(), engine));
  EXPECT_THAT(ReadEngineRecord(dir.path()), IsOkAndHolds(engine));
  EXPECT_OK(RemoveEngineRecord(dir.path()));
  EXPECT_THAT(ReadEngineRecord(dir.path()), IsOkAndHolds(std::nullopt));
  EXPECT_OK(RemoveEngineRecord(dir.path()));
  dir.WriteFile("functions-engine.json", "{}");
  EXPECT_THAT(ReadEngineRecord(dir.path()), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::functions
