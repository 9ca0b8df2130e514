#include "src/node/pools/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/pools/test_node.h"

namespace kgpu::pools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NotesTest, ASelectorThatMatchesNothingIsNamedWithWhatThereIs) {
  device::Snapshot node = TestNode(3);
  node.gpus[2].model = "T4";
  AddTestMig(node, 0, {"1g.10gb", "1g.10gb"});
  EXPECT_THAT(
      AssignDevices(node, TestConfig("exclude: [{index: 9}]\nmigStrategy: mixed\npools:\n"
                                     "- {resource: x/a, devices: {model: \"H100-*\"}}\n"
                                     "- {devices: all}\n"))
          .notes,
      ElementsAre("exclude[0] (index=9) matches no device: this host has 2 × A100-SXM4-80GB, 2 × "
                  "MIG 1g.10gb, 1 × T4",
                  HasSubstr("pools[0] (model=H100-*) matches no device: this host has 2 ×")));
}

TEST(NotesTest, APoolThatComesTooLateIsNamed) {
  EXPECT_THAT(
      AssignDevices(TestNode(1), TestConfig("pools:\n- {devices: all}\n"
                                            "- {resource: x/a, devices: {index: 0}}\n"))
          .notes,
      ElementsAre(HasSubstr("pools[1] (index=0) gets no device: all matching devices are")));
}

TEST(NotesTest, AHostWithoutGpusIsNothingOdd) {
  EXPECT_THAT(AssignDevices(TestNode(0), config::DefaultNodeConfig()).notes, IsEmpty());
  EXPECT_THAT(AssignDevices(TestNode(0), TestConfig("pools: [{devices: {index: 0}}]\n")).notes,
              ElementsAre(HasSubstr("the driver reports no GPU")));
}

TEST(NotesTest, NothingIsSaidWhileTheDriverIsSilent) {
  device::Snapshot node = TestNode(0);
  node.driver.state = device::DriverState::kNotLoaded;
  EXPECT_THAT(AssignDevices(node, TestConfig("pools: [{devices: {index: 0}}]\n")).notes, IsEmpty());
}

TEST(NotesTest, AResourceOfGpusAndMigDevicesIsNamedOnce) {
  device::Snapshot node = TestNode(3);
  AddTestMig(node, 0, {"1g.10gb", "1g.10gb"});
  EXPECT_THAT(AssignDevices(node, TestConfig("pools:\n- {resource: x/a, devices: {mig: 1g.10gb}}\n"
                                             "- {resource: x/a, devices: all}\n"))
                  .notes,
              ElementsAre(HasSubstr("x/a has both GPUs and MIG devices")));
}

}  // namespace
}  // namespace kgpu::pools
