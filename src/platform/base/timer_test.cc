#include "src/platform/base/timer.h"

#include <chrono>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "testing/fake_loop.h"

namespace kgpu {
namespace {

using std::chrono::seconds;

TEST(TimerTest, RunsItsTaskOnceWhenItIsDue) {
  FakeLoop loop;
  Timer timer(loop);
  int runs = 0;
  timer.Arm(seconds(2), [&] {
    EXPECT_FALSE(timer.is_armed());
    ++runs;
  });
  EXPECT_TRUE(timer.is_armed());
  loop.Advance(seconds(1));
  EXPECT_EQ(runs, 0);
  loop.Advance(seconds(9));
  EXPECT_EQ(runs, 1);
}

TEST(TimerTest, ALaterTaskReplacesOneThatHasNotRun) {
  FakeLoop loop;
  Timer timer(loop);
  char ran = '-';
  timer.Arm(seconds(1), [&] { ran = 'a'; });
  timer.Arm(seconds(3), [&] { ran = 'b'; });
  EXPECT_EQ(loop.timers(), 1U);
  loop.Advance(seconds(2));
  EXPECT_EQ(ran, '-');
  loop.Advance(seconds(1));
  EXPECT_EQ(ran, 'b');
}

TEST(TimerTest, ItsTaskMayArmItAgain) {
  FakeLoop loop;
  Timer timer(loop);
  int runs = 0;
  std::function<void()> again = [&] {
    if (++runs < 3) {
      timer.Arm(seconds(1), again);
    }
  };
  timer.Arm(seconds(1), again);
  loop.Advance(seconds(10));
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(loop.timers(), 0U);
}

TEST(TimerTest, ItsTaskMayDestroyIt) {
  FakeLoop loop;
  auto timer = std::make_unique<Timer>(loop);
  // A capture that does not fit into the task itself: the sanitizers see a use after its end.
  std::string text(100, 'x');
  size_t seen = 0;
  timer->Arm(seconds(1), [&timer, &seen, text] {
    timer.reset();
    seen = text.size();
  });
  loop.Advance(seconds(1));
  EXPECT_EQ(seen, 100U);
}

TEST(TimerTest, IsCancelledWithItsOwner) {
  FakeLoop loop;
  int runs = 0;
  std::optional<Timer> timer(std::in_place, loop);
  timer->Arm(seconds(1), [&] { ++runs; });
  timer.reset();
  EXPECT_EQ(loop.timers(), 0U);

  Timer other(loop);
  other.Arm(seconds(1), [&] { ++runs; });
  other.Cancel();
  EXPECT_FALSE(other.is_armed());
  other.Cancel();
  loop.Advance(seconds(2));
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace kgpu
