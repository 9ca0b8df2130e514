#include <gmock/gmock.h>

#include "src/gpu/health/rule.h"

namespace kgpu::health {
namespace {

TEST(ActionTest, WordsAreReadBack) {
  for (const Action action : {Action::kIgnore, Action::kRestartApp, Action::kDrain,
                              Action::kResetGpu, Action::kReboot, Action::kInspect}) {
    EXPECT_EQ(ParseAction(ToString(action)), action);
  }
  EXPECT_EQ(ToString(Action::kResetGpu), "reset-gpu");
  EXPECT_EQ(ParseAction("Reset"), std::nullopt);
}

}  // namespace
}  // namespace kgpu::health
