#include "src/platform/sys/child_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/platform/base/unique_fd.h"
#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr int kPatienceMs = 20'000;

class ChildRunTest : public ::testing::Test {
 protected:
  void Start(const std::string& script) {
    request_.argv = {"/bin/sh", "-c", script};
    request_.environment = {"PATH=/usr/bin:/bin", "A=given"};
    auto run = ChildRun::Start(loop_, request_, [this](ChildEnd end) { end_ = std::move(end); });
    ASSERT_OK(run.status());
    run_ = *std::move(run);
    EXPECT_FALSE(end_);
  }
  ChildEnd Wait() {
    EXPECT_TRUE(RunUntil(loop_, [this] { return end_.has_value(); }));
    EXPECT_EQ(loop_.watches(), 0U);
    EXPECT_EQ(loop_.timers(), 0U);
    return end_.value_or(ChildEnd());
  }
  ChildEnd Run(const std::string& script) {
    Start(script);
    return Wait();
  }
  // Opened for reading by the test, for writing by a program: shows whether that one is alive.
  UniqueFd MakeSign(const std::string& name) {
    EXPECT_EQ(mkfifo(dir_.At(name).c_str(), 0600), 0);
    return UniqueFd(open(dir_.At(name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  // Waits for a line from the program behind `sign`.
  static void AwaitLine(const UniqueFd& sign) {
    pollfd readable = {sign.get(), POLLIN, 0};
    char byte = 0;
    ASSERT_EQ(poll(&readable, 1, kPatienceMs), 1);
    ASSERT_EQ(read(sign.get(), &byte, 1), 1);
  }
  static bool Vanishes(const UniqueFd& sign, int patience_ms = kPatienceMs) {
    pollfd readable = {sign.get(), POLLIN, 0};
    return poll(&readable, 1, patience_ms) == 1 && readable.revents == POLLHUP;
  }

  TempDir dir_;
  FakeLoop loop_;
  ChildRunRequest request_;
  std::unique_ptr<ChildRun> run_;
  std::optional<ChildEnd> end_;
};

TEST_F(ChildRunTest, ReportsHowAProgramEndedAndWhatItPrinted) {
  const ChildEnd end = Run("read line; echo $A; echo err >&2; exit 8");
  EXPECT_OK(end.status);
  EXPECT_EQ(end.result.exit.code, 8);
  EXPECT_EQ(end.result.out, "given\n");
  EXPECT_EQ(end.result.err, "err\n");
  EXPECT_FALSE(run_->has_process());
}

TEST_F(ChildRunTest, ASignalIsAnEndToo) {
  const ChildEnd end = Run("kill -9 $$");
  EXPECT_OK(end.status);
  EXPECT_EQ(end.result.exit.signal, SIGKILL);
}

TEST_F(ChildRunTest, GivesTheInput) {
  request_.input = "one\ntwo\n";
  EXPECT_EQ(Run("cat").result.out, "one\ntwo\n");
  end_.reset();
  request_.input.assign(kMostInput, 'x');
  EXPECT_EQ(Run("sleep 0.01; cat").result.out.size(), kMostInput);
  request_.input.assign(kMostInput + 1, 'x');
  EXPECT_THAT(ChildRun::Start(loop_, request_, nullptr).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("65537 bytes of input")));
}

TEST_F(ChildRunTest, CapturesBothStreamsAsOne) {
  request_.errors = ErrorsTo::kOut;
  const ChildEnd end = Run("echo 1; echo 2 >&2; echo 3");
  EXPECT_EQ(end.result.out, "1\n2\n3\n");
  EXPECT_EQ(end.result.err, "");
}

TEST_F(ChildRunTest, AMissingProgramIsAnError) {
  request_.argv = {dir_.At("none")};
  EXPECT_THAT(ChildRun::Start(loop_, request_, nullptr).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr(dir_.At("none"))));
  request_.argv = {};
  EXPECT_THAT(ChildRun::Start(loop_, request_, nullptr).status(),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(ChildRunTest, DropsOutputBeyondTheLimit) {
  request_.output_limit = 1000;
  const ChildEnd end = Run("head -c 300000 /dev/zero; exit 3");
  EXPECT_EQ(end.result.exit.code, 3);
  EXPECT_EQ(end.result.out.size(), 1000U);
}

TEST_F(ChildRunTest, KillsAProgramThatPrintsTooMuch) {
  request_.output_limit = 1000;
  request_.over_limit = OverLimit::kKill;
  const ChildEnd end = Run("exec cat /dev/zero");
  EXPECT_THAT(end.status, StatusIs(StatusCode::kOutOfRange, HasSubstr("more than 1000 bytes")));
  EXPECT_EQ(end.result.out.size(), 1000U);
  EXPECT_FALSE(end.result.exit.code || end.result.exit.signal);
}

TEST_F(ChildRunTest, AProgramThatPrintsWithoutEndHasADeadline) {
  Start("exec cat /dev/zero");
  ASSERT_TRUE(loop_.WaitForDescriptor(seconds(20)));
  loop_.Advance(request_.deadline);
  EXPECT_THAT(Wait().status, StatusIs(StatusCode::kDeadlineExceeded));
}

TEST_F(ChildRunTest, KillsAtTheDeadlineWhatTheProgramHasStarted) {
  const UniqueFd sign = MakeSign("alive");
  Start("echo begun; (echo; exec sleep 1000) >" + dir_.At("alive"));
  AwaitLine(sign);
  loop_.Advance(request_.deadline - seconds(1));
  EXPECT_FALSE(end_);
  loop_.Advance(seconds(1));
  const ChildEnd end = Wait();
  EXPECT_THAT(end.status,
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("did not finish within 10 s")));
  EXPECT_EQ(end.result.out, "begun\n") << "may say why";
  EXPECT_TRUE(Vanishes(sign));
}

TEST_F(ChildRunTest, DoesNotWaitForWhatKeepsTheOutputOpen) {
  ASSERT_EQ(mkfifo(dir_.At("gate").c_str(), 0600), 0);
  for (const KillScope kills : {KillScope::kGroup, KillScope::kLeftovers}) {
    const std::string name = kills == KillScope::kGroup ? "stays" : "goes";
    const UniqueFd sign = MakeSign(name);
    request_.kills = kills;
    end_.reset();
    Start("(echo; exec sleep 1000) >" + dir_.At(name) + " & read -r line <" + dir_.At("gate") +
          "; echo end");
    AwaitLine(sign);
    const UniqueFd gate(open(dir_.At("gate").c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(write(gate.get(), "\n", 1), 1);
    const pid_t group = run_->pid();
    EXPECT_EQ(Wait().result.out, "end\n");
    if (kills == KillScope::kGroup) {
      EXPECT_FALSE(Vanishes(sign, 0)) << "what it leaves behind stays";
      ASSERT_EQ(kill(-group, SIGKILL), 0);
    }
    EXPECT_TRUE(Vanishes(sign));
  }
}

TEST_F(ChildRunTest, DoneMayDestroyTheRun) {
  auto run = ChildRun::Start(loop_, {.argv = {"/bin/true"}}, [this](ChildEnd end) {
    run_.reset();
    end_ = std::move(end);
  });
  ASSERT_OK(run.status());
  run_ = *std::move(run);
  EXPECT_EQ(Wait().result.exit.code, 0);
}

TEST_F(ChildRunTest, DestroyedItKillsTheProgramAndLeavesNoZombie) {
  const UniqueFd sign = MakeSign("alive");
  Start("(echo; exec sleep 1000) >" + dir_.At("alive") + "; true");
  AwaitLine(sign);
  const pid_t pid = run_->pid();
  run_.reset();
  EXPECT_TRUE(Vanishes(sign));
  EXPECT_TRUE(RunUntil(loop_, [this] { return loop_.watches() == 0; }));
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(loop_.timers(), 0U);
  EXPECT_FALSE(end_);
}

}  // namespace
}  // namespace kgpu::sys
