#include "src/agent/mps_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

pods::PodMap TwoPods() {
  pods::PodMap pods;
  for (const char* pod : {"a", "b"}) {
    for (const char* container : {"one", "two"}) {
      pods.devices.push_back({.resource = "nvidia.com/gpu",
                              .device_id = std::string("GPU-x::") + container,
                              .user = {.pod_namespace = "n", .pod = pod, .container = container}});
    }
  }
  pods.devices.push_back({.resource = "nvidia.com/gpu",
                          .device_id = "GPU-y::0",
                          .user = {.pod_namespace = "n", .pod = "c", .container = "one"}});
  return pods;
}

TEST(MpsEventsTest, TellTheNodeAndEachPodOfTheDevice) {
  const auto events = MpsEvents("GPU-x", mps::DaemonEvent::kEnded, TwoPods(), "node-1");
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].regarding.kind, "Node");
  EXPECT_EQ(events[0].regarding.name, "node-1");
  EXPECT_EQ(events[1].regarding.name, "a");
  EXPECT_EQ(events[2].regarding.name, "b");
  for (const kube::Event& event : events) {
    EXPECT_TRUE(event.is_warning);
    EXPECT_EQ(event.reason, "MPSDaemonEnded");
    EXPECT_THAT(event.note, AllOf(HasSubstr("GPU-x"), HasSubstr("restart them")));
  }
}

TEST(MpsEventsTest, AFaultHasNoCulpritThatTheDriverNames) {
  const auto events = MpsEvents("GPU-y", mps::DaemonEvent::kFaulted, TwoPods(), "");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].regarding.name, "c");
  EXPECT_EQ(events[0].reason, "MPSFault");
  EXPECT_THAT(events[0].note, HasSubstr("the driver does not say which"));
  EXPECT_THAT(MpsEvents("GPU-z", mps::DaemonEvent::kHung, TwoPods(), ""), IsEmpty());
}

}  // namespace
}  // namespace kgpu::agent
