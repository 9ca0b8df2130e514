#include "src/kube/api/request_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "testing/fake_loop.h"

namespace kgpu::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

class RequestGateTest : public ::testing::Test {
 protected:
  void Ask(int count) {
    for (int i = 0; i < count; ++i) {
      tickets_.push_back(gate_.Wait([this] { ++entered_; }));
    }
  }

  FakeLoop loop_;
  RequestGate gate_{loop_, {.per_second = 5, .burst = 10, .max_waiting = 30}};
  std::vector<RequestGate::Ticket> tickets_;
  int entered_ = 0;
};

TEST_F(RequestGateTest, LetsABurstThroughAndThenSoManyASecond) {
  Ask(25);
  EXPECT_EQ(entered_, 0);
  loop_.Advance(milliseconds(0));
  EXPECT_EQ(entered_, 10);
  loop_.Advance(milliseconds(199));
  EXPECT_EQ(entered_, 10);
  loop_.Advance(milliseconds(1));
  EXPECT_EQ(entered_, 11);
  loop_.Advance(seconds(1));
  EXPECT_EQ(entered_, 16);
  loop_.Advance(seconds(60));
  EXPECT_EQ(entered_, 25);
  // A long silence earns no more than a burst.
  Ask(20);
  loop_.Advance(milliseconds(0));
  EXPECT_EQ(entered_, 35);
}

TEST_F(RequestGateTest, KeepsTheOrder) {
  std::vector<int> order;
  for (int i = 0; i < 12; ++i) {
    gate_.Wait([&order, i] { order.push_back(i); });
  }
  loop_.Advance(seconds(1));
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST_F(RequestGateTest, OneThatLeavesCostsNothing) {
  Ask(12);
  for (size_t i = 0; i < 2; ++i) {
    gate_.Leave(tickets_[i]);
  }
  gate_.Leave(0);
  loop_.Advance(milliseconds(0));
  EXPECT_EQ(entered_, 10);
  EXPECT_EQ(gate_.waiting(), 0U);
}

TEST_F(RequestGateTest, NobodyEntersWhileTheServerWantsToBeLeftAlone) {
  gate_.Pause(seconds(30));
  gate_.Pause(seconds(3));
  Ask(1);
  loop_.Advance(milliseconds(29'999));
  EXPECT_EQ(entered_, 0);
  loop_.Advance(milliseconds(1));
  EXPECT_EQ(entered_, 1);
}

TEST_F(RequestGateTest, APauseHoldsThoseThatWaitAlready) {
  Ask(11);
  loop_.Advance(milliseconds(0));
  gate_.Pause(seconds(5));
  loop_.Advance(milliseconds(4'999));
  EXPECT_EQ(entered_, 10);
  loop_.Advance(milliseconds(1));
  EXPECT_EQ(entered_, 11);
}

TEST_F(RequestGateTest, TooManyAreTurnedAway) {
  Ask(31);
  EXPECT_NE(tickets_[29], 0U);
  EXPECT_EQ(tickets_[30], 0U);
}

TEST_F(RequestGateTest, OneThatComesBackAtOnceMakesNoHotLoop) {
  int turns = 0;
  std::function<void()> again = [&] {
    ++turns;
    gate_.Wait(again);
  };
  gate_.Wait(again);
  loop_.Advance(seconds(10));
  EXPECT_LE(turns, 10 + 50 + 1);
  EXPECT_GE(turns, 59);
}

}  // namespace
}  // namespace kgpu::kube
