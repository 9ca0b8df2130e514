#include "src/cli/program/main.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

namespace kgpu::cli {
namespace {

// Parses `command` with a flag that it refuses, so that it never runs, and gets a SIGHUP then.
[[noreturn]] void HangUpAfterParsing(std::string command) {
  std::string program = "kgpu";
  std::string flag = "--no-such-flag";
  std::array<char*, 3> argv = {program.data(), command.data(), flag.data()};
  const int code = Main(static_cast<int>(argv.size()), argv.data());
  (void)raise(SIGHUP);
  std::_Exit(code);
}

// A reload that comes before the agent can handle it waits.
TEST(MainTest, SighupDoesNotEndAnAgentThatIsStillStarting) {
  EXPECT_EXIT(HangUpAfterParsing("agent"), ::testing::ExitedWithCode(2), "no-such-flag");
}

TEST(MainTest, SighupEndsOtherCommands) {
  EXPECT_EXIT(HangUpAfterParsing("devices"), ::testing::KilledBySignal(SIGHUP), "no-such-flag");
}

}  // namespace
}  // namespace kgpu::cli
