#include "src/functions/queue/disk_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "src/functions/queue/test_queue_run.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DiskStorage final : public QueueStorage {
 public:
  QueueMaker Maker(EventLoop& loop, const CallLimits& limits, const IndexLimits& index) override {
    return DiskQueueMaker(
        loop, {.folder = dir.At("queue"), .table = table, .index = index, .limits = limits});
  }

  TempDir dir;
  TableLimits table;
};

TEST(DiskQueueTest, AFullDiskRefusesAndEverythingElseGoesOn) {
  DiskStorage storage;
  QueueRun run(storage);
  storage.table.file_bytes = size_t{512} << 10;
  run.Start();
  CallRecord large = HelloCall("large");
  large.body = std::string(size_t{2} << 20, 'x');
  StatusOr<std::string> large_accepted = Internal("no end");
  StatusOr<std::string> small_accepted = Internal("no end");
  int ends = 0;
  // Of one transaction: the small one must not fail with the large one.
  run.queue->Put(large, [&](const StatusOr<std::string>& id) {
    large_accepted = id;
    ++ends;
  });
  run.queue->Put(HelloCall("small"), [&](const StatusOr<std::string>& id) {
    small_accepted = id;
    ++ends;
  });
  ASSERT_TRUE(run.Until([&] { return ends == 2; }));
  EXPECT_EQ(large_accepted.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(large_accepted.status()), HasSubstr("the call was not queued"));
  EXPECT_THAT(Message(large_accepted.status()), HasSubstr("full"));
  EXPECT_OK(small_accepted);
  EXPECT_TRUE(run.Until([&] { return run.attempts.size() == 1; }));
  EXPECT_THAT(run.AttemptIds(), ElementsAre("small"));
}

TEST(DiskQueueTest, AFolderThatCannotBeMadeRefusesUntilItCan) {
  DiskStorage storage;
  QueueRun run(storage);
  storage.dir.WriteFile("queue", "a file in the way");
  run.Start();
  EXPECT_FALSE(run.Put(HelloCall("a")).ok());
  EXPECT_THAT(run.attempts, IsEmpty());
  ASSERT_EQ(std::remove(storage.dir.At("queue").c_str()), 0);
  EXPECT_OK(run.Put(HelloCall("b")));
  EXPECT_TRUE(run.Until([&] { return run.attempts.size() == 1; }));
}

TEST(DiskQueueTest, CallsOfADeletedFunctionGoOnceTheDiskWorksAgain) {
  DiskStorage storage;
  QueueRun run(storage);
  run.answer = [](const CallRecord&) { return CallOutcome{.code = kHeldAttempt}; };
  run.Start();
  EXPECT_OK(run.Put(HelloCall("old")));
  ASSERT_TRUE(run.Until([&] { return run.held.size() == 1; }));
  run.queue.reset();
  const std::string aside = storage.dir.At("aside");
  ASSERT_EQ(std::rename(storage.dir.At("queue").c_str(), aside.c_str()), 0);
  storage.dir.WriteFile("queue", "a file in the way");
  run.Start();
  run.queue->RemoveFunction("hello");
  EXPECT_FALSE(run.Put(HelloCall("refused")).ok());
  ASSERT_EQ(std::remove(storage.dir.At("queue").c_str()), 0);
  ASSERT_EQ(std::rename(aside.c_str(), storage.dir.At("queue").c_str()), 0);
  run.loop.Advance(std::chrono::milliseconds(10));
  // Of a new function of the same name.
  EXPECT_OK(run.Put(HelloCall("new")));
  EXPECT_TRUE(run.Until([&] { return run.States() == "new:running"; })) << run.States();
}

}  // namespace
}  // namespace kgpu::functions
