#include "src/node/faults/journal_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "src/gpu/health/test_health_event.h"
#include "src/platform/base/log.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::faults {
namespace {

using health::EntryOf;
using health::HealthEventKind;
using health::JournalEntry;
using health::TestGpu;
using health::TestXid;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class JournalWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([this](LogLevel, std::string_view line) { log_ += std::string(line) + "\n"; });
    auto loop = EpollLoop::Create();
    ASSERT_OK(loop);
    loop_ = *std::move(loop);
    options_.folder = dir_.At("state");
    options_.retry = milliseconds(1);
    disk_ = std::make_unique<sys::DiskWorker>(
        *loop_, sys::DiskWorkerOptions{.stop_limit = std::chrono::minutes(1)});
    Start();
  }
  void TearDown() override {
    writer_.reset();
    disk_.reset();
    SetLogSink({});
  }
  void Start() {
    writer_.reset();
    writer_ = std::make_unique<JournalWriter>(*loop_, *disk_, options_);
  }
  // All of it, once what is on its way is written.
  std::vector<JournalEntry> Read(const health::JournalFilter& filter = {}) {
    std::vector<JournalEntry> entries;
    writer_->Read(
        filter,
        [&](const health::JournalText& text) {
          entries = text.entries;
          return sys::DiskWorker::Done([this] { loop_->Quit(); });
        },
        [this](const Status& status) {
          ADD_FAILURE() << status;
          loop_->Quit();
        });
    loop_->Run();
    return entries;
  }
  // Lets the loop run until `problem` is, or is not, reported.
  void RunUntilProblem(bool is_reported) {
    while (writer_->problem().empty() == is_reported) {
      loop_->After(milliseconds(1), [this] { loop_->Quit(); });
      loop_->Run();
    }
  }
  std::string Bytes() const { return dir_.ReadFile("state/health.journal"); }

  TempDir dir_;
  std::string log_;
  JournalWriterOptions options_;
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<sys::DiskWorker> disk_;
  std::unique_ptr<JournalWriter> writer_;
};

TEST_F(JournalWriterTest, WhatIsAddedIsThereAfterARestart) {
  writer_->Add(EntryOf(TestXid(0)));
  writer_->Add(EntryOf(TestXid(1)));
  Start();
  EXPECT_THAT(Read(), ElementsAre(EntryOf(TestXid(0)), EntryOf(TestXid(1))));
}

TEST_F(JournalWriterTest, WhatIsOnItsWayIsReadToo) {
  for (int i = 0; i < 10; ++i) {
    writer_->Add(EntryOf(TestXid(0, HealthEventKind::kRaised, i)));
    EXPECT_THAT(Read(), SizeIs(i + 1));
  }
  EXPECT_THAT(Read({.since = {}, .gpu = TestGpu(1)}), IsEmpty());
}

TEST_F(JournalWriterTest, EachBootIsNotedOnce) {
  options_.boot_id = "one";
  Start();
  Start();
  EXPECT_THAT(Read(), SizeIs(1));
  writer_->Add(EntryOf(TestXid(0)));
  options_.boot_id = "two";
  Start();
  const std::vector<JournalEntry> entries = Read();
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries[0].boot_id, "one");
  EXPECT_TRUE(entries[0].is_first);
  EXPECT_FALSE(entries[2].is_first);
  EXPECT_EQ(entries[2].boot_id, "two");
}

TEST_F(JournalWriterTest, ABootThatCouldNotBeLookedUpIsNotedOnceToo) {
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

TEST_F(JournalWriterTest, WhatCouldNotBeWrittenIsReadAllTheSame) {
  Read();
  dir_.WriteFile("state", "in the way");
  options_.retry = std::chrono::hours(1);
  Start();
  std::promise<void> gate;
  const auto wait = [&]() -> sys::DiskWorker::Done {
    gate.get_future().wait();
    return {};
  };
  ASSERT_TRUE(disk_->Post(wait, [](const Status&) {}));
  writer_->Add(EntryOf(TestXid(0)));  // is on its way
  std::vector<JournalEntry> entries;
  writer_->Read(
      {},
      [&](const health::JournalText& text) {
        entries = text.entries;
        return sys::DiskWorker::Done([this] { loop_->Quit(); });
      },
      [this](const Status&) { loop_->Quit(); });
  gate.set_value();
  loop_->Run();
  EXPECT_THAT(entries, SizeIs(1));
}

TEST_F(JournalWriterTest, ADiskThatHangsIsNotWaitedFor) {
  writer_.reset();
  disk_ = std::make_unique<sys::DiskWorker>(
      *loop_,
      sys::DiskWorkerOptions{.slow = milliseconds(0), .stop_limit = std::chrono::minutes(1)});
  Start();
  std::promise<void> gate;
  std::promise<void> begun;
  const auto hang = [&]() -> sys::DiskWorker::Done {
    begun.set_value();
    gate.get_future().wait();
    return {};
  };
  ASSERT_TRUE(disk_->Post(hang, [](const Status&) {}));
  begun.get_future().wait();
  Status reported;
  writer_->Read(
      {}, [](const health::JournalText&) { return sys::DiskWorker::Done(); },
      [&](const Status& status) { reported = status; });
  EXPECT_THAT(reported, StatusIs(StatusCode::kUnavailable, HasSubstr("has not responded")));
  gate.set_value();
  writer_.reset();
  disk_.reset();  // the job looks at what is ours
}

TEST_F(JournalWriterTest, AReaderThatThrowsIsReported) {
  Status reported;
  writer_->Read(
      {}, [](const health::JournalText&) -> sys::DiskWorker::Done { throw std::bad_alloc(); },
      [&](const Status& status) {
        reported = status;
        loop_->Quit();
      });
  loop_->Run();
  EXPECT_THAT(reported, StatusIs(StatusCode::kInternal));
}

TEST_F(JournalWriterTest, AFolderThatCannotBeWrittenIsReportedOnceAndTriedAgain) {
  dir_.WriteFile("state", "in the way");
  writer_->Add(EntryOf(TestXid(0)));
  RunUntilProblem(true);
  EXPECT_THAT(writer_->problem(), HasSubstr(options_.folder));
  writer_->Add(EntryOf(TestXid(1)));
  EXPECT_EQ(std::remove(dir_.At("state").c_str()), 0);
  RunUntilProblem(false);
  EXPECT_THAT(Read(), SizeIs(2));
  EXPECT_EQ(log_.find("events not saved"), log_.rfind("events not saved"));
}

TEST_F(JournalWriterTest, WhatWaitsIsBoundedAndRepeatsGoFirst) {
  dir_.WriteFile("state", "in the way");
  options_.max_waiting = 3;
  options_.retry = std::chrono::hours(1);
  Start();
  writer_->Add(EntryOf(TestXid(0)));
  RunUntilProblem(true);
  for (int i = 0; i < 10; ++i) {
    writer_->Add(EntryOf(TestXid(1, HealthEventKind::kSeen, i)));
  }
  writer_->Add(EntryOf(TestXid(2)));
  EXPECT_EQ(std::remove(dir_.At("state").c_str()), 0);
  EXPECT_THAT(Read(),
              ElementsAre(EntryOf(TestXid(0)), EntryOf(TestXid(1, HealthEventKind::kSeen, 9)),
                          EntryOf(TestXid(2))));
}

}  // namespace
}  // namespace kgpu::faults
