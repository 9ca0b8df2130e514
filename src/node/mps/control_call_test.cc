#include "src/node/mps/control_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::mps {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{20};

class ControlCallTest : public ::testing::Test {
 protected:
  std::unique_ptr<ControlCall> Start(const std::string& script, std::string commands = "") {
    auto call =
        ControlCall::Start(loop_,
                           {.argv = {"/bin/sh", "-c", script},
                            .environment = {"PATH=/usr/bin:/bin"},
                            .commands = std::move(commands)},
                           [this](const StatusOr<std::string>& result) { result_ = result; });
    EXPECT_OK(call.status());
    return call.ok() ? *std::move(call) : nullptr;
  }

  StatusOr<std::string> Wait() {
    EXPECT_TRUE(RunUntil(loop_, [this] { return result_.has_value(); }));
    return result_.value_or(NotFound("it has not ended"));
  }

  TempDir dir_;
  FakeLoop loop_;
  std::optional<StatusOr<std::string>> result_;
};

TEST_F(ControlCallTest, PassesCommandsAndReturnsTheAnswer) {
  const auto call = Start("while read line; do echo \"<$line>\"; done", "one\ntwo\n");
  EXPECT_FALSE(result_);
  EXPECT_THAT(Wait(), IsOkAndHolds("<one>\n<two>\n"));
  EXPECT_EQ(loop_.timers(), 0U);
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(ControlCallTest, AFailureSaysWhatWasPrinted) {
  const auto call = Start("echo no daemon >&2; exit 1");
  EXPECT_THAT(Wait(), StatusIs(StatusCode::kUnavailable, HasSubstr("exit code 1: no daemon")));
}

TEST_F(ControlCallTest, AProgramThatHangsIsKilled) {
  const auto call = Start("exec sleep 1000");
  loop_.Advance(std::chrono::seconds(5));
  EXPECT_THAT(Wait(), StatusIs(StatusCode::kDeadlineExceeded));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(ControlCallTest, WhatTheProgramStartedIsNotWaitedFor) {
  const auto call = Start("sleep 30 & echo done");
  EXPECT_THAT(Wait(), IsOkAndHolds("done\n"));
}

TEST_F(ControlCallTest, OneThatNobodyWaitsForIsKilledAndReaped) {
  auto call = Start("echo $$ > " + dir_.At("pid") + "; exec sleep 1000");
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::string pid;
  while (pid.empty() && std::chrono::steady_clock::now() < until) {
    (void)loop_.WaitForDescriptor(std::chrono::milliseconds(5));
    pid = std::filesystem::exists(dir_.At("pid")) ? dir_.ReadFile("pid") : "";
  }
  ASSERT_NE(pid, "");
  call.reset();
  EXPECT_FALSE(result_);
  ASSERT_EQ(loop_.watches(), 1U) << "its end is waited for";
  ASSERT_TRUE(loop_.WaitForDescriptor(kPatience));
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(kill(std::stoi(pid), 0), -1) << "no zombie";
}

TEST_F(ControlCallTest, TooManyCommandsAreAnError) {
  EXPECT_THAT(ControlCall::Start(loop_,
                                 {.argv = {"/bin/true"},
                                  .environment = {},
                                  .commands = std::string(kMostCommands + 1, 'x')},
                                 [](const StatusOr<std::string>&) {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("fit into a pipe")));
  EXPECT_THAT(ControlCall::Start(
                  loop_, {.argv = {"/proc/no-such-program"}, .environment = {}, .commands = ""},
                  [](const StatusOr<std::string>&) {}),
              StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace kgpu::mps
