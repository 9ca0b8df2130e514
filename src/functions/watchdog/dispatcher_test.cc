#include "src/functions/watchdog/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kgpu::watchdog {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DispatcherTest : public ::testing::Test {
 protected:
  // "send 7 to 0", "fail 7 timeout", "spawn 0" …
  std::vector<std::string> Effects() {
    std::vector<std::string> words;
    for (const Dispatcher::Effect& effect : dispatcher_->TakeEffects()) {
      words.push_back(Word(effect));
      last_fault_ = effect.fault.text;
    }
    return words;
  }
  static std::string Word(const Dispatcher::Effect& effect) {
    switch (effect.action) {
      case Dispatcher::Do::kSpawn:
        return fmt::format("spawn {}", effect.process);
      case Dispatcher::Do::kSend:
        return fmt::format("send {} to {}", effect.call, effect.process);
      case Dispatcher::Do::kGiveUp:
        return fmt::format("give up {} in {}", effect.call, effect.process);
      case Dispatcher::Do::kFail:
        return fmt::format("fail {} {}", effect.call, FaultWord(effect.fault.kind));
      case Dispatcher::Do::kQuit:
        return fmt::format("quit {}", effect.process);
      case Dispatcher::Do::kKill:
        return fmt::format("kill {}", effect.process);
    }
    return "";
  }

  // Starts all processes; they are ready.
  void Begin(const DispatchLimits& limits, bool is_concurrent = true) {
    dispatcher_.emplace(limits);
    dispatcher_->Start(now_);
    for (size_t i = 0; i < limits.processes; ++i) {
      dispatcher_->OnReady(i, is_concurrent, now_);
    }
    Effects();
  }
  void Admit(CallId call) { dispatcher_->Admit(call, std::nullopt, now_); }
  void Advance(milliseconds by) {
    now_ += by;
    dispatcher_->OnTime(now_);
  }

  SteadyTime now_{};
  std::optional<Dispatcher> dispatcher_;
  std::string last_fault_;
};

TEST_F(DispatcherTest, LetsCallsWaitUntilAProcessIsReady) {
  dispatcher_.emplace(DispatchLimits{});
  dispatcher_->Start(now_);
  Admit(1);
  EXPECT_THAT(Effects(), ElementsAre("spawn 0"));
  EXPECT_FALSE(dispatcher_->is_ready());
  dispatcher_->OnReady(0, false, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 1 to 0"));
  EXPECT_TRUE(dispatcher_->is_ready());
}

TEST_F(DispatcherTest, GivesAProcessThatIsNotConcurrentOneCallAtATime) {
  Begin({.concurrency = 4}, false);
  Admit(1);
  Admit(2);
  EXPECT_THAT(Effects(), ElementsAre("send 1 to 0"));
  dispatcher_->OnEnd(1, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 2 to 0"));
}

TEST_F(DispatcherTest, SpreadsCallsOverProcesses) {
  Begin({.concurrency = 4, .processes = 2});
  for (const CallId call : {1, 2, 3, 4, 5}) {
    Admit(call);
  }
  EXPECT_THAT(Effects(), ElementsAre("send 1 to 0", "send 2 to 1", "send 3 to 0", "send 4 to 1"));
  EXPECT_EQ(dispatcher_->running(), 4U);
  EXPECT_EQ(dispatcher_->waiting(), 1U);
}

TEST_F(DispatcherTest, RefusesWhatTheQueueCannotHold) {
  Begin({.concurrency = 1, .queue = 1});
  Admit(1);
  Admit(2);
  Admit(3);
  EXPECT_THAT(Effects(), ElementsAre("send 1 to 0", "fail 3 overload"));
  EXPECT_EQ(last_fault_, "1 calls run and 1 wait already");
}

TEST_F(DispatcherTest, KeepsTheOrderOfWaitingCalls) {
  Begin({.concurrency = 1, .queue = 8});
  for (const CallId call : {1, 2, 3}) {
    Admit(call);
  }
  dispatcher_->OnCallerGone(2, now_);
  Admit(4);
  dispatcher_->OnEnd(1, now_);
  dispatcher_->OnEnd(3, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 1 to 0", "send 3 to 0", "send 4 to 0"));
}

TEST_F(DispatcherTest, ReplacesAProcessThatHangs) {
  Begin({.concurrency = 1, .timeout = seconds(5)});
  Admit(1);
  Advance(seconds(4));
  Admit(2);
  EXPECT_THAT(Effects(), ElementsAre("send 1 to 0"));
  Advance(seconds(1));
  EXPECT_THAT(Effects(), ElementsAre("give up 1 in 0", "fail 1 timeout", "kill 0"));
  dispatcher_->OnExit(0, "signal 9", now_);
  EXPECT_THAT(Effects(), ElementsAre("spawn 0"));
  dispatcher_->OnReady(0, false, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 2 to 0"));
  Advance(seconds(4));
  EXPECT_THAT(Effects(), IsEmpty()) << "the time of a call begins when it runs";
}

TEST_F(DispatcherTest, LetsOtherCallsOfAHungProcessFinish) {
  Begin({.concurrency = 3, .timeout = seconds(5)});
  Admit(1);
  Advance(seconds(3));
  Admit(2);
  Effects();
  Advance(seconds(2));
  EXPECT_THAT(Effects(), ElementsAre("give up 1 in 0", "fail 1 timeout"));
  Admit(3);
  EXPECT_THAT(Effects(), IsEmpty()) << "no new calls for that process";
  dispatcher_->OnEnd(1, now_);
  EXPECT_THAT(Effects(), IsEmpty()) << "too late";
  dispatcher_->OnEnd(2, now_);
  EXPECT_THAT(Effects(), ElementsAre("kill 0"));
  dispatcher_->OnExit(0, "signal 9", now_);
  dispatcher_->OnReady(0, true, now_);
  EXPECT_THAT(Effects(), ElementsAre("spawn 0", "send 3 to 0"));
}

TEST_F(DispatcherTest, FailsTheCallsOfAProcessThatEnds) {
  Begin({.concurrency = 2});
  Admit(1);
  Admit(2);
  Effects();
  dispatcher_->OnExit(0, "signal 11", now_);
  EXPECT_THAT(Effects(), ElementsAre("fail 1 crash", "fail 2 crash", "spawn 0"));
  EXPECT_EQ(dispatcher_->restarts(), 1U);
}

TEST_F(DispatcherTest, WaitsLongerAfterEachFailure) {
  EXPECT_EQ(RestartDelay(1), milliseconds(0));
  EXPECT_EQ(RestartDelay(2), milliseconds(100));
  EXPECT_EQ(RestartDelay(3), milliseconds(200));
  EXPECT_EQ(RestartDelay(9), seconds(10));
  EXPECT_EQ(RestartDelay(1'000'000), seconds(10));
}

TEST_F(DispatcherTest, ForgetsFailuresAfterACallSucceeded) {
  Begin({});
  dispatcher_->OnExit(0, "exit code 1", now_);
  dispatcher_->OnReady(0, false, now_);
  dispatcher_->OnExit(0, "exit code 1", now_);
  EXPECT_THAT(Effects(), ElementsAre("spawn 0")) << "the second one waits";
  Advance(milliseconds(100));
  EXPECT_THAT(Effects(), ElementsAre("spawn 0"));
  dispatcher_->OnReady(0, false, now_);
  Admit(1);
  dispatcher_->OnEnd(1, now_);
  Effects();
  dispatcher_->OnExit(0, "exit code 1", now_);
  EXPECT_THAT(Effects(), ElementsAre("spawn 0"));
}

TEST_F(DispatcherTest, GivesUpWhenProcessesDoNotStart) {
  dispatcher_.emplace(DispatchLimits{});
  dispatcher_->Start(now_);
  Admit(1);
  for (int i = 0; i < 3; ++i) {
    Advance(seconds(1));
    dispatcher_->OnExit(0, "exit code 1", now_);
  }
  EXPECT_THAT(Effects(), ElementsAre("spawn 0", "spawn 0", "spawn 0", "fail 1 starting"));
  EXPECT_THAT(last_fault_, HasSubstr("does not start: exit code 1"));
  Admit(2);
  EXPECT_THAT(Effects(), ElementsAre("fail 2 starting"));
  Advance(seconds(1));
  dispatcher_->OnReady(0, false, now_);
  Admit(3);
  EXPECT_THAT(Effects(), ElementsAre("spawn 0", "send 3 to 0"));
}

TEST_F(DispatcherTest, KillsAProcessThatIsNeverReady) {
  dispatcher_.emplace(DispatchLimits{.start_timeout = seconds(7)});
  dispatcher_->Start(now_);
  EXPECT_EQ(dispatcher_->NextTime(), now_ + seconds(7));
  Advance(seconds(7));
  EXPECT_THAT(Effects(), ElementsAre("spawn 0", "kill 0"));
}

TEST_F(DispatcherTest, RefusesCallsThatWaitedTooLong) {
  Begin({.concurrency = 1, .timeout = seconds(5), .wait_timeout = seconds(5)});
  Admit(1);
  Admit(2);
  Admit(3);
  Advance(seconds(4));
  dispatcher_->OnEnd(1, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 1 to 0", "send 2 to 0"));
  Advance(seconds(1));
  EXPECT_THAT(Effects(), ElementsAre("fail 3 overload"));
  EXPECT_EQ(last_fault_, "there was no free place within 5s");
}

TEST_F(DispatcherTest, EndsTheProcessOfACallThatNobodyWaitsFor) {
  Begin({.concurrency = 1, .timeout = seconds(5)});
  Admit(1);
  Advance(seconds(4));
  dispatcher_->OnCallerGone(1, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 1 to 0", "give up 1 in 0"));
  Advance(seconds(1));
  EXPECT_THAT(Effects(), ElementsAre("kill 0"));
}

TEST_F(DispatcherTest, EndsTheProcessOfACallThatFloods) {
  Begin({.concurrency = 2});
  Admit(1);
  Admit(2);
  Effects();
  dispatcher_->OnFlood(1, "more than 1 MiB", now_);
  EXPECT_THAT(Effects(), ElementsAre("give up 1 in 0", "fail 1 output"));
  dispatcher_->OnEnd(2, now_);
  EXPECT_THAT(Effects(), ElementsAre("kill 0"));
}

TEST_F(DispatcherTest, KeepsTheProcessWhenTheCallerIsTheReason) {
  Begin({.concurrency = 1, .timeout = seconds(60), .late_time = seconds(5)});
  dispatcher_->Admit(1, now_ + seconds(2), now_);
  Effects();
  Advance(seconds(2));
  EXPECT_THAT(Effects(), ElementsAre("give up 1 in 0", "fail 1 timeout"));
  Admit(2);
  EXPECT_THAT(Effects(), IsEmpty());
  dispatcher_->OnEnd(1, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 2 to 0"));
}

TEST_F(DispatcherTest, EndsTheProcessThatIgnoresThatTheCallerIsGone) {
  Begin({.concurrency = 1, .timeout = seconds(60), .late_time = seconds(5)});
  Admit(1);
  dispatcher_->SetSlow(1, true);
  Effects();
  Advance(seconds(60));
  EXPECT_THAT(Effects(), ElementsAre("give up 1 in 0", "fail 1 timeout"));
  Advance(seconds(5));
  EXPECT_THAT(Effects(), ElementsAre("kill 0"));
}

TEST_F(DispatcherTest, DrainsCallsThenProcesses) {
  Begin({.concurrency = 1, .processes = 1});
  Admit(1);
  Admit(2);
  Effects();
  dispatcher_->Drain(now_, now_ + seconds(10));
  EXPECT_FALSE(dispatcher_->is_ready());
  Admit(3);
  EXPECT_THAT(Effects(), ElementsAre("fail 3 stopping"));
  dispatcher_->OnEnd(1, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 2 to 0"));
  dispatcher_->OnEnd(2, now_);
  EXPECT_THAT(Effects(), ElementsAre("quit 0"));
  EXPECT_FALSE(dispatcher_->IsDone());
  dispatcher_->OnExit(0, "exit code 0", now_);
  EXPECT_THAT(Effects(), IsEmpty());
  EXPECT_TRUE(dispatcher_->IsDone());
}

TEST_F(DispatcherTest, EndsTheDrainAtItsDeadline) {
  Begin({.concurrency = 1});
  Admit(1);
  Admit(2);
  Effects();
  dispatcher_->Drain(now_, now_ + seconds(10));
  Advance(seconds(10));
  EXPECT_THAT(Effects(), ElementsAre("fail 1 stopping", "fail 2 stopping", "kill 0"));
  dispatcher_->OnExit(0, "signal 9", now_);
  EXPECT_TRUE(dispatcher_->IsDone());
}

TEST_F(DispatcherTest, KillsAProcessThatDoesNotQuit) {
  Begin({});
  dispatcher_->Drain(now_, now_ + seconds(10));
  EXPECT_THAT(Effects(), ElementsAre("quit 0"));
  Advance(seconds(2));
  EXPECT_THAT(Effects(), ElementsAre("kill 0"));
}

TEST_F(DispatcherTest, StartsProcessesForTheCallsOfADrain) {
  Begin({.concurrency = 1, .timeout = seconds(3)});
  Admit(1);
  Admit(2);
  Effects();
  dispatcher_->Drain(now_, now_ + seconds(10));
  dispatcher_->OnExit(0, "signal 11", now_);
  EXPECT_THAT(Effects(), ElementsAre("fail 1 crash", "spawn 0"));
  dispatcher_->OnReady(0, false, now_);
  dispatcher_->OnEnd(2, now_);
  EXPECT_THAT(Effects(), ElementsAre("send 2 to 0", "quit 0"));
}

TEST_F(DispatcherTest, IgnoresCallsOfOtherProcesses) {
  Begin({.concurrency = 2, .processes = 2});
  Admit(1);
  EXPECT_TRUE(dispatcher_->IsRunningIn(1, 0));
  EXPECT_FALSE(dispatcher_->IsRunningIn(1, 1));
  EXPECT_FALSE(dispatcher_->IsRunningIn(9, 0));
}

}  // namespace
}  // namespace kgpu::watchdog
