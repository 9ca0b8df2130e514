#include "src/agent/child_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "testing/fake_loop.h"

namespace kgpu::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class ChildRunTest : public ::testing::Test {
 protected:
  void Start(const std::string& script, seconds deadline = seconds(30)) {
    run_.Start({"/bin/sh", "-c", script}, deadline,
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
  run_.Start({"/no/such/program"}, seconds(1),
             [this](const ChildResult& result) { result_ = result; });
  EXPECT_FALSE(result_.has_value()) << "it tells later";
  loop_.Advance(milliseconds(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->code, std::nullopt);
  EXPECT_THAT(result_->problem, HasSubstr("/no/such/program"));
}

// The shell's own child ends with it.
TEST_F(ChildRunTest, WhatDoesNotEndInTimeIsKilled) {
  Start("sleep 1000; echo never", seconds(5));
  loop_.Advance(seconds(5));
  const ChildResult result = Wait();
  EXPECT_EQ(result.code, std::nullopt);
  EXPECT_EQ(result.problem, "did not end in time and was killed");
  EXPECT_EQ(result.out, "");
}

TEST_F(ChildRunTest, ASignalIsAProblem) {
  Start("kill -9 $$");
  EXPECT_EQ(Wait().problem, "ended by signal 9");
}

}  // namespace
}  // namespace kgpu::agent
