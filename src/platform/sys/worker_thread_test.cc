#include "src/platform/sys/worker_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "src/platform/base/log.h"

namespace kgpu::sys {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr std::chrono::minutes kLongStop{1};

TEST(WorkerThreadTest, DoesEverythingInOrderBeforeItEnds) {
  const RealClock clock;
  std::vector<int> done;
  WorkerThread worker(clock, {.name = "kgpu-test", .stop_limit = kLongStop});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(worker.Post([&done, i] { done.push_back(i); }));
  }
  worker.Stop();
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
  EXPECT_FALSE(worker.Post([] { FAIL(); })) << "nobody would do it";
}

TEST(WorkerThreadTest, TheTimeThatIsSaidIsTheLimit) {
  const RealClock clock;
  bool is_done = false;
  WorkerThread worker(clock, {.name = "kgpu-test", .stop_limit = milliseconds(0)});
  worker.StopBy(clock.Now() + kLongStop);
  worker.Post([&is_done] { is_done = true; });
  worker.Stop();
  EXPECT_TRUE(is_done);
}

TEST(WorkerThreadTest, SaysSinceWhenItIsBusy) {
  const RealClock clock;
  std::promise<void> begun;
  std::promise<void> gate;
  WorkerThread worker(clock, {.name = "kgpu-test", .max_tasks = 1, .stop_limit = kLongStop});
  EXPECT_EQ(worker.busy_since(), std::nullopt);
  const SteadyTime before = clock.Now();
  worker.Post([&] {
    begun.set_value();
    gate.get_future().wait();
  });
  begun.get_future().wait();
  ASSERT_TRUE(worker.busy_since().has_value());
  EXPECT_GE(*worker.busy_since(), before);
  EXPECT_TRUE(worker.Post([] {}));
  EXPECT_FALSE(worker.Post([] {})) << "one waits already";
  gate.set_value();
  worker.Stop();
  EXPECT_EQ(worker.busy_since(), std::nullopt);
}

TEST(WorkerThreadDeathTest, TheProcessEndsWhenATaskDoesNot) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] {
    const RealClock clock;
    std::promise<void> never;
    WorkerThread worker(
        clock,
        {.name = "kgpu-test", .stuck = "disk not responding", .stop_limit = milliseconds(1)});
    worker.Post([&never] { never.get_future().wait(); });
  };
  EXPECT_EXIT(hang(), ::testing::ExitedWithCode(1), "disk not responding");
}

}  // namespace
}  // namespace kgpu::sys
