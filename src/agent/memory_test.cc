#include "src/agent/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/agent/test_state.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::SizeIs;

const MemoryKey kKey{.boot_id = "b0", .config = "pools: []"};

std::vector<health::OpenFault> TestFaults() {
  const device::GpuUuid gpu = TestState().snapshot->gpus[1].uuid;
  return {{.scope = {gpu, 2, 1},
           .rule = "Xid94",
           .is_held = true,
           .message = "Contained.",
           .detail = "SM 3",
           .first = WallTime(std::chrono::milliseconds(1'700'000'000'123)),
           .last = WallTime(std::chrono::milliseconds(1'700'000'100'456)),
           .count = 7},
          {.scope = {.gpu = gpu}, .rule = "ThermalSlowdown", .is_unhealthy = false}};
}

std::string TestText() {
  return PrintMemory(kKey, TestState().assignment,
                     {.open = TestFaults(), .kernel_log_position = 4711});
}

TEST(MemoryTest, RemembersListsAndFaults) {
  const auto remembered = ParseMemory(TestText(), kKey);
  ASSERT_OK(remembered.status());
  EXPECT_EQ(remembered->assignment.resources, TestState().assignment.resources);
  ASSERT_THAT(remembered->faults, SizeIs(1));  // a warning comes back by itself
  EXPECT_EQ(remembered->faults[0], TestFaults()[0]);
  EXPECT_EQ(remembered->kernel_log_position, 4711U);
}

TEST(MemoryTest, RemembersLocalPoolsApart) {
  pools::Assignment assignment = TestState().assignment;
  assignment.local.swap(assignment.resources);
  const auto remembered = ParseMemory(PrintMemory(kKey, assignment, {}), kKey);
  ASSERT_OK(remembered.status());
  EXPECT_THAT(remembered->assignment.resources, SizeIs(0));
  EXPECT_EQ(remembered->assignment.local, assignment.local);
}

TEST(MemoryTest, RemembersLimitsOfSlots) {
  pools::Assignment assignment = TestState().assignment;
  pools::Slot& slot = assignment.resources.at(0).slots.at(0);
  slot.memory = GibiBytes(20);
  slot.threads = 25;
  const auto remembered = ParseMemory(PrintMemory(kKey, assignment, {}), kKey);
  ASSERT_OK(remembered.status());
  EXPECT_EQ(remembered->assignment.resources, assignment.resources);
}

TEST(MemoryTest, MayNotKnowWhereTheKernelsLogIs) {
  const auto remembered = ParseMemory(PrintMemory(kKey, {}, {}), kKey);
  ASSERT_OK(remembered.status());
  EXPECT_EQ(remembered->kernel_log_position, std::nullopt);
}

TEST(MemoryTest, IsOfOneBoot) {
  EXPECT_THAT(ParseMemory(TestText(), {"b1", kKey.config}),
              StatusIs(StatusCode::kFailedPrecondition));
}

TEST(MemoryTest, OfAnotherConfigurationSlotsAreHeldOnes) {
  const auto remembered = ParseMemory(TestText(), {kKey.boot_id, "other"});
  ASSERT_OK(remembered.status());
  EXPECT_THAT(remembered->assignment.resources, SizeIs(0));
  EXPECT_EQ(remembered->held, TestState().assignment.resources);
  EXPECT_THAT(remembered->faults, SizeIs(1));
}

TEST(MemoryTest, RemembersHeldSlotsAndWhatIsDoneAboutThem) {
  std::vector<pools::Resource> held = TestState().assignment.resources;
  for (const auto on_excess :
       {config::OnExcess::kEvent, config::OnExcess::kEvict, config::OnExcess::kKill}) {
    held.at(0).share.on_excess = on_excess;
    held.at(0).share.multiple = config::MultipleSlots::kRefuse;
    const auto remembered = ParseMemory(PrintMemory(kKey, {}, {}, {}, held), kKey);
    ASSERT_OK(remembered.status());
    EXPECT_EQ(remembered->held, held);
    EXPECT_THAT(remembered->assignment.resources, SizeIs(0));
  }
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

TEST(MemoryTest, TrustsNoDeviceThatIsNotSaidToBeHealthy) {
  const auto remembered = ParseMemory(
      R"({"version":2,"bootId":"b0","config":"pools: []","resources":[{"resource":"r","slots":[
          {"id":"a","gpu":"GPU-00000000-0000-0000-0000-000000000000"},
          {"id":"b","gpu":"GPU-00000000-0000-0000-0000-000000000000","healthy":1},
          {"id":"c","healthy":true},7]}]})",
      kKey);
  ASSERT_OK(remembered.status());
  ASSERT_THAT(remembered->assignment.resources, SizeIs(1));
  ASSERT_THAT(remembered->assignment.resources[0].slots, SizeIs(2));
  for (const pools::Slot& slot : remembered->assignment.resources[0].slots) {
    EXPECT_FALSE(slot.health.is_healthy);
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
