#include "src/setup/bringup/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::bringup {
namespace {

using ::testing::HasSubstr;

TEST(RecordTest, ComesBackAsItWasWritten) {
  const Record record{{"driver", "agent"},
                      {{"/usr/local/bin/kgpu", {"0123-9", "4567-8"}}},
                      true,
                      {{"driver", {"1700000000"}}}};
  EXPECT_THAT(ParseRecord(PrintRecord(record), "f"), IsOkAndHolds(record));
}

TEST(RecordTest, WhatIsBrokenNamesFileAndField) {
  EXPECT_THAT(ParseRecord(R"({"format": 1, "stages": 3, "files": {}})", "node/record.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("node/record.json.stages")));
  EXPECT_THAT(ParseRecord(R"({"format": 2})", "f"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("another version")));
}

TEST(RecordTest, OneOfBeforeThereWereSomeFieldsIsRead) {
  EXPECT_THAT(ParseRecord(R"({"format": 1, "stages": ["driver"], "files": {}})", "f"),
              IsOkAndHolds(Record{{"driver"}}));
  EXPECT_THAT(ParseRecord(R"({"format": 1, "stages": [], "files": {}, "othersAgent": "yes"})", "f"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("f.othersAgent")));
  EXPECT_THAT(ParseRecord(R"({"format": 1, "stages": [], "files": {}, "own": {"driver": 3}})", "f"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("f.own.driver")));
}

TEST(RecordTest, AnEmptyOneIsNoFile) {
  const TempDir dir;
  const sys::Root host = sys::Root::Open(dir.path()).value();
  change::HostDisk disk(host);
  ASSERT_OK(LockRecord(host, disk).status());
  ASSERT_OK(WriteRecord(disk, {{"driver"}, {}}));
  EXPECT_THAT(ReadRecord(host), IsOkAndHolds(Record{{"driver"}, {}}));
  ASSERT_OK(WriteRecord(disk, {}));
  EXPECT_FALSE(host.Exists(kRecordFile));
  EXPECT_THAT(ReadRecord(host), IsOkAndHolds(Record{}));
}

TEST(RecordTest, OnlyOneAtATimeHoldsTheLock) {
  const TempDir dir;
  const sys::Root host = sys::Root::Open(dir.path()).value();
  change::HostDisk disk(host);
  const auto first = LockRecord(host, disk);
  ASSERT_OK(first.status());
  EXPECT_THAT(LockRecord(host, disk), StatusIs(StatusCode::kUnavailable));
}

}  // namespace
}  // namespace kgpu::bringup
