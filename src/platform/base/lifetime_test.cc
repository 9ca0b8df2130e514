#include "src/platform/base/lifetime.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

namespace kgpu {
namespace {

TEST(LifetimeTest, PassesArgumentsOnWhileTheObjectLives) {
  const Lifetime lifetime;
  std::unique_ptr<int> taken;
  std::function<void(std::unique_ptr<int>, int)> callback =
      lifetime.Bind([&](std::unique_ptr<int> value, int more) {
        taken = std::move(value);
        *taken += more;
      });
  callback(std::make_unique<int>(40), 2);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(*taken, 42);
}

TEST(LifetimeTest, CallbacksOfAnObjectThatIsGoneDoNothing) {
  std::optional<Lifetime> lifetime(std::in_place);
  int runs = 0;
  const std::function<void()> callback = lifetime->Bind([&] { ++runs; });
  const std::function<void()> copy = callback;
  callback();
  lifetime.reset();
  callback();
  copy();
  EXPECT_EQ(runs, 1);
}

TEST(LifetimeTest, EndStopsCallbacksThatWereBoundBefore) {
  Lifetime lifetime;
  int runs = 0;
  const std::function<void()> before = lifetime.Bind([&] { ++runs; });
  lifetime.End();
  const std::function<void()> after = lifetime.Bind([&] { runs += 10; });
  before();
  after();
  EXPECT_EQ(runs, 10);
}

TEST(LifetimeTest, ACallbackMayEndItsObject) {
  auto lifetime = std::make_unique<Lifetime>();
  int runs = 0;
  const std::function<void()> callback = lifetime->Bind([&] {
    lifetime.reset();
    ++runs;
  });
  callback();
  callback();
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace kgpu
