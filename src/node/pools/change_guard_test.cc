#include "src/node/pools/change_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/node/pools/test_node.h"

namespace kgpu::pools {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kWhole = "pools:\n- devices: all\n";
constexpr const char* kShared = "pools:\n- devices: all\n  share: {by: time, replicas: 2}\n";

class ChangeGuardTest : public ::testing::Test {
 protected:
  Assignment Apply(std::string_view config) { return Apply(config, TestNode(2)); }
  Assignment Apply(std::string_view config, const device::Snapshot& snapshot) {
    Assignment assignment = AssignDevices(snapshot, TestConfig(config));
    guard_.Apply(assignment, now_, [this](const std::string& device, SteadyTime since) {
      asked_since_[device] = since;
      return busy_.contains(device) ? std::string("pod a/b holds it") : std::string();
    });
    return assignment;
  }

  ChangeGuard guard_;
  SteadyTime now_{seconds(1)};
  std::set<std::string> busy_;
  std::map<std::string, SteadyTime> asked_since_;
  const std::string first_ = TestGpuName(0);
  const std::string second_ = TestGpuName(1);
};

TEST_F(ChangeGuardTest, NewDevicesAreShownAtOnce) {
  busy_ = {first_, second_};
  EXPECT_EQ(SlotIds(Apply(kWhole), "nvidia.com/gpu").size(), 2U);
  EXPECT_FALSE(guard_.is_waiting());
  // The same again, and with a device more.
  EXPECT_EQ(SlotIds(Apply(kWhole, TestNode(3)), "nvidia.com/gpu").size(), 3U);
  EXPECT_THAT(asked_since_, IsEmpty());
}

TEST_F(ChangeGuardTest, IdleDevicesChangeAndBusyOnesWait) {
  Apply(kWhole);
  busy_ = {first_};
  now_ += seconds(5);
  Assignment assignment = Apply(kShared);
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), ElementsAre(second_ + "::0", second_ + "::1"));
  EXPECT_THAT(ReasonFor(assignment, first_), HasSubstr("pod a/b holds it"));
  EXPECT_TRUE(guard_.is_waiting());
  const SteadyTime withdrawn = now_;
  for (int i = 0; i < 100; ++i) {
    now_ += seconds(60);
    Apply(kShared);
    EXPECT_EQ(asked_since_[first_], withdrawn);
  }
  busy_.clear();
  assignment = Apply(kShared);
  EXPECT_EQ(SlotIds(assignment, "nvidia.com/gpu").size(), 4U);
  EXPECT_THAT(assignment.unassigned, IsEmpty());
  EXPECT_FALSE(guard_.is_waiting());
}

TEST_F(ChangeGuardTest, GoingBackNeedsNoWait) {
  Apply(kWhole);
  busy_ = {first_, second_};
  Apply(kShared);
  ASSERT_TRUE(guard_.is_waiting());
  EXPECT_EQ(SlotIds(Apply(kWhole), "nvidia.com/gpu").size(), 2U);
  EXPECT_FALSE(guard_.is_waiting());
}

TEST_F(ChangeGuardTest, ADeviceThatWasAwayIsStillWhatItWas) {
  Apply(kWhole);
  Apply(kWhole, TestNode(1));
  busy_ = {second_};
  EXPECT_THAT(ReasonFor(Apply(kShared), second_), HasSubstr("pod a/b holds it"));
  // And one that vanishes while it waits is no reason to look.
  busy_ = {first_, second_};
  Apply(kShared);
  Apply(kShared, TestNode(0));
  EXPECT_FALSE(guard_.is_waiting());
}

TEST_F(ChangeGuardTest, RecallsWhatAnEarlierAgentHasShown) {
  guard_.Recall(AssignDevices(TestNode(2), TestConfig(kWhole)));
  busy_ = {first_};
  EXPECT_THAT(SlotIds(Apply(kShared), "nvidia.com/gpu"),
              ElementsAre(second_ + "::0", second_ + "::1"));
}

}  // namespace
}  // namespace kgpu::pools
