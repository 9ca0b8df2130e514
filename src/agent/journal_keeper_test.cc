#include "src/agent/journal_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "src/gpu/health/test_happening.h"
#include "src/platform/base/log.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using health::EntryOf;
using health::HappeningKind;
using health::JournalEntry;
using health::TestGpu;
using health::TestXid;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class JournalKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([this](LogLevel, std::string_view line) { log_ += std::string(line) + "\n"; });
    auto loop = EpollLoop::Create();
    ASSERT_OK(loop);
    loop_ = *std::move(loop);
    options_.folder = dir_.At("state");
    options_.retry = milliseconds(1);
    disk_ = std::make_unique<DiskWorker>(*loop_,
                                         DiskWorkerOptions{.stop_limit = std::chrono::minutes(1)});
    Start();
  }
  void TearDown() override {
    keeper_.reset();
    disk_.reset();
    SetLogSink({});
  }
  void Start() {
    keeper_.reset();
    keeper_ = std::make_unique<JournalKeeper>(*loop_, *disk_, options_);
  }
  // All of it, once what is on its way is written.
  std::vector<JournalEntry> Read(const health::JournalFilter& filter = {}) {
    std::vector<JournalEntry> entries;
    keeper_->Read(
        filter,
        [&](const health::JournalText& text) {
          entries = text.entries;
          return DiskWorker::Done([this] { loop_->Quit(); });
        },
        [this](const Status& status) {
          ADD_FAILURE() << status;
          loop_->Quit();
        });
    loop_->Run();
    return entries;
  }
  // Lets the loop run until `problem` is, or is not, told.
  void RunUntilProblem(bool is_told) {
    while (keeper_->problem().empty() == is_told) {
      loop_->After(milliseconds(1), [this] { loop_->Quit(); });
      loop_->Run();
    }
  }
  std::string Bytes() const { return dir_.ReadFile("state/health.journal"); }

  TempDir dir_;
  std::string log_;
  JournalKeeperOptions options_;
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<DiskWorker> disk_;
  std::unique_ptr<JournalKeeper> keeper_;
};

TEST_F(JournalKeeperTest, WhatIsAddedIsThereAfterARestart) {
  keeper_->Add(EntryOf(TestXid(0)));
  keeper_->Add(EntryOf(TestXid(1)));
  Start();
  EXPECT_THAT(Read(), ElementsAre(EntryOf(TestXid(0)), EntryOf(TestXid(1))));
}

TEST_F(JournalKeeperTest, WhatIsOnItsWayIsReadToo) {
  for (int i = 0; i < 10; ++i) {
    keeper_->Add(EntryOf(TestXid(0, HappeningKind::kRaised, i)));
    EXPECT_THAT(Read(), SizeIs(i + 1));
  }
  EXPECT_THAT(Read({.since = {}, .gpu = TestGpu(1)}), IsEmpty());
}

TEST_F(JournalKeeperTest, EachBootIsNotedOnce) {
  options_.boot_id = "one";
  Start();
  Start();
  EXPECT_THAT(Read(), SizeIs(1));
  keeper_->Add(EntryOf(TestXid(0)));
  options_.boot_id = "two";
  Start();
  const std::vector<JournalEntry> entries = Read();
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries[0].boot_id, "one");
  EXPECT_TRUE(entries[0].is_first);
  EXPECT_FALSE(entries[2].is_first);
  EXPECT_EQ(entries[2].boot_id, "two");
}

TEST_F(JournalKeeperTest, ABootThatCouldNotBeLookedUpIsNotedOnceToo) {
  options_.boot_id = "one";
  Start();
  EXPECT_THAT(Read(), SizeIs(1));
  const std::string bytes = Bytes();
  std::filesystem::remove(dir_.At("state/health.journal"));
  dir_.MakeDir("state/health.journal");
  Start();
  RunUntilProblem(true);
  std::filesystem::remove(dir_.At("state/health.journal"));
  dir_.WriteFile("state/health.journal", bytes);
  RunUntilProblem(false);
  EXPECT_THAT(Read(), SizeIs(1));
}

TEST_F(JournalKeeperTest, WhatCouldNotBeWrittenIsReadAllTheSame) {
  Read();
  dir_.WriteFile("state", "in the way");
  options_.retry = std::chrono::hours(1);
  Start();
  std::promise<void> gate;
  const auto wait = [&]() -> DiskWorker::Done {
    gate.get_future().wait();
    return {};
  };
  ASSERT_TRUE(disk_->Post(wait, [](const Status&) {}));
  keeper_->Add(EntryOf(TestXid(0)));  // is on its way
  std::vector<JournalEntry> entries;
  keeper_->Read(
      {},
      [&](const health::JournalText& text) {
        entries = text.entries;
        return DiskWorker::Done([this] { loop_->Quit(); });
      },
      [this](const Status&) { loop_->Quit(); });
  gate.set_value();
  loop_->Run();
  EXPECT_THAT(entries, SizeIs(1));
}

TEST_F(JournalKeeperTest, ADiskThatHangsIsNotWaitedFor) {
  keeper_.reset();
  disk_ = std::make_unique<DiskWorker>(
      *loop_, DiskWorkerOptions{.slow = milliseconds(0), .stop_limit = std::chrono::minutes(1)});
  Start();
  std::promise<void> gate;
  std::promise<void> begun;
  const auto hang = [&]() -> DiskWorker::Done {
    begun.set_value();
    gate.get_future().wait();
    return {};
  };
  ASSERT_TRUE(disk_->Post(hang, [](const Status&) {}));
  begun.get_future().wait();
  Status told;
  keeper_->Read(
      {}, [](const health::JournalText&) { return DiskWorker::Done(); },
      [&](const Status& status) { told = status; });
  EXPECT_THAT(told, StatusIs(StatusCode::kUnavailable, HasSubstr("has not answered")));
  gate.set_value();
  keeper_.reset();
  disk_.reset();  // the job looks at what is ours
}

TEST_F(JournalKeeperTest, AReaderThatThrowsIsTold) {
  Status told;
  keeper_->Read(
      {}, [](const health::JournalText&) -> DiskWorker::Done { throw std::bad_alloc(); },
      [&](const Status& status) {
        told = status;
        loop_->Quit();
      });
  loop_->Run();
  EXPECT_THAT(told, StatusIs(StatusCode::kInternal));
}

TEST_F(JournalKeeperTest, AFolderThatCanNotBeWrittenIsToldOnceAndTriedAgain) {
  dir_.WriteFile("state", "in the way");
  keeper_->Add(EntryOf(TestXid(0)));
  RunUntilProblem(true);
  EXPECT_THAT(keeper_->problem(), HasSubstr(options_.folder));
  keeper_->Add(EntryOf(TestXid(1)));
  EXPECT_EQ(std::remove(dir_.At("state").c_str()), 0);
  RunUntilProblem(false);
  EXPECT_THAT(Read(), SizeIs(2));
  EXPECT_EQ(log_.find("is not kept"), log_.rfind("is not kept"));
}

TEST_F(JournalKeeperTest, WhatWaitsIsBoundedAndRepeatsGoFirst) {
  dir_.WriteFile("state", "in the way");
  options_.max_waiting = 3;
  options_.retry = std::chrono::hours(1);
  Start();
  keeper_->Add(EntryOf(TestXid(0)));
  RunUntilProblem(true);
  for (int i = 0; i < 10; ++i) {
    keeper_->Add(EntryOf(TestXid(1, HappeningKind::kSeen, i)));
  }
  keeper_->Add(EntryOf(TestXid(2)));
  EXPECT_EQ(std::remove(dir_.At("state").c_str()), 0);
  EXPECT_THAT(Read(), ElementsAre(EntryOf(TestXid(0)), EntryOf(TestXid(1, HappeningKind::kSeen, 9)),
                                  EntryOf(TestXid(2))));
}

}  // namespace
}  // namespace kgpu::agent
