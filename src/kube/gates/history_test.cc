#include "src/kube/gates/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace kgpu::gates {
namespace {

TEST(HistoryOfTest, KnowsWhenAGateCameOnWasLockedAndWent) {
  const auto history = HistoryOf("DevicePluginCDIDevices");
  ASSERT_TRUE(history.has_value());
  EXPECT_EQ(history->on, 29);
  EXPECT_EQ(history->locked, 31);
  EXPECT_EQ(history->gone, 34);
  EXPECT_TRUE(history->is_needed);
}

TEST(HistoryOfTest, KnowsThatCpuManagerWent) {
  const auto history = HistoryOf("CPUManager");
  ASSERT_TRUE(history.has_value());
  EXPECT_EQ(history->gone, 33);
}

TEST(HistoryOfTest, HasNothingOfOtherGates) {
  EXPECT_FALSE(HistoryOf("CSIMigration").has_value());
}

TEST(GatesTest, GoThroughTheirStagesInOrder) {
  EXPECT_TRUE(std::ranges::is_sorted(Gates(), {}, &GateHistory::name));
  for (const GateHistory& gate : Gates()) {
    EXPECT_TRUE(gate.locked == 0 || gate.on <= gate.locked) << gate.name;
    EXPECT_TRUE(gate.gone == 0 || gate.locked < gate.gone) << gate.name;
    EXPECT_TRUE(gate.locked != 0 || gate.gone != 0) << gate.name << ": nothing became of it";
  }
}

TEST(GoneFlagsTest, HasWhatOlderKubeadmsWroteIntoTheirFileOfFlags) {
  const auto flag =
      std::ranges::find(GoneFlags(), "--pod-infra-container-image", &FlagHistory::flag);
  ASSERT_NE(flag, GoneFlags().end());
  EXPECT_EQ(flag->gone, 35);
  EXPECT_TRUE(std::ranges::is_sorted(GoneFlags(), {}, &FlagHistory::flag));
}

}  // namespace
}  // namespace kgpu::gates
