#include "src/functions/queue/call_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WallTime kWall{std::chrono::hours(1'000)};

CallRecord ACall(const std::string& id, const std::string& function = "hello") {
  CallRecord call{.call_id = id, .function = function, .method = "POST", .target = "/a?b"};
  call.headers = {{"Accept", "x"}, {"Accept", "y"}};
  call.body = std::string("in\0put", 6);
  call.bytes = 20;
  call.arrived = kWall;
  call.retries = 3;
  call.retries_left = 2;
  call.not_before = kWall + std::chrono::seconds(1);
  call.callback = "http://a";
  return call;
}

CallTable OpenOrDie(const std::string& folder, const TableLimits& limits = {}) {
  StatusOr<CallTable::Opened> opened = CallTable::Open(folder, limits);
  EXPECT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->note, "");
  return std::move(opened->table);
}

TEST(CallTableTest, KeepsWholeCalls) {
  const TempDir dir;
  int64_t number = 0;
  {
    CallTable table = OpenOrDie(dir.At("queue"));
    const auto stored = table.Put(ACall("one"));
    ASSERT_OK(stored);
    number = stored->number;
  }
  StatusOr<CallTable::Opened> opened = CallTable::Open(dir.At("queue"), {});
  ASSERT_OK(opened);
  ASSERT_THAT(opened->calls, SizeIs(1));
  EXPECT_EQ(opened->calls[0].number, number);
  EXPECT_EQ(opened->calls[0].bytes, 20U);
  const StatusOr<CallRecord> call = opened->table.Read(number);
  ASSERT_OK(call);
  const CallRecord wanted = ACall("one");
  EXPECT_EQ(call->call_id, wanted.call_id);
  EXPECT_EQ(call->target, wanted.target);
  EXPECT_EQ(call->headers, wanted.headers);
  EXPECT_EQ(call->body, wanted.body);
  EXPECT_EQ(call->arrived, wanted.arrived);
  EXPECT_EQ(call->not_before, wanted.not_before);
  EXPECT_EQ(call->retries, 3);
  EXPECT_EQ(call->retries_left, 2);
  EXPECT_EQ(call->callback, "http://a");
  EXPECT_FALSE(call->is_dead);
}

TEST(CallTableTest, NobodyElseMayReadIt) {
  const TempDir dir;
  OpenOrDie(dir.At("queue"));
  EXPECT_EQ(fs::status(dir.At("queue")).permissions(), fs::perms::owner_all);
}

TEST(CallTableTest, UpdatesAndRemoves) {
  const TempDir dir;
  CallTable table = OpenOrDie(dir.path());
  CallRecord call = ACall("one");
  call.number = table.Put(call)->number;
  call.attempts = 7;
  call.retries_left = 0;
  call.is_dead = true;
  call.code = 503;
  call.problem = "no GPU";
  ASSERT_OK(table.Update(call));
  const auto read = table.Read(call.number);
  ASSERT_OK(read);
  EXPECT_EQ(read->attempts, 7);
  EXPECT_TRUE(read->is_dead);
  EXPECT_EQ(read->code, 503);
  EXPECT_EQ(read->problem, "no GPU");
  ASSERT_OK(table.Remove(call.number));
  EXPECT_EQ(table.Read(call.number).status().code(), StatusCode::kNotFound);
  EXPECT_GT(table.Put(call)->number, call.number) << "numbers are never used again";
}

TEST(CallTableTest, ARolledBackTransactionLeavesNothing) {
  const TempDir dir;
  CallTable table = OpenOrDie(dir.path());
  ASSERT_OK(table.Begin());
  const auto stored = table.Put(ACall("one"));
  ASSERT_OK(stored);
  table.Rollback();
  EXPECT_EQ(table.Read(stored->number).status().code(), StatusCode::kNotFound);
}

TEST(CallTableTest, TheSameKeyIsTheSameCallForADay) {
  const TempDir dir;
  CallTable table = OpenOrDie(dir.path());
  CallRecord call = ACall("first");
  call.idempotency_key = "k";
  const auto first = table.Put(call);
  ASSERT_OK(first);
  ASSERT_OK(table.Remove(first->number));  // it has ended
  call.call_id = "second";
  call.arrived = kWall + std::chrono::hours(23);
  auto stored = table.Put(call);
  ASSERT_OK(stored);
  EXPECT_EQ(stored->number, 0);
  EXPECT_EQ(stored->call_id, "first");
  call.function = "other";
  EXPECT_NE(table.Put(call)->number, 0) << "keys belong to a function";
  call.function = "hello";
  call.arrived = kWall + std::chrono::hours(24);
  stored = table.Put(call);
  ASSERT_OK(stored);
  EXPECT_NE(stored->number, 0);
  EXPECT_EQ(stored->call_id, "second");
}

TEST(CallTableTest, OldKeysGoAndTooManyToo) {
  const TempDir dir;
  CallTable table = OpenOrDie(dir.path(), {.keys = 2});
  const auto put = [&](const std::string& key, std::chrono::hours after) {
    CallRecord call = ACall(key);
    call.idempotency_key = key;
    call.arrived = kWall + after;
    return table.Put(call)->number != 0;
  };
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_TRUE(put(key, std::chrono::hours(key[0] - 'a')));
  }
  ASSERT_OK(table.CleanUp(kWall + std::chrono::hours(3)));
  EXPECT_FALSE(put("b", std::chrono::hours(3)));
  EXPECT_FALSE(put("c", std::chrono::hours(3)));
  EXPECT_TRUE(put("a", std::chrono::hours(3))) << "the oldest of three";
}

TEST(CallTableTest, ADeletedFunctionLeavesNothing) {
  const TempDir dir;
  CallTable table = OpenOrDie(dir.path());
  CallRecord call = ACall("one");
  call.idempotency_key = "k";
  ASSERT_OK(table.Put(call));
  ASSERT_OK(table.Put(ACall("two", "other")));
  ASSERT_OK(table.RemoveFunction("hello"));
  std::vector<std::string> left;
  ASSERT_OK(table.Visit({}, {}, [&](const CallRecord& found, CallState) {
    left.push_back(found.call_id);
    return true;
  }));
  EXPECT_EQ(left, std::vector<std::string>{"two"});
  EXPECT_NE(table.Put(call)->number, 0) << "nor its keys";
}

TEST(CallTableTest, SelectsByFunctionIdAndState) {
  const TempDir dir;
  CallTable table = OpenOrDie(dir.path());
  const int64_t running = table.Put(ACall("r"))->number;
  ASSERT_OK(table.Put(ACall("w")));
  CallRecord dead = ACall("d");
  dead.is_dead = true;
  ASSERT_OK(table.Put(dead));
  ASSERT_OK(table.Put(ACall("o", "other")));
  const auto selected = [&](const CallSelection& selection) {
    std::string ids;
    EXPECT_OK(table.Visit(selection, {running}, [&](const CallRecord& call, CallState) {
      ids += call.call_id;
      return true;
    }));
    return ids;
  };
  EXPECT_EQ(selected({}), "rwdo");
  EXPECT_EQ(selected({.function = "hello"}), "rwd");
  EXPECT_EQ(selected({.state = CallState::kWaiting}), "wo");
  EXPECT_EQ(selected({.state = CallState::kRunning}), "r");
  EXPECT_EQ(selected({.state = CallState::kDead}), "d");
  EXPECT_EQ(selected({.ids = {"w", "d", "none"}}), "wd");
}

TEST(CallTableTest, ADamagedFileIsKeptAsideAndNamed) {
  const TempDir dir;
  dir.WriteFile("calls.db", std::string(10'000, 'x'));
  StatusOr<CallTable::Opened> opened = CallTable::Open(dir.path(), {});
  ASSERT_OK(opened);
  EXPECT_THAT(opened->note, HasSubstr(dir.At("calls.db") + ": file is not a database"));
  EXPECT_THAT(opened->note, HasSubstr(dir.At("calls.db.bad")));
  EXPECT_THAT(opened->calls, IsEmpty());
  EXPECT_EQ(dir.ReadFile("calls.db.bad"), std::string(10'000, 'x'));
  EXPECT_OK(opened->table.Put(ACall("one")));
}

TEST(CallTableTest, TooManyDamagedFilesAreNotOverwritten) {
  const TempDir dir;
  for (int i = 0; i < 10; ++i) {
    dir.WriteFile("calls.db", "this is no database, and longer than its header: " +
                                  std::string(100, 'x') + std::to_string(i));
    ASSERT_OK(CallTable::Open(dir.path(), {}));
  }
  EXPECT_THAT(dir.ReadFile("calls.db.bad"), HasSubstr("x0"));
  EXPECT_THAT(dir.ReadFile("calls.db.bad.9"), HasSubstr("x9"));
  dir.WriteFile("calls.db", std::string(1'000, 'y'));
  const auto opened = CallTable::Open(dir.path(), {});
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(opened.status()), HasSubstr("move them away"));
  EXPECT_EQ(dir.ReadFile("calls.db"), std::string(1'000, 'y'));
}

TEST(CallTableTest, AnotherProgramsDatabaseIsKeptAside) {
  const TempDir dir;
  {
    StatusOr<Database> database = Database::Open(dir.At("calls.db"));
    ASSERT_OK(database);
    ASSERT_OK(database->Run("CREATE TABLE theirs(x)"));
  }
  StatusOr<CallTable::Opened> opened = CallTable::Open(dir.path(), {});
  ASSERT_OK(opened);
  EXPECT_THAT(opened->note, HasSubstr("is the database of another program"));
  StatusOr<Database> kept = Database::Open(dir.At("calls.db.bad"));
  ASSERT_OK(kept);
  EXPECT_OK(kept->Number("SELECT count(*) FROM theirs"));
}

TEST(CallTableTest, AFileOfANewerVersionStaysWhereItIs) {
  const TempDir dir;
  OpenOrDie(dir.path());
  ASSERT_OK(Database::Open(dir.At("calls.db"))->Run("PRAGMA user_version=99"));
  const auto opened = CallTable::Open(dir.path(), {});
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(opened.status()), HasSubstr("has version 99"));
  EXPECT_FALSE(fs::exists(dir.At("calls.db.bad")));
}

TEST(CallTableTest, AFullDiskIsSaidAndHurtsNothingElse) {
  const TempDir dir;
  CallTable table = OpenOrDie(dir.path(), {.file_bytes = size_t{256} << 10});
  const int64_t small = table.Put(ACall("small"))->number;
  CallRecord large = ACall("large");
  large.body = std::string(size_t{1} << 20, 'x');
  EXPECT_EQ(table.Put(large).status().code(), StatusCode::kResourceExhausted);
  EXPECT_OK(table.Read(small));
  EXPECT_OK(table.Put(ACall("another")));
  EXPECT_OK(table.Remove(small));
}

}  // namespace
}  // namespace kgpu::functions
