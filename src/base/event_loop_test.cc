#include "src/base/event_loop.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "src/base/unique_fd.h"
#include "testing/status_matchers.h"

namespace kgpu {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK), 0);
    read.Reset(fds[0]);
    write.Reset(fds[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

class EventLoopTest : public ::testing::Test {
 protected:
  EventLoopTest() : loop_(std::move(EpollLoop::Create().value())) {}
  std::unique_ptr<EpollLoop> loop_;
};

TEST_F(EventLoopTest, RunsPostedTasksInOrder) {
  std::vector<int> order;
  loop_->Post([&] { order.push_back(1); });
  loop_->Post([&] {
    order.push_back(2);
    loop_->Quit();
  });
  loop_->Run();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST_F(EventLoopTest, TakesTasksFromOtherThreads) {
  int ran = 0;
  std::jthread poster([&] {
    for (int i = 0; i < 1000; ++i) {
      loop_->Post([&] { ++ran; });
    }
    loop_->Post([&] { loop_->Quit(); });
  });
  loop_->Run();
  EXPECT_EQ(ran, 1000);
}

TEST_F(EventLoopTest, RunsTimersInOrderOfTheirDueTime) {
  std::vector<int> order;
  loop_->After(milliseconds(4), [&] {
    order.push_back(3);
    loop_->Quit();
  });
  loop_->After(milliseconds(0), [&] { order.push_back(1); });
  loop_->After(milliseconds(2), [&] { order.push_back(2); });
  loop_->Run();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST_F(EventLoopTest, ACancelledTimerDoesNotRun) {
  bool ran = false;
  const TimerId timer = loop_->After(milliseconds(0), [&] { ran = true; });
  loop_->CancelTimer(timer);
  loop_->CancelTimer(timer);
  loop_->After(milliseconds(1), [&] { loop_->Quit(); });
  loop_->Run();
  EXPECT_FALSE(ran);
}

TEST_F(EventLoopTest, CallsTheWatchWhileItsDescriptorIsReadable) {
  Pipe pipe;
  ASSERT_EQ(write(pipe.write.get(), "ab", 2), 2);
  std::string got;
  ASSERT_OK(loop_->WatchReadable(pipe.read.get(), [&] {
    char c = 0;
    if (read(pipe.read.get(), &c, 1) == 1) {
      got += c;
    }
    if (got.size() == 2) {
      loop_->Quit();
    }
  }));
  loop_->Run();
  EXPECT_EQ(got, "ab");
}

TEST_F(EventLoopTest, CallsTheWatchWhenThePeerCloses) {
  Pipe pipe;
  pipe.write.Reset();
  bool called = false;
  ASSERT_OK(loop_->WatchReadable(pipe.read.get(), [&] {
    called = true;
    loop_->Quit();
  }));
  loop_->Run();
  EXPECT_TRUE(called);
}

TEST_F(EventLoopTest, AWatchMayRemoveItselfAndOthers) {
  Pipe first;
  Pipe second;
  ASSERT_EQ(write(first.write.get(), "x", 1), 1);
  ASSERT_EQ(write(second.write.get(), "x", 1), 1);
  int calls = 0;
  std::array<WatchId, 2> watches{};
  const auto remove_both = [&] {
    ++calls;
    loop_->Unwatch(watches[0]);
    loop_->Unwatch(watches[1]);
    loop_->After(milliseconds(1), [&] { loop_->Quit(); });
  };
  watches[0] = loop_->WatchReadable(first.read.get(), remove_both).value();
  watches[1] = loop_->WatchReadable(second.read.get(), remove_both).value();
  loop_->Run();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, RefusesADescriptorThatCanNotBePolled) {
  EXPECT_FALSE(loop_->WatchReadable(-1, [] {}).ok());
}

}  // namespace
}  // namespace kgpu
