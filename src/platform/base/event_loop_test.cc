#include "src/platform/base/event_loop.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "src/platform/base/unique_fd.h"
#include "testing/fake_loop.h"
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
  bool is_proof = false;
  // On a busy machine the second may be armed so late that it is due last.
  while (!is_proof) {
    std::vector<int> order;
    const auto finish = [&](int number) {
      order.push_back(number);
      if (order.size() == 3) {
        loop_->Quit();
      }
    };
    const SteadyTime third_is_due = loop_->clock().Now() + milliseconds(8);
    loop_->After(milliseconds(8), [&] { finish(3); });
    loop_->After(milliseconds(0), [&] { finish(1); });
    loop_->After(milliseconds(2), [&] { finish(2); });
    is_proof = loop_->clock().Now() + milliseconds(2) < third_is_due;
    loop_->Run();
    if (is_proof) {
      EXPECT_THAT(order, ElementsAre(1, 2, 3));
    }
  }
}

TEST_F(EventLoopTest, ATimerThatArmsItselfAgainAtOnceStarvesNothing) {
  for (const milliseconds delay : {milliseconds(0), milliseconds(-1000)}) {
    int runs = 0;
    int runs_before_post = 0;
    std::function<void()> again = [&] {
      // The end of a loop that starves.
      if (++runs == 1000) {
        return loop_->Quit();
      }
      loop_->After(delay, again);
    };
    loop_->After(delay, [&] {
      loop_->Post([&] {
        runs_before_post = runs;
        loop_->Quit();
      });
      again();
    });
    loop_->Run();
    EXPECT_GT(runs_before_post, 0) << delay.count();
    EXPECT_LT(runs_before_post, 10) << delay.count();
  }
}

TEST_F(EventLoopTest, ATimerThatIsMadeForThePastRunsAfterThoseThatWait) {
  std::vector<int> order;
  loop_->After(milliseconds(-2), [&] {
    order.push_back(1);
    loop_->After(milliseconds(-1000), [&] {
      order.push_back(3);
      loop_->Quit();
    });
  });
  loop_->After(milliseconds(-1), [&] { order.push_back(2); });
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

// Both ends of a connection.
struct Sockets {
  Sockets() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()), 0);
    ours.Reset(fds[0]);
    theirs.Reset(fds[1]);
  }
  // Until `ours` takes no more.
  void Fill() const {
    const std::string bytes(4096, 'x');
    while (write(ours.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
  void Drain() const {
    std::array<char, 4096> bytes{};
    while (read(theirs.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
  UniqueFd ours;
  UniqueFd theirs;
};

TEST_F(EventLoopTest, CallsTheWatchWhenItsDescriptorTakesBytesAgain) {
  const Sockets sockets;
  sockets.Fill();
  bool is_drained = false;
  bool was_called_early = false;
  ASSERT_OK(loop_->WatchWritable(sockets.ours.get(), [&] {
    was_called_early = !is_drained;
    loop_->Quit();
  }));
  loop_->After(milliseconds(2), [&] {
    is_drained = true;
    sockets.Drain();
  });
  loop_->Run();
  EXPECT_FALSE(was_called_early);
}

TEST_F(EventLoopTest, CallsTheWatchForWritingWhenThePeerIsGone) {
  Sockets sockets;
  sockets.Fill();
  ASSERT_OK(loop_->WatchWritable(sockets.ours.get(), [&] { loop_->Quit(); }));
  loop_->Post([&] { sockets.theirs.Reset(); });
  loop_->Run();
}

TEST_F(EventLoopTest, WatchesOneDescriptorForBoth) {
  const Sockets sockets;
  ASSERT_EQ(write(sockets.theirs.get(), "x", 1), 1);
  std::vector<char> calls;
  std::array<WatchId, 2> watches{};
  watches[0] = loop_
                   ->WatchReadable(sockets.ours.get(),
                                   [&] {
                                     calls.push_back('r');
                                     loop_->Unwatch(watches[0]);
                                   })
                   .value();
  watches[1] = loop_
                   ->WatchWritable(sockets.ours.get(),
                                   [&] {
                                     calls.push_back('w');
                                     if (calls.size() >= 3) {
                                       loop_->Quit();
                                     }
                                   })
                   .value();
  EXPECT_FALSE(loop_->WatchReadable(sockets.ours.get(), [] {}).ok());
  EXPECT_FALSE(loop_->WatchWritable(sockets.ours.get(), [] {}).ok());
  loop_->Run();
  EXPECT_THAT(calls, ElementsAre('r', 'w', 'w'));
}

TEST_F(EventLoopTest, AWatchForReadingMayRemoveTheOneForWriting) {
  const Sockets sockets;
  ASSERT_EQ(write(sockets.theirs.get(), "x", 1), 1);
  int writable = 0;
  std::array<WatchId, 2> watches{};
  watches[0] = loop_
                   ->WatchReadable(sockets.ours.get(),
                                   [&] {
                                     loop_->Unwatch(watches[1]);
                                     loop_->Unwatch(watches[0]);
                                     loop_->After(milliseconds(1), [&] { loop_->Quit(); });
                                   })
                   .value();
  watches[1] = loop_->WatchWritable(sockets.ours.get(), [&] { ++writable; }).value();
  loop_->Run();
  EXPECT_EQ(writable, 0);
}

TEST_F(EventLoopTest, ADescriptorNumberMayBeWatchedAgainBeforeItsOldWatchIsRemoved) {
  UniqueFd old(eventfd(0, EFD_CLOEXEC));
  const int number = old.get();
  const WatchId old_watch = loop_->WatchReadable(number, [] {}).value();
  old.Reset();
  const UniqueFd fresh(eventfd(1, EFD_CLOEXEC));
  ASSERT_EQ(fresh.get(), number);
  const WatchId write_watch = loop_->WatchWritable(number, [] {}).value();
  ASSERT_OK(loop_->WatchReadable(number, [&] { loop_->Quit(); }));
  loop_->Unwatch(old_watch);
  loop_->Unwatch(write_watch);
  loop_->Run();
}

// As the real one: tests run code that has worker threads on it.
TEST(FakeLoopTest, TakesTasksFromOtherThreads) {
  constexpr int kTasks = 20'000;
  FakeLoop loop;
  int run = 0;
  const std::jthread poster([&] {
    for (int i = 0; i < kTasks; ++i) {
      loop.Post([&run] { ++run; });
    }
  });
  while (run < kTasks) {
    loop.RunUntilIdle();
  }
  EXPECT_EQ(run, kTasks);
}

TEST_F(EventLoopTest, RefusesADescriptorThatCannotBePolled) {
  EXPECT_FALSE(loop_->WatchWritable(-1, [] {}).ok());
  EXPECT_FALSE(loop_->WatchReadable(-1, [] {}).ok());
}

}  // namespace
}  // namespace kgpu
