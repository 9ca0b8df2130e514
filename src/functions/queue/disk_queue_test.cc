#include "src/functions/queue/disk_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
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
  std::optional<StatusOr<std::string>> large_accepted;
  std::optional<StatusOr<std::string>> small_accepted;
  // Of one transaction: the small one must not fail with the large one.
  run.queue->Put(large, [&](const StatusOr<std::string>& id) { large_accepted = id; });
  run.queue->Put(HelloCall("small"), [&](const StatusOr<std::string>& id) { small_accepted = id; });
  ASSERT_TRUE(run.Until([&] { return large_accepted && small_accepted; }));
  EXPECT_EQ(large_accepted->status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(large_accepted->status()), HasSubstr("the call was not queued"));
  EXPECT_THAT(Message(large_accepted->status()), HasSubstr("full"));
  EXPECT_OK(*small_accepted);
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
  std::remove(storage.dir.At("queue").c_str());
  EXPECT_OK(run.Put(HelloCall("b")));
  EXPECT_TRUE(run.Until([&] { return run.attempts.size() == 1; }));
}

}  // namespace
}  // namespace kgpu::functions
