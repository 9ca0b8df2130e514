#include "src/functions/provider/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ProgramsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    loop_ = *EpollLoop::Create();
    programs_ =
        std::make_unique<ChildPrograms>(*loop_, std::vector<std::string>{"PATH=/usr/bin:/bin"}, 2);
  }
  StatusOr<sys::RunResult> Run(const char* script, milliseconds limit = seconds(60)) {
    std::optional<StatusOr<sys::RunResult>> result;
    programs_->Start({.argv = {"/bin/sh", "-c", script}, .limit = limit},
                     [&](StatusOr<sys::RunResult> ended) {
                       result = std::move(ended);
                       loop_->Quit();
                     });
    loop_->Run();
    return *result;
  }

  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<ChildPrograms> programs_;
};

TEST_F(ProgramsTest, GivesOutputAndExitCode) {
  const auto result = Run("echo out; echo err >&2; exit 3");
  ASSERT_OK(result);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit.code, 3);
}

TEST_F(ProgramsTest, EndsWithTheProgramEvenIfItsChildrenKeepThePipe) {
  const auto result = Run("sleep 1000 & echo $!");
  ASSERT_OK(result);
  EXPECT_EQ(result->exit.code, 0);
  EXPECT_OK(Run(("kill " + result->out).c_str()));
}

TEST_F(ProgramsTest, KillsWhatTakesTooLong) {
  EXPECT_THAT(Run("sleep 1000", milliseconds(20)), StatusIs(StatusCode::kDeadlineExceeded));
}

TEST_F(ProgramsTest, ReportsAMissingProgram) {
  std::optional<Status> status;
  programs_->Start({.argv = {"/nowhere/podman"}}, [&](const StatusOr<sys::RunResult>& result) {
    status = result.status();
    loop_->Quit();
  });
  loop_->Run();
  EXPECT_THAT(*status, StatusIs(StatusCode::kNotFound));
}

TEST_F(ProgramsTest, RunsFewAtATimeAndAllOfThem) {
  int left = 7;
  for (int i = 0; i < 7; ++i) {
    programs_->Start({.argv = {"/bin/true"}}, [&](const StatusOr<sys::RunResult>& result) {
      EXPECT_OK(result);
      if (--left == 0) {
        loop_->Quit();
      }
    });
  }
  loop_->Run();
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace kgpu::functions
