#include "src/preload/turns.h"

#include <gtest/gtest.h>

namespace kgpu::preload {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kDay = 1'000 * kGatePeriod;  // some moment at which a period begins
// A quarter of each period, from a half on: 25 to 37.5 ms.
constexpr GateTurn kQuarter{.open = 2500, .start = 5000};

// What a process has launched was seen to run until `now`.
void EndAt(Turns* turns, uint64_t now) {
  NoteRunning(turns, now);
  NoteEnd(turns, kQuarter, now);
}

TEST(GateTest, AWordSaysWhatWasPacked) {
  const GateTurn turn{.open = 2500, .start = 7500, .every = 3, .beat = 0xabcd, .epoch = 9};
  EXPECT_EQ(UnpackTurn(PackTurn(turn)), turn);
  EXPECT_TRUE(IsFullyOpen(PackTurn({})));
  EXPECT_FALSE(IsFullyOpen(PackTurn(turn)));
}

TEST(GateTest, AnyWordIsATurnWithinItsPeriod) {
  for (const uint64_t word : {uint64_t{0}, ~uint64_t{0}, uint64_t{0x00ffffff00010001},
                              uint64_t{0xffff0001}, uint64_t{0x2710270f}}) {
    const GateTurn turn = UnpackTurn(word);
    EXPECT_GE(turn.open, 1U);
    EXPECT_LE(turn.start + turn.open, kGateParts);
    EXPECT_GE(turn.every, 1U);
  }
}

TEST(TurnsTest, ALaunchWaitsForItsWindow) {
  const Turns turns{};
  EXPECT_EQ(NextTurn(turns, kQuarter, kDay).at, kDay + 25 * kMs);
  EXPECT_EQ(NextTurn(turns, kQuarter, kDay + 25 * kMs).at, kDay + 25 * kMs);
  EXPECT_EQ(NextTurn(turns, kQuarter, kDay + 37 * kMs).at, kDay + 37 * kMs);
  EXPECT_EQ(NextTurn(turns, kQuarter, kDay + 38 * kMs).at, kDay + 75 * kMs);
  EXPECT_EQ(NextTurn(turns, kQuarter, kDay + 38 * kMs).window, 1001U);
}

TEST(TurnsTest, EveryThirdPeriodOnly) {
  GateTurn turn = kQuarter;
  turn.every = 3;
  const uint64_t at = NextTurn({}, turn, kDay).at;  // 1000 is no multiple of 3
  EXPECT_EQ(at, 1002 * kGatePeriod + 25 * kMs);
  EXPECT_EQ(NextTurn({}, turn, at + 13 * kMs).at, at + 3 * kGatePeriod);
}

TEST(TurnsTest, WorkBeyondItsWindowIsPaidByLaterOnes) {
  Turns turns{};
  NoteLaunch(&turns, NextTurn(turns, kQuarter, kDay + 25 * kMs));
  EXPECT_FALSE(MustEnd(turns, kQuarter, kDay + 37 * kMs));
  EXPECT_TRUE(MustEnd(turns, kQuarter, kDay + 38 * kMs));
  // Ends 20 ms after its window of 12.5 ms: one window is skipped, 7.5 ms of the next, too.
  EndAt(&turns, kDay + 57 * kMs + kMs / 2);
  EXPECT_EQ(turns.debt, 20 * kMs);
  EXPECT_FALSE(MustEnd(turns, kQuarter, kDay + 58 * kMs));
  const NextLaunch next = NextTurn(turns, kQuarter, kDay + 58 * kMs);
  EXPECT_EQ(next.window, 1002U);
  EXPECT_EQ(next.at, 1002 * kGatePeriod + 25 * kMs + 7 * kMs + kMs / 2);
  // Windows that pass unused pay as well.
  EXPECT_EQ(NextTurn(turns, kQuarter, next.at + kMs).at, next.at + kMs);
  EXPECT_EQ(NextTurn(turns, kQuarter, 1003 * kGatePeriod + 26 * kMs).at,
            1003 * kGatePeriod + 26 * kMs);
  NoteLaunch(&turns, next);
  EXPECT_EQ(turns.debt, 0U);
}

TEST(TurnsTest, NoMoreIsLaunchedThanFitsIntoTheWindow) {
  Turns turns{};
  uint64_t now = kDay + 25 * kMs;
  unsigned launches = 0;
  for (; !MustEnd(turns, kQuarter, now); ++launches) {
    NoteLaunch(&turns, NextTurn(turns, kQuarter, now));
  }
  EXPECT_EQ(launches, 8U) << "until it is known what they cost";
  now += 8 * kMs;
  EndAt(&turns, now);
  EXPECT_EQ(turns.cost, kMs);
  EXPECT_EQ(turns.debt, 0U);
  for (launches = 0; !MustEnd(turns, kQuarter, now); ++launches) {
    NoteLaunch(&turns, NextTurn(turns, kQuarter, now));
  }
  EXPECT_EQ(launches, 5U) << "of a millisecond each: 4.5 ms are left";
  // They are done before anybody looks: the next ones may cost less.
  NoteEnd(&turns, kQuarter, now + kMs);
  EXPECT_EQ(turns.cost, kMs / 2);
}

// A CPU limit or a pause of the container lets a thread sleep through its window.
TEST(TurnsTest, WhoIsWokenUpLateOwesWhatItRunsAlone) {
  Turns turns{};
  NoteLaunch(&turns, NextTurn(turns, kQuarter, kDay + 25 * kMs));
  NoteTaken(&turns, kDay + 105 * kMs);
  NoteTaken(&turns, kDay + 106 * kMs);
  EndAt(&turns, kDay + 107 * kMs);
  EXPECT_EQ(turns.debt, 2 * kMs);
  EXPECT_EQ(turns.cost, 2 * kMs);
  EXPECT_EQ(turns.taken, 0U);
}

// Of a window, what ran in it is no debt.
TEST(TurnsTest, WhatIsTakenInTimeOwesFromTheEndOfTheWindow) {
  Turns turns{};
  NoteLaunch(&turns, NextTurn(turns, kQuarter, kDay + 25 * kMs));
  NoteTaken(&turns, kDay + 26 * kMs);
  EndAt(&turns, kDay + 40 * kMs);
  EXPECT_EQ(turns.debt, 2 * kMs + kMs / 2);
  EXPECT_EQ(turns.cost, 14 * kMs);
}

// A program launched once, and did other things for two seconds.
TEST(TurnsTest, WhatNobodySawRunIsNoDebt) {
  Turns turns{};
  NoteLaunch(&turns, NextTurn(turns, kQuarter, kDay + 25 * kMs));
  turns.cost = kMs;
  NoteEnd(&turns, kQuarter, kDay + 2'000 * kMs);
  EXPECT_EQ(turns.debt, 0U);
  EXPECT_EQ(turns.cost, kMs) << "a pause says nothing about it";
  EXPECT_EQ(NextTurn(turns, kQuarter, kDay + 2'000 * kMs).at, kDay + 2'025 * kMs);
}

// It was seen to run for 3 ms after its window, and then nobody looked.
TEST(TurnsTest, ADebtEndsWhereNobodyLooks) {
  Turns turns{};
  NoteLaunch(&turns, NextTurn(turns, kQuarter, kDay + 25 * kMs));
  turns.cost = kMs;
  NoteRunning(&turns, kDay + 40 * kMs + kMs / 2);
  NoteEnd(&turns, kQuarter, kDay + 2'000 * kMs);
  EXPECT_EQ(turns.debt, 3 * kMs);
  EXPECT_EQ(turns.cost, kMs);
}

// Each sync that finds its kernel done leaves room for more in the window, and guesses nothing.
TEST(TurnsTest, WorkThatWasDoneInTimeChangesNoCost) {
  Turns turns{};
  turns.cost = kMs;
  NoteLaunch(&turns, NextTurn(turns, kQuarter, kDay + 25 * kMs));
  NoteEnd(&turns, kQuarter, kDay + 27 * kMs);
  EXPECT_EQ(turns.cost, kMs);
  EXPECT_EQ(turns.launched, 0U);
}

// 64 threads have slept until the same window.
TEST(TurnsTest, AWindowIsForAllThreadsTogether) {
  Turns turns{};
  turns.cost = 5 * kMs;
  const uint64_t at = NextTurn(turns, kQuarter, kDay).at;
  unsigned launches = 0;
  for (int thread = 0; thread < 64; ++thread) {
    const NextLaunch next = NextTurn(turns, kQuarter, at);
    if (!MustEnd(turns, kQuarter, at) && next.at <= at) {
      NoteLaunch(&turns, next);
      ++launches;
    }
  }
  EXPECT_EQ(launches, 3U) << "of 5 ms in 12.5";
}

// The part of a minute that a process uses a device of its own, whose kernels take so long; it
// waits for each, or fills its queue.
double PartOf(const GateTurn& turn, uint64_t kernel, bool has_queue) {
  Turns turns{};
  uint64_t now = kDay;
  uint64_t idle_at = kDay;
  uint64_t busy = 0;
  while (now < kDay + 60'000 * kMs) {
    if (MustEnd(turns, turn, now)) {
      if (idle_at > now) {
        now = idle_at;
        NoteRunning(&turns, now);
      }
      NoteEnd(&turns, turn, now);
    }
    const NextLaunch next = NextTurn(turns, turn, now);
    NoteLaunch(&turns, next);
    idle_at = (idle_at > next.at ? idle_at : next.at) + kernel;
    busy += kernel;
    now = has_queue ? next.at + 5'000 : idle_at;
    if (!has_queue) {  // as cuStreamSynchronize finds it
      NoteRunning(&turns, now);
      NoteEnd(&turns, turn, now);
    }
  }
  return static_cast<double>(busy) / static_cast<double>(now - kDay);
}

TEST(TurnsTest, KernelsOfAnyLengthGetTheirPart) {
  for (const uint64_t kernel : {kMs / 10, kMs, 7 * kMs, 40 * kMs, 130 * kMs}) {
    for (const uint32_t open : {500U, 2500U, 5000U, 9000U}) {
      const GateTurn turn{.open = open, .start = kGateParts - open};
      EXPECT_NEAR(PartOf(turn, kernel, false), open / 10'000.0, 0.03) << kernel << " ns";
      EXPECT_NEAR(PartOf(turn, kernel, true), open / 10'000.0, 0.03) << kernel << " ns, queued";
    }
  }
}

TEST(TurnsTest, NoLaunchWaitsForEver) {
  Turns turns{};
  NoteLaunch(&turns, {.at = kDay, .window = 999});
  const GateTurn least{.open = 1, .start = 0, .every = 255};
  NoteRunning(&turns, kDay + 86'400'000 * kMs);
  NoteEnd(&turns, least, kDay + 86'400'000 * kMs);
  EXPECT_LE(turns.debt, kMaxGateWait);
  const uint64_t now = kDay + 86'400'001 * kMs;
  EXPECT_LE(NextTurn(turns, least, now).at, now + kMaxGateWait);
}

// By an hour, with a debt of eight windows and a launch that runs.
TEST(TurnsTest, AClockThatIsSetStopsNobodyAndMakesNoDebt) {
  constexpr uint64_t kHour = 3'600'000 * kMs;
  constexpr uint64_t kLater = kDay + 2 * kHour;  // a period begins there, too
  for (const uint64_t set : {kLater - kHour, kLater + kHour}) {
    Turns turns{};
    NoteClock(&turns, kLater, kDay);
    NoteLaunch(&turns, NextTurn(turns, kQuarter, kLater + 25 * kMs));
    turns.debt = 100 * kMs;
    turns.cost = kMs;
    NoteClock(&turns, kLater + 40 * kMs, kDay + 40 * kMs);
    EXPECT_EQ(turns.debt, 100 * kMs) << "nobody has set it yet";
    NoteClock(&turns, set, kDay + 41 * kMs);
    NoteRunning(&turns, set);
    NoteEnd(&turns, kQuarter, set);
    EXPECT_EQ(turns.debt, 0U);
    EXPECT_EQ(turns.cost, kMs);
    EXPECT_LE(NextTurn(turns, kQuarter, set).at, set + kGatePeriod);
  }
}

// As daemons that keep the time do.
TEST(TurnsTest, AClockThatIsMovedSlowlyForgetsNothing) {
  Turns turns{};
  turns.debt = 100 * kMs;
  for (uint64_t at = 0; at < 100; ++at) {
    NoteClock(&turns, kDay + at * 51 * kMs, at * 50 * kMs + 1);
  }
  EXPECT_EQ(turns.debt, 100 * kMs);
}

}  // namespace
}  // namespace kgpu::preload
