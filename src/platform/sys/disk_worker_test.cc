#include "src/platform/sys/disk_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/platform/base/log.h"
#include "testing/status_matchers.h"

namespace kgpu::sys {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DiskWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loop = EpollLoop::Create();
    ASSERT_OK(loop);
    loop_ = *std::move(loop);
    worker_ = std::make_unique<DiskWorker>(
        *loop_, DiskWorkerOptions{.max_jobs = 3, .stop_limit = std::chrono::minutes(1)});
  }
  bool Post(DiskWorker::Job job) {
    return worker_->Post(std::move(job),
                         [this](const Status& status) { noted_.emplace_back(Message(status)); });
  }
  DiskWorker::Job Note(const std::string& word) {
    return [this, word]() -> DiskWorker::Done {
      return [this, word] {
        noted_.push_back(word);
        if (word == "last") {
          loop_->Quit();
        }
      };
    };
  }

  std::unique_ptr<EpollLoop> loop_;
  std::vector<std::string> noted_;
  std::unique_ptr<DiskWorker> worker_;
};

TEST_F(DiskWorkerTest, DoesJobsInOrderAndTellsOnTheLoop) {
  EXPECT_TRUE(Post(Note("first")));
  EXPECT_TRUE(Post(Note("last")));
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("first", "last"));
  EXPECT_THAT(worker_->problem(), IsEmpty());
}

TEST_F(DiskWorkerTest, JobsRunOnAThreadOfTheirOwn) {
  std::thread::id id;
  Post([&id]() -> DiskWorker::Done {
    id = std::this_thread::get_id();
    return {};
  });
  Post(Note("last"));
  loop_->Run();
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST_F(DiskWorkerTest, TakesNoMoreThanItsBound) {
  std::promise<void> gate;
  std::promise<void> begun;
  Post([&]() -> DiskWorker::Done {
    begun.set_value();
    gate.get_future().wait();
    return {};
  });
  begun.get_future().wait();
  EXPECT_TRUE(Post(Note("1")));
  EXPECT_TRUE(Post(Note("2")));
  EXPECT_TRUE(Post(Note("last")));
  EXPECT_FALSE(Post(Note("4")));
  gate.set_value();
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("1", "2", "last"));
}

TEST_F(DiskWorkerTest, AStartWaitsForWhatItReads) {
  EXPECT_EQ(worker_->Await<std::string>([] { return std::string("read"); }), "read");
}

TEST_F(DiskWorkerTest, AStartDoesNotWaitForADiskThatHangs) {
  worker_ = std::make_unique<DiskWorker>(
      *loop_, DiskWorkerOptions{.start_patience = std::chrono::milliseconds(1),
                                .stop_limit = std::chrono::minutes(1)});
  std::promise<void> gate;
  Post([&]() -> DiskWorker::Done {
    gate.get_future().wait();
    return {};
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(worker_->Await<int>([] { return 1; }), std::nullopt);
  }
  gate.set_value();
  worker_.reset();  // the job looks at what is ours
}

TEST_F(DiskWorkerTest, DoesWhatWaitsBeforeItEndsAndTellsNobody) {
  bool is_done = false;
  Post([&is_done]() -> DiskWorker::Done {
    is_done = true;
    return [] { ADD_FAILURE(); };
  });
  worker_.reset();
  EXPECT_TRUE(is_done);
  loop_->Post([this] { loop_->Quit(); });
  loop_->Run();
}

TEST_F(DiskWorkerTest, AJobThatThrowsIsOneJobLostAndReported) {
  SetLogSink([](LogLevel, std::string_view) {});
  Post([]() -> DiskWorker::Done { throw std::runtime_error("x"); });
  Post(Note("last"));
  loop_->Run();
  SetLogSink({});
  EXPECT_THAT(noted_, ElementsAre("disk job ended early: x", "last"));
}

TEST_F(DiskWorkerTest, ADiskThatDoesNotAnswerIsReported) {
  worker_ = std::make_unique<DiskWorker>(*loop_,
                                         DiskWorkerOptions{.slow = std::chrono::milliseconds(0),
                                                           .stop_limit = std::chrono::minutes(1)});
  std::promise<void> gate;
  std::promise<void> begun;
  Post([&]() -> DiskWorker::Done {
    begun.set_value();
    gate.get_future().wait();
    return {};
  });
  begun.get_future().wait();
  EXPECT_THAT(worker_->problem(), ::testing::HasSubstr("the disk has not responded for 0 s"));
  gate.set_value();
  worker_.reset();  // the job looks at what is ours
}

}  // namespace
}  // namespace kgpu::sys
