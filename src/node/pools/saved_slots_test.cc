#include "src/node/pools/saved_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/pools/test_node.h"

namespace kgpu::pools {
namespace {

using ::testing::SizeIs;

std::vector<Resource> TestResources() {
  return AssignDevices(TestNode(2), TestConfig("pools:\n- devices: all\n")).resources;
}

std::vector<Resource> AfterARestart(const std::vector<Resource>& resources) {
  const boost::json::object state{{"r", ResourcesJson(resources)}};
  return ReadResources(doc::SavedFields(state), "r");
}

TEST(SavedSlotsTest, KeepSlotsWithHealthAndLimits) {
  std::vector<Resource> resources = TestResources();
  ASSERT_THAT(resources, SizeIs(1));
  Slot& slot = resources[0].slots.at(0);
  slot.memory = GibiBytes(20);
  slot.threads = 25;
  slot.compute = 50;
  resources[0].slots.at(1).health = {false, "Xid79", "The GPU has fallen off the bus: reset it."};
  resources[0].share = {};
  EXPECT_EQ(AfterARestart(resources), resources);
}

TEST(SavedSlotsTest, KeepWhatIsDoneAboutExcess) {
  std::vector<Resource> resources = TestResources();
  resources.at(0).share = {};
  resources[0].share.multiple = sharing::MultipleSlots::kRefuse;
  for (const auto on_excess :
       {sharing::OnExcess::kEvent, sharing::OnExcess::kEvict, sharing::OnExcess::kKill}) {
    resources[0].share.on_excess = on_excess;
    EXPECT_EQ(AfterARestart(resources), resources);
  }
}

TEST(SavedSlotsTest, TrustNoDeviceThatIsNotSaidToBeHealthy) {
  const boost::json::value state = boost::json::parse(
      R"({"r":[{"resource":"r","slots":[
          {"id":"a","gpu":"GPU-00000000-0000-0000-0000-000000000000"},
          {"id":"b","gpu":"GPU-00000000-0000-0000-0000-000000000000","healthy":1},
          {"id":"c","healthy":true},7]}]})");
  const auto resources = ReadResources(doc::SavedFields(state.as_object()), "r");
  ASSERT_THAT(resources, SizeIs(1));
  ASSERT_THAT(resources[0].slots, SizeIs(2));
  for (const Slot& slot : resources[0].slots) {
    EXPECT_FALSE(slot.health.is_healthy);
  }
}

TEST(SavedSlotsTest, KeepShapes) {
  const ChangeGuard::Shapes shapes = {{"GPU-a", {.card = "GPU-a", .slots = 0xfedcba9876543210}},
                                      {"MIG-b", {.card = "GPU-b", .slots = 1}}};
  const boost::json::object state{{"s", ShapesJson(shapes)}};
  EXPECT_EQ(ReadShapes(doc::SavedFields(state), "s"), shapes);
}

}  // namespace
}  // namespace kgpu::pools
