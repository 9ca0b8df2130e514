#include "src/platform/commands/usage_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace kgpu::commands {
namespace {

// What a program with two commands says of a line.
std::string ErrorOf(std::vector<std::string> words) {
  CLI::App app("", "kgpu");
  CLI::App* devices = app.add_subcommand("devices", "");
  std::string output;
  devices->add_option("--output", output, "");
  devices->add_flag("--watch");
  CLI::App* driver = app.add_subcommand("driver", "");
  driver->add_subcommand("plan", "");
  driver->add_subcommand("status", "");
  std::string shell;
  app.add_subcommand("completion", "")->add_option("SHELL", shell, "")->required();
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error.what());
  }
  return "no error";
}

TEST(UsageErrorTest, OffersTheNearestCommand) {
  EXPECT_EQ(ErrorOf({"devcies"}), "kgpu: unknown command \"devcies\": did you mean devices?");
  EXPECT_EQ(ErrorOf({"driver", "plna", "--offline"}),
            "kgpu driver: unknown command \"plna\": did you mean plan?");
}

TEST(UsageErrorTest, OffersTheCommandThatAWordBegins) {
  EXPECT_EQ(ErrorOf({"comp"}), "kgpu: unknown command \"comp\": did you mean completion?");
}

TEST(UsageErrorTest, ListsTheCommandsWhereNoneIsNear) {
  EXPECT_EQ(ErrorOf({"driver", "teapot"}),
            "kgpu driver: unknown command \"teapot\": choose one of plan, status");
}

TEST(UsageErrorTest, OffersTheNearestFlag) {
  EXPECT_EQ(ErrorOf({"devices", "--outptu", "json"}),
            "kgpu devices: unknown flag \"--outptu\": did you mean --output?");
  EXPECT_EQ(ErrorOf({"devices", "--wach=yes"}),
            "kgpu devices: unknown flag \"--wach\": did you mean --watch?");
  EXPECT_EQ(ErrorOf({"devices", "--teapot"}),
            "kgpu devices: unknown flag \"--teapot\": see kgpu devices --help");
}

TEST(UsageErrorTest, AWrongFlagIsNamedBeforeAMissingArgument) {
  EXPECT_EQ(ErrorOf({"completion", "--hepl"}),
            "kgpu completion: unknown flag \"--hepl\": did you mean --help?");
}

TEST(UsageErrorTest, NamesAnArgumentTooMany) {
  EXPECT_EQ(ErrorOf({"devices", "3"}),
            "kgpu devices: unexpected argument \"3\": see kgpu devices --help");
}

TEST(UsageErrorTest, NamesWhatIsMissing) {
  EXPECT_EQ(ErrorOf({"completion"}),
            "kgpu completion: SHELL is required: see kgpu completion --help");
}

}  // namespace
}  // namespace kgpu::commands
