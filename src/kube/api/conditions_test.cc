#include "src/kube/api/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/kube/api/json.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr WallTime kNow{std::chrono::seconds(1'700'000'000)};

json::value Node() {
  return json::parse(R"({"status":{"conditions":[
      {"type":"Ready","status":"True","reason":"KubeletReady","message":"m"},
      {"type":"GPUReady","status":"True","reason":"AllGood","message":"8 GPUs",
       "lastTransitionTime":"2020-01-01T00:00:00Z"}]}})");
}

const Condition kGood{
    .type = "GPUReady", .status = "True", .reason = "AllGood", .message = "8 GPUs"};

TEST(ConditionsTest, FindsOneByItsType) {
  EXPECT_EQ(FindCondition(Node(), "GPUReady"), kGood);
  EXPECT_FALSE(FindCondition(Node(), "Other").has_value());
  EXPECT_FALSE(FindCondition(json::object(), "GPUReady").has_value());
}

TEST(ConditionsTest, WritesNothingWhenNothingIsNew) {
  const auto entry = ConditionToWrite(Node(), kGood, kNow);
  ASSERT_OK(entry);
  EXPECT_FALSE(entry->has_value());
}

TEST(ConditionsTest, AnotherMessageIsNoTransition) {
  Condition condition = kGood;
  condition.message = "7 GPUs";
  const auto entry = ConditionToWrite(Node(), condition, kNow);
  ASSERT_OK(entry);
  ASSERT_TRUE(entry->has_value());
  EXPECT_EQ(**entry, json::parse(R"({"type":"GPUReady","status":"True","reason":"AllGood",
      "message":"7 GPUs","lastTransitionTime":"2020-01-01T00:00:00Z"})"));
}

TEST(ConditionsTest, AnotherStatusIsATransition) {
  Condition condition = kGood;
  condition.status = "False";
  condition.observed_generation = 3;
  const auto entry = ConditionToWrite(Node(), condition, kNow);
  ASSERT_OK(entry);
  ASSERT_TRUE(entry->has_value());
  EXPECT_EQ(TextField(**entry, {"lastTransitionTime"}), "2023-11-14T22:13:20Z");
  EXPECT_EQ(IntField(**entry, {"observedGeneration"}), 3);
}

TEST(ConditionsTest, TheFirstOneIsATransition) {
  const auto entry = ConditionToWrite(json::object(), kGood, kNow);
  ASSERT_OK(entry);
  ASSERT_TRUE(entry->has_value());
  EXPECT_EQ(TextField(**entry, {"lastTransitionTime"}), "2023-11-14T22:13:20Z");
}

TEST(ConditionsTest, RefusesWhatTheServerWouldRefuse) {
  Condition condition = kGood;
  condition.status = "yes";
  EXPECT_THAT(ConditionToWrite(Node(), condition, kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("GPUReady: status \"yes\"")));
  condition = kGood;
  for (const char* reason : {"", "two words", "1st", "End:"}) {
    condition.reason = reason;
    EXPECT_THAT(ConditionToWrite(Node(), condition, kNow),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("reason")));
  }
}

}  // namespace
}  // namespace kgpu::kube
