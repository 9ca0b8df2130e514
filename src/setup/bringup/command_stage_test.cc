#include "src/setup/bringup/command_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::bringup {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class CommandStageTest : public ::testing::Test {
 protected:
  std::unique_ptr<Stage> Make(bool is_look_final = false) {
    return MakeStage({.id = "driver",
                      .title = "the driver",
                      .look = {"driver", "verify"},
                      .is_look_final = is_look_final,
                      .act = {"driver", "install"},
                      .preview = {"driver", "plan"},
                      .undo = {"driver", "remove"},
                      .waits = 8,
                      .nothing = 3},
                     commands_);
  }

  ScriptedRunner runner_;
  Commands commands_{"/kgpu", runner_, [](std::string_view) {}};
};

TEST_F(CommandStageTest, IsNeededWhenTheLookFindsAFault) {
  runner_.Answer("/kgpu driver verify", "fine");
  EXPECT_EQ(Make()->LookAt().condition, Condition::kReady);
  runner_.Answer("/kgpu driver verify", "", 7);
  EXPECT_EQ(Make()->LookAt().condition, Condition::kNeeded);
}

TEST_F(CommandStageTest, AWarningAloneKeepsNothingFromGoingOn) {
  runner_.Answer("/kgpu driver verify", "warning\n", 9);
  EXPECT_EQ(Make(true)->LookAt().condition, Condition::kReady);
}

TEST_F(CommandStageTest, ALookThatFailsBlocks) {
  runner_.Answer("/kgpu driver verify", "", 1, "kgpu: no os-release\n");
  const Look look = Make()->LookAt();
  EXPECT_EQ(look.condition, Condition::kBlocked);
  EXPECT_THAT(look.text, HasSubstr("no os-release"));
}

TEST_F(CommandStageTest, WhatNoStageFixesBlocks) {
  runner_.Answer("/kgpu driver verify", "error pci-no-gpu: no GPU\n  more\n", 7);
  const Look look = Make(true)->LookAt();
  EXPECT_EQ(look.condition, Condition::kBlocked);
  EXPECT_THAT(look.text, HasSubstr("pci-no-gpu"));
}

TEST_F(CommandStageTest, WhatIsOnlyRemarkedMayBlock) {
  const auto stage =
      MakeStage({.id = "host", .look = {"doctor"}, .obstacle = "no-gpu:", .way_past = "put one in"},
                commands_);
  runner_.Answer("/kgpu doctor", "info     a: b\ninfo     no-gpu: none is here\n");
  const Look look = stage->LookAt();
  EXPECT_EQ(look.condition, Condition::kBlocked);
  EXPECT_EQ(look.text, "info no-gpu: none is here; put one in");
  runner_.Answer("/kgpu doctor", "info     a: b\n");
  EXPECT_EQ(stage->LookAt().condition, Condition::kReady);
}

TEST_F(CommandStageTest, AHostThatIsNotVisibleBlocksWithTheWayToShowIt) {
  const auto stage =
      MakeStage({.id = "host", .look = {"doctor"}, .when_hidden = "mount the host"}, commands_);
  runner_.Answer("/kgpu doctor", "1 check\n", 6, "open /proc/modules: none\n");
  const Look look = stage->LookAt();
  EXPECT_EQ(look.condition, Condition::kBlocked);
  EXPECT_EQ(look.text, "mount the host");
}

TEST_F(CommandStageTest, RunsTheCommand) {
  runner_.Answer("/kgpu driver install", "");
  const auto outcome = Make()->Do();
  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->ending, Ending::kDone);
  EXPECT_THAT(runner_.commands(), ElementsAre("/kgpu driver install"));
}

TEST_F(CommandStageTest, AnExitCodeMeansThatItWaits) {
  runner_.Answer("/kgpu driver install", "", 8, "reboot to go on\n");
  const auto outcome = Make()->Do();
  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->ending, Ending::kWaits);
  EXPECT_THAT(outcome->text, HasSubstr("reboot to go on"));
}

TEST_F(CommandStageTest, WhatIsWaitedForIsReportedAndNotTheLastStep) {
  runner_.Answer("/kgpu driver install",
                 "not complete yet: enrol the key\n"
                 "Then run: kgpu driver install\n",
                 8, "4/7 ask a person\n");
  const auto outcome = Make()->Do();
  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->text, "enrol the key");
}

TEST_F(CommandStageTest, ACommandThatFailsIsNamedWithItsReason) {
  runner_.Answer("/kgpu driver install", "", 1, "kgpu: apt-get: no network\n");
  EXPECT_THAT(Make()->Do(), StatusIs(StatusCode::kFailedPrecondition,
                                     HasSubstr("kgpu driver install: exit code 1: kgpu: apt-get")));
}

TEST_F(CommandStageTest, WhatIsGoneAlreadyIsUndone) {
  runner_.Answer("/kgpu driver remove", "", 3, "kgpu: no driver by kgpu here\n");
  EXPECT_OK(Make()->Undo());
  runner_.Answer("/kgpu driver install", "", 3, "kgpu: no such GPU\n");
  EXPECT_THAT(Make()->Do(), StatusIs(StatusCode::kFailedPrecondition));
}

TEST_F(CommandStageTest, WhatMustBeProvenIsLookedAtAgain) {
  runner_.Answer("/kgpu driver install", "");
  runner_.Answer("/kgpu driver verify", "ok      nodes\nFAILED  no module\nFAILED  no library\n",
                 7);
  const auto stage = MakeStage({.id = "driver",
                                .title = "the driver",
                                .look = {"driver", "verify"},
                                .reason = "FAILED",
                                .is_proven = true,
                                .act = {"driver", "install"}},
                               commands_);
  EXPECT_EQ(stage->LookAt().text, "no module; no library");
  EXPECT_THAT(
      stage->Do(),
      StatusIs(StatusCode::kFailedPrecondition,
               HasSubstr("kgpu driver verify still reports a problem: no module; no library")));
  runner_.Answer("/kgpu driver verify", "fine");
  EXPECT_OK(stage->Do());
}

// The findings' last line alone would be a fix without what it fixes.
TEST_F(CommandStageTest, WhatSpeaksAgainstAPlanIsReportedWhole) {
  const std::string findings =
      "error    space: the disk is full\n           # make room\n"
      "error    held: one is held\n           # let it go\n"
      "warning  dkms: another module\n           # nothing to do\n";
  runner_.Answer("/kgpu driver plan", "step 1\n", 7, findings);
  runner_.Answer("/kgpu driver install", "", 7, findings);
  constexpr const char* kWhole =
      ": space: the disk is full; make room; held: one is held; let it go";
  EXPECT_THAT(Make()->Preview(), StatusIs(StatusCode::kFailedPrecondition,
                                          EndsWith(std::string("driver plan") + kWhole)));
  EXPECT_THAT(Make()->Do(), StatusIs(StatusCode::kFailedPrecondition,
                                     EndsWith(std::string("driver install") + kWhole)));
}

TEST_F(CommandStageTest, APreviewIsWhatTheCommandPrints) {
  runner_.Answer("/kgpu driver plan", "step 1\n");
  EXPECT_THAT(Make()->Preview(), IsOkAndHolds("step 1\n"));
}

}  // namespace
}  // namespace kgpu::bringup
