#include "src/cli/base/color.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

TEST(ColorTest, AutoMeansATerminalThatTakesColors) {
  EXPECT_TRUE(IsColored(ColorChoice::kAuto, true, {"TERM=xterm"}));
  EXPECT_FALSE(IsColored(ColorChoice::kAuto, false, {"TERM=xterm"}));
  EXPECT_FALSE(IsColored(ColorChoice::kAuto, true, {"TERM=dumb"}));
  EXPECT_FALSE(IsColored(ColorChoice::kAuto, true, {"NO_COLOR=1"}));
}

TEST(ColorTest, AnEmptyNoColorSaysNothing) {
  EXPECT_TRUE(IsColored(ColorChoice::kAuto, true, {"NO_COLOR="}));
}

TEST(ColorTest, AFlagWinsOverTheEnvironment) {
  EXPECT_TRUE(IsColored(ColorChoice::kAlways, false, {"NO_COLOR=1", "TERM=dumb"}));
  EXPECT_FALSE(IsColored(ColorChoice::kNever, true, {}));
}

TEST(ColorTest, AnUnknownChoiceIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(ParseColorChoice("blue"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be auto, always or never")));
}

TEST(ColorTest, DiffsHaveColors) {
  EXPECT_EQ(WithDiffColors("# docker: CDI\n--- a\n+++ a\n@@ -1 +1 @@\n x\n-y\n+z\n# step: go\n"),
            "# docker: CDI\n\x1b[1m--- a\x1b[0m\n\x1b[1m+++ a\x1b[0m\n"
            "\x1b[36m@@ -1 +1 @@\x1b[0m\n x\n\x1b[31m-y\x1b[0m\n\x1b[32m+z\x1b[0m\n"
            "# step: go\n");
}

TEST(ColorTest, WhatIsNoDiffStaysAsItIs) {
  EXPECT_EQ(WithDiffColors("- a list\n+ a sum\n"), "- a list\n+ a sum\n");
  EXPECT_EQ(WithDiffColors("--- a\n+++ a\n# end\n- a list"),
            "\x1b[1m--- a\x1b[0m\n\x1b[1m+++ a\x1b[0m\n# end\n- a list");
}

}  // namespace
}  // namespace kgpu::cli
