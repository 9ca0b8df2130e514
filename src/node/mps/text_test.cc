#include "src/node/mps/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::mps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(MpsTextTest, ReadsThreadsAndServers) {
  const auto state = ParseControlState("25.0\n4711\n4712\n");
  ASSERT_OK(state);
  EXPECT_DOUBLE_EQ(state->threads, 25);
  EXPECT_THAT(state->servers, ElementsAre(4711, 4712));
  const auto idle = ParseControlState("12.5\n");
  ASSERT_OK(idle);
  EXPECT_DOUBLE_EQ(idle->threads, 12.5);
  EXPECT_THAT(idle->servers, IsEmpty());
}

TEST(MpsTextTest, AnswersOfEarlierCommandsDoNotCount) {
  const auto state = ParseControlState("100.0\n7\nInvalid limit\n25.0\n9\n");
  ASSERT_OK(state);
  EXPECT_DOUBLE_EQ(state->threads, 25);
  EXPECT_THAT(state->servers, ElementsAre(9));
}

TEST(MpsTextTest, TrustsNothing) {
  for (const char* text : {"", "4711\n", "Cannot find MPS control daemon process\n", "101.0\n",
                           "-1.0\n", "1.\n", "1.0000000000\n"}) {
    EXPECT_THAT(ParseControlState(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
  std::string many = "1.0\n";
  for (int i = 1; i < 100; ++i) {
    many += fmt::format("{}\n", i);
  }
  EXPECT_THAT(ParseControlState(many)->servers, SizeIs(kMostServers));
  EXPECT_THAT(ParseControlState("1.0\n0\n99999999999\n-4\n")->servers, IsEmpty());
}

TEST(MpsTextTest, AFaultIsALineOfItsOwn) {
  EXPECT_TRUE(IsFaulted("ACTIVE\nFAULT\n"));
  EXPECT_FALSE(IsFaulted("ACTIVE\nINITIALIZING\n"));
  EXPECT_FALSE(IsFaulted("no FAULT here\n"));
}

TEST(MpsTextTest, SettingsAreCommands) {
  EXPECT_EQ(SettingCommands({.threads = 25, .memory = GibiBytes(20)}),
            "set_default_active_thread_percentage 25\n"
            "set_default_device_pinned_mem_limit 0 20480M\n");
  EXPECT_EQ(SettingCommands({.threads = 50}), "set_default_active_thread_percentage 50\n");
}

TEST(MpsTextTest, ARecordIsReadBack) {
  const Record record{
      .pid = 4711,
      .start_time = 8812,
      .settings = {.threads = 25, .memory = GibiBytes(20), .serves_all_users = true}};
  const auto again = ParseRecord(RecordText(record));
  ASSERT_OK(again);
  EXPECT_EQ(*again, record);
}

TEST(MpsTextTest, ARecordWithoutAPartIsNone) {
  const std::string good = RecordText({.pid = 1, .start_time = 2, .settings = {.threads = 3}});
  for (const char* key : {"version", "pid", "start", "threads", "memoryMiB", "allUsers"}) {
    std::string bad = good;
    bad.replace(bad.find(key), 1, "X");
    EXPECT_THAT(ParseRecord(bad), StatusIs(StatusCode::kInvalidArgument, HasSubstr(key)));
  }
  EXPECT_THAT(ParseRecord("version 1\npid 0\nstart 1\nthreads 1\nmemoryMiB 1\nallUsers 0\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must not be 0")));
  EXPECT_THAT(ParseRecord("version 1\npid x\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("pid: \"x\" must be a number")));
}

}  // namespace
}  // namespace kgpu::mps
