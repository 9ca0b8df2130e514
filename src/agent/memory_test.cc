#include "src/agent/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/agent/test_state.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::SizeIs;

const MemoryKey kKey{.boot_id = "b0", .config = "pools: []"};

std::string TestText() {
  return PrintMemory(kKey, TestState().assignment, {{"shapes", "of a part"}});
}

TEST(MemoryTest, RemembersListsAndWhatThePartsHaveSaved) {
  const auto state = ParseMemory(TestText(), kKey);
  ASSERT_OK(state.status());
  EXPECT_EQ(state->assignment.resources, TestState().assignment.resources);
  EXPECT_THAT(state->outdated, SizeIs(0));
  EXPECT_EQ(state->fields.at("shapes").as_string(), "of a part");
}

TEST(MemoryTest, RemembersLocalPoolsApart) {
  pools::Assignment assignment = TestState().assignment;
  assignment.local.swap(assignment.resources);
  const auto state = ParseMemory(PrintMemory(kKey, assignment, {}), kKey);
  ASSERT_OK(state.status());
  EXPECT_THAT(state->assignment.resources, SizeIs(0));
  EXPECT_EQ(state->assignment.local, assignment.local);
}

TEST(MemoryTest, IsOfOneBoot) {
  EXPECT_THAT(ParseMemory(TestText(), {"b1", kKey.config}),
              StatusIs(StatusCode::kFailedPrecondition));
}

TEST(MemoryTest, ResourcesOfAnotherConfigurationAreOutdated) {
  pools::Assignment assignment = TestState().assignment;
  assignment.local = assignment.resources;
  const auto state =
      ParseMemory(PrintMemory(kKey, assignment, {{"faults", 1}}), {kKey.boot_id, "other"});
  ASSERT_OK(state.status());
  EXPECT_EQ(state->assignment, pools::Assignment());
  EXPECT_EQ(state->outdated, TestState().assignment.resources);
  EXPECT_TRUE(state->fields.contains("faults"));
}

TEST(MemoryTest, NeedsABootId) {
  const MemoryKey none{.boot_id = "", .config = "c"};
  EXPECT_THAT(ParseMemory(PrintMemory(none, {}, {}), none),
              StatusIs(StatusCode::kFailedPrecondition));
}

TEST(MemoryTest, RefusesWhatItDidNotWrite) {
  for (const char* text : {"", "{", "[]", "{\"version\":1}", "{\"version\":\"2\"}"}) {
    EXPECT_THAT(ParseMemory(text, kKey), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(MemoryTest, ReadsTheBootId) {
  const TempDir dir;
  dir.WriteFile("boot_id", "1234\n");
  EXPECT_EQ(ReadBootId(dir.At("boot_id")), "1234");
  EXPECT_EQ(ReadBootId(dir.At("none")), "");
}

}  // namespace
}  // namespace kgpu::agent
