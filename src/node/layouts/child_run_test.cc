#include "src/node/layouts/child_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/unique_fd.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::layouts {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class ChildRunTest : public ::testing::Test {
 protected:
  void Start(const std::string& script, seconds deadline = seconds(30)) {
    run_.Start({"/bin/sh", "-c", script}, "input\n", deadline,
               [this](const ChildResult& result) { result_ = result; });
  }
  ChildResult Wait() {
    while (!result_ && loop_.WaitForDescriptor(seconds(30))) {
    }
    EXPECT_TRUE(result_.has_value());
    return result_.value_or(ChildResult());
  }

  FakeLoop loop_;
  ChildRun run_{loop_};
  std::optional<ChildResult> result_;
};

TEST_F(ChildRunTest, TellsHowAProgramEndedAndWhatItPrinted) {
  Start("echo out; echo err >&2; exit 8");
  EXPECT_TRUE(run_.is_running());
  const ChildResult result = Wait();
  EXPECT_EQ(result.code, 8);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_FALSE(run_.is_running());
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(ChildRunTest, GivesTheProgramItsInput) {
  Start("cat; echo end");
  EXPECT_EQ(Wait().out, "input\nend\n");
}

TEST_F(ChildRunTest, InputThatFitsInNoPipeIsRefused) {
  run_.Start({"/bin/true"}, std::string(kMaxChildInput + 1, 'x'), seconds(30),
             [this](const ChildResult& result) { result_ = result; });
  loop_.Advance(seconds(0));
  EXPECT_THAT(Wait().problem, HasSubstr("65536 fit into a pipe"));
}

TEST_F(ChildRunTest, RunsOneAfterTheOther) {
  for (const char* word : {"one", "two"}) {
    result_.reset();
    Start(std::string("echo ") + word);
    EXPECT_EQ(Wait().out, std::string(word) + "\n");
  }
}

TEST_F(ChildRunTest, KeepsAPartOfALongOutput) {
  Start("i=0; while [ $i -lt 400 ]; do printf '%01024d' 0; i=$((i+1)); done");
  const ChildResult result = Wait();
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out.size(), kMaxChildOutput);
}

TEST_F(ChildRunTest, AProgramThatIsMissingIsAProblem) {
  run_.Start({"/no/such/program"}, "", seconds(1),
             [this](const ChildResult& result) { result_ = result; });
  EXPECT_FALSE(result_.has_value()) << "it tells later";
  loop_.Advance(milliseconds(1));
  const ChildResult result = result_.value_or(ChildResult{.code = 0});
  EXPECT_EQ(result.code, std::nullopt);
  EXPECT_THAT(result.problem, HasSubstr("/no/such/program"));
}

// The shell's own child ends with it.
TEST_F(ChildRunTest, WhatDoesNotEndInTimeIsKilled) {
  const TempDir dir;
  const std::string alive = dir.At("alive");
  ASSERT_EQ(mkfifo(alive.c_str(), 0600), 0);
  const UniqueFd reader(open(alive.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Start("(echo; exec sleep 1000) >" + alive + "; echo never", seconds(5));
  constexpr int kPatience = 30'000;
  pollfd child = {reader.get(), POLLIN, 0};
  char line = 0;
  ASSERT_EQ(poll(&child, 1, kPatience), 1);
  ASSERT_EQ(read(reader.get(), &line, 1), 1);
  loop_.Advance(seconds(5));
  const ChildResult result = Wait();
  EXPECT_EQ(result.code, std::nullopt);
  EXPECT_THAT(result.problem, HasSubstr("did not finish within 5 s"));
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(poll(&child, 1, kPatience), 1) << "the pipe of the shell's child is still open";
  EXPECT_EQ(child.revents, POLLHUP);
}

TEST_F(ChildRunTest, ASignalIsAProblem) {
  Start("kill -9 $$");
  EXPECT_EQ(Wait().problem, "ended by signal 9");
}

}  // namespace
}  // namespace kgpu::layouts
