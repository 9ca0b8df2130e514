#include "testing/kubelet/picker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::kubelet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Devices "a0" and "a1" on node 0, "b0" and "b1" on node 1, "x" on none.
PickRequest Request(int64_t required) {
  PickRequest request;
  request.resource = "example.com/widget";
  request.required = required;
  for (const Device& device :
       {Device{"a0", kHealthy, {0}}, Device{"a1", kHealthy, {0}}, Device{"b0", kHealthy, {1}},
        Device{"b1", kHealthy, {1}}, Device{"x", kHealthy, {}}}) {
    request.devices[device.id] = device;
    request.healthy.insert(device.id);
  }
  return request;
}

class PickerTest : public ::testing::Test {
 protected:
  StatusOr<Picker> Begin(const PickRequest& request) { return Picker::Begin(request, random_); }

  std::mt19937 random_{7};
};

TEST_F(PickerTest, ReusableDevicesComeFirstAndMayBeEnough) {
  PickRequest request = Request(1);
  request.reusable = {"b0"};
  request.in_use = {"b0"};
  const auto picker = Begin(request);
  ASSERT_OK(picker);
  EXPECT_TRUE(picker->is_complete());
  EXPECT_THAT(picker->chosen(), ElementsAre("b0"));
}

TEST_F(PickerTest, TooFewFreeDevicesAreAnError) {
  PickRequest request = Request(3);
  request.in_use = {"a0", "a1", "b0"};
  EXPECT_THAT(Begin(request), StatusIs(StatusCode::kInternal, HasSubstr("needed, 2 free")));
}

TEST_F(PickerTest, WithoutAffinityThePluginChoosesAmongAllFreeDevices) {
  PickRequest request = Request(2);
  request.in_use = {"a0"};
  auto picker = Begin(request);
  ASSERT_OK(picker);
  const PreferredRequest question = picker->Question();
  EXPECT_THAT(question.available, ElementsAre("a1", "b0", "b1", "x"));
  EXPECT_THAT(question.must_include, IsEmpty());
  EXPECT_EQ(question.size, 2);
  ASSERT_OK(picker->Finish({"x", "b1"}, random_));
  EXPECT_THAT(picker->chosen(), ElementsAre("b1", "x"));
}

TEST_F(PickerTest, OnlyCandidatesOfTheAnswerCount) {
  PickRequest request = Request(2);
  request.in_use = {"a0"};
  auto picker = Begin(request);
  ASSERT_OK(picker);
  ASSERT_OK(picker->Finish({"a0", "nothing", "x"}, random_));
  EXPECT_THAT(picker->chosen(), SizeIs(2));
  EXPECT_THAT(picker->chosen(), Contains("x"));
}

TEST_F(PickerTest, SurplusOfTheAnswerIsLeftOut) {
  auto picker = Begin(Request(2));
  ASSERT_OK(picker);
  ASSERT_OK(picker->Finish({"a0", "a1", "b0", "b1", "x"}, random_));
  EXPECT_THAT(picker->chosen(), SizeIs(2));
}

TEST_F(PickerTest, EnoughAlignedDevicesAreTheOnlyCandidates) {
  PickRequest request = Request(1);
  request.affinity = NodeMask{0b10};
  auto picker = Begin(request);
  ASSERT_OK(picker);
  EXPECT_THAT(picker->Question().available, ElementsAre("b0", "b1"));
  ASSERT_OK(picker->Finish({"a0"}, random_));
  EXPECT_THAT(picker->chosen(), ::testing::AnyOf(ElementsAre("b0"), ElementsAre("b1")));
}

TEST_F(PickerTest, AlignedDevicesThatAreAllNeededAreTakenWithoutAQuestion) {
  PickRequest request = Request(2);
  request.affinity = NodeMask{0b10};
  const auto picker = Begin(request);
  ASSERT_OK(picker);
  EXPECT_TRUE(picker->is_complete());
  EXPECT_THAT(picker->chosen(), ElementsAre("b0", "b1"));
}

TEST_F(PickerTest, TooFewAlignedDevicesAreTakenAndTheRestIsAsked) {
  PickRequest request = Request(3);
  request.affinity = NodeMask{0b10};
  auto picker = Begin(request);
  ASSERT_OK(picker);
  const PreferredRequest question = picker->Question();
  EXPECT_THAT(question.must_include, ElementsAre("b0", "b1"));
  EXPECT_THAT(question.available, SizeIs(5));
  EXPECT_EQ(question.size, 3);
  // Without an answer, devices with a node go before those without one.
  ASSERT_OK(picker->Finish({}, random_));
  EXPECT_THAT(picker->chosen(), ::testing::Not(Contains("x")));
}

TEST_F(PickerTest, EveryDeviceOfChanceComesUp) {
  DeviceIds seen;
  for (int i = 0; i < 200; ++i) {
    auto picker = Begin(Request(1));
    ASSERT_OK(picker);
    ASSERT_OK(picker->Finish({}, random_));
    seen.insert(*picker->chosen().begin());
  }
  EXPECT_THAT(seen, SizeIs(5));
}

}  // namespace
}  // namespace kgpu::kubelet
