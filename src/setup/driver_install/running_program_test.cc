#include "src/setup/driver_install/running_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/host/packages/service_policy.h"
#include "src/platform/sys/session.h"
#include "src/setup/driver_install/test_run.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kNoWait{0};
constexpr std::chrono::milliseconds kLong{std::chrono::minutes{2}};

sys::RunRequest Shell(std::string script) {
  sys::RunRequest request;
  request.argv = {"/bin/sh", "-c", std::move(script)};
  request.deadline = std::chrono::minutes{5};
  request.grace = std::chrono::milliseconds{100};
  return request;
}

// Calls with the number of the line when there is something to wait for.
class WaitingProgress final : public Progress {
 public:
  explicit WaitingProgress(std::function<void(size_t)> on_wait) : on_wait_(std::move(on_wait)) {}
  void OnStep(size_t /*number*/, size_t /*count*/, const driver::Step& /*step*/,
              bool /*is_undone*/) override {}
  void OnLine(std::string_view /*line*/) override {}
  void OnWait(std::string_view line) override {
    lines_.emplace_back(line);
    on_wait_(lines_.size());
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::function<void(size_t)> on_wait_;
  std::vector<std::string> lines_;
};

class RunningProgramTest : public ::testing::Test {
 protected:
  RunningProgramTest() : disk_(world_.host(), sys::Durability::kMemory) {
    world_.dir().MakeDir("host/var/lib/kgpu");
  }

  Status Await(std::chrono::milliseconds wait) {
    return AwaitProgram(world_.host(), disk_, progress_, wait);
  }
  bool IsNoted() const { return world_.host().Exists(kProgramFile); }

  // A kgpu that is killed while its program is at work. The program's leader.
  pid_t KillAtWork() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t kgpu = fork();
    if (kgpu == 0) {
      NotingRunner runner(real_, world_.host(), disk_);
      runner.BeginNoting();
      sys::RunRequest request = Shell("echo $$; exec sleep 600");
      request.on_line = [&ends](std::string_view line) {
        const std::string text = fmt::format("{}\n", line);
        (void)!write(ends[1], text.data(), text.size());
      };
      (void)runner.Run(request);
      _exit(1);
    }
    close(ends[1]);
    std::string reported;
    for (char byte = 0; byte != '\n' && read(ends[0], &byte, 1) == 1;) {
      reported += byte;
    }
    close(ends[0]);
    kill(kgpu, SIGKILL);
    EXPECT_EQ(waitpid(kgpu, nullptr, 0), kgpu);
    return std::stoi(reported);
  }

  World world_;
  change::HostDisk disk_;
  sys::RealRunner real_;
  ReportedProgress progress_;
};

TEST_F(RunningProgramTest, IsNotedWhileItIsAtWork) {
  NotingRunner runner(real_, world_.host(), disk_);
  std::string note;
  sys::RunRequest request = Shell("echo at work");
  request.on_line = [&](std::string_view) {
    note = world_.host().ReadFile(kProgramFile).value_or("");
  };
  ASSERT_OK(runner.Run(request));
  EXPECT_EQ(note, "") << "without the lock";
  runner.BeginNoting();

  ASSERT_OK(runner.Run(request));

  EXPECT_THAT(note, AllOf(HasSubstr("/bin/sh -c echo at work"), HasSubstr("\"boot-1\"")));
  EXPECT_FALSE(IsNoted());
}

TEST_F(RunningProgramTest, IsWaitedForWhenKgpuWasKilled) {
  const pid_t leader = KillAtWork();
  EXPECT_TRUE(IsNoted());

  EXPECT_THAT(Await(kNoWait), StatusIs(StatusCode::kUnavailable,
                                       AllOf(HasSubstr("exec sleep 600"),
                                             HasSubstr(fmt::format("(process {})", leader)))));
  EXPECT_THAT(progress_.lines(), Contains(HasSubstr("waiting for")));
  EXPECT_TRUE(IsNoted());
  kill(leader, SIGTERM);

  EXPECT_OK(Await(kLong));
  EXPECT_FALSE(IsNoted());
}

TEST_F(RunningProgramTest, IsReportedOfAgainAndAgainWhileItIsAtWork) {
  const pid_t leader = KillAtWork();
  WaitingProgress progress([leader](size_t count) {
    if (count == 3) {
      kill(leader, SIGKILL);
    }
  });

  EXPECT_OK(AwaitProgram(world_.host(), disk_, progress, kLong, std::chrono::milliseconds{1}));

  ASSERT_GE(progress.lines().size(), 3U);
  for (const std::string& line : progress.lines()) {
    EXPECT_THAT(
        line, AllOf(HasSubstr("minutes at most"), HasSubstr(fmt::format("(process {})", leader))));
  }
}

TEST_F(RunningProgramTest, ServicesStayQuietUntilItIsOver) {
  constexpr const char* kPolicy = "/usr/sbin/policy-rc.d";
  world_.dir().MakeDir("host/usr/sbin");
  auto ours = packages::ServicePolicy::Impose(world_.host());
  ASSERT_OK(ours);
  const std::string text = world_.host().ReadFile(kPolicy).value_or("");
  ours->reset();
  world_.dir().WriteFile("host/usr/sbin/policy-rc.d", text);  // as a killed run leaves it
  const pid_t leader = KillAtWork();
  bool was_there = false;
  WaitingProgress progress([&](size_t /*count*/) {
    was_there = world_.host().Exists(kPolicy);
    kill(leader, SIGKILL);
  });
  OneRun run(world_);
  const Dependencies plain = run.deps();

  EXPECT_OK(LockHost(
      {plain.host, plain.disk, plain.runner, plain.packages, plain.clock, progress, plain.verify}));

  EXPECT_TRUE(was_there);
  EXPECT_FALSE(world_.host().Exists(kPolicy));
}

TEST_F(RunningProgramTest, KeepsOthersFromTheHost) {
  const pid_t leader = KillAtWork();
  sys::Session session(leader);
  session.Look();
  session.Signal(SIGKILL);
  OneRun run(world_);

  EXPECT_OK(LockHost(run.deps()));

  EXPECT_TRUE(session.Await(std::chrono::steady_clock::now()));
  EXPECT_FALSE(IsNoted());
}

TEST_F(RunningProgramTest, OfAnotherBootIsOver) {
  const pid_t leader = KillAtWork();
  world_.Reboot("boot-2");

  EXPECT_OK(Await(kNoWait));

  EXPECT_FALSE(IsNoted());
  kill(leader, SIGKILL);
}

TEST_F(RunningProgramTest, ANumberThatIsAnothersByNowIsOver) {
  const pid_t leader = KillAtWork();
  std::string note = world_.dir().ReadFile("host/var/lib/kgpu/driver-program.json");
  const size_t at = note.find("\"start\": ");
  ASSERT_NE(at, std::string::npos);
  note.insert(at + 9, "1");
  world_.dir().WriteFile("host/var/lib/kgpu/driver-program.json", note);

  EXPECT_OK(Await(kNoWait));

  kill(leader, SIGKILL);
}

TEST_F(RunningProgramTest, ADamagedNoteHoldsUpNobody) {
  for (const char* note : {"", "{}", "{\"pid\": 1", "[]"}) {
    world_.dir().WriteFile("host/var/lib/kgpu/driver-program.json", note);

    EXPECT_OK(Await(kNoWait)) << note;
  }
  EXPECT_FALSE(IsNoted());
}

TEST_F(RunningProgramTest, IsNotBegunWhenItCannotBeNoted) {
  world_.dir().MakeDir("host/var/lib/kgpu/driver-program.json");
  NotingRunner runner(real_, world_.host(), disk_);
  runner.BeginNoting();

  EXPECT_FALSE(runner.Run(Shell("sleep 600")).ok());
}

}  // namespace
}  // namespace kgpu::driver_install
