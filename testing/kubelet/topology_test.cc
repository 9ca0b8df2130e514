#include "testing/kubelet/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::kubelet {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// `per_node` devices on each of two nodes, all free.
HintRequest TwoNodes(int64_t required, int per_node) {
  HintRequest request{.required = required, .devices = {}, .available = {}, .reusable = {}};
  for (int64_t node = 0; node < 2; ++node) {
    for (int i = 0; i < per_node; ++i) {
      const std::string id = std::string(node == 0 ? "a" : "b") + std::to_string(i);
      request.devices[id] = {id, kHealthy, {node}};
      request.available.insert(id);
    }
  }
  return request;
}

TEST(HintsTest, DevicesWithoutNodesHaveNoOpinion) {
  HintRequest request{.required = 1, .devices = {}, .available = {"a"}, .reusable = {}};
  request.devices["a"] = {"a", kHealthy, {}};
  EXPECT_FALSE(HintsOf(request).has_value());
}

TEST(HintsTest, TheSmallestSetsOfNodesArePreferred) {
  EXPECT_THAT(*HintsOf(TwoNodes(2, 2)),
              UnorderedElementsAre(Hint{NodeMask{0b01}, true}, Hint{NodeMask{0b10}, true},
                                   Hint{NodeMask{0b11}, false}));
}

TEST(HintsTest, DevicesInUseCountForPreferenceButNotForSatisfaction) {
  HintRequest request = TwoNodes(2, 2);
  request.available = {"a0", "b0"};
  EXPECT_THAT(*HintsOf(request), UnorderedElementsAre(Hint{NodeMask{0b11}, false}));
}

TEST(HintsTest, ReusableDevicesMustBeInside) {
  HintRequest request = TwoNodes(1, 2);
  request.reusable = {"b1"};
  request.available.erase("b1");
  EXPECT_THAT(*HintsOf(request),
              UnorderedElementsAre(Hint{NodeMask{0b10}, true}, Hint{NodeMask{0b11}, false}));
}

TEST(HintsTest, ARequestThatCannotBeMetHasNoHint) {
  EXPECT_THAT(*HintsOf(TwoNodes(5, 2)), IsEmpty());
}

TEST(DecideTest, PoliciesDifferWhereOneNodeIsNotEnough) {
  const std::vector<std::optional<std::vector<Hint>>> hints = {HintsOf(TwoNodes(3, 2))};
  EXPECT_FALSE(Decide(TopologyPolicy::kNone, hints).affinity.has_value());
  EXPECT_TRUE(Decide(TopologyPolicy::kBestEffort, hints).is_admitted);
  EXPECT_TRUE(Decide(TopologyPolicy::kRestricted, hints).is_admitted);
  EXPECT_FALSE(Decide(TopologyPolicy::kSingleNumaNode, hints).is_admitted);
}

TEST(DecideTest, RestrictedTurnsAwayWhatAnIdleMachineCouldHaveAligned) {
  HintRequest request = TwoNodes(2, 2);
  request.available = {"a0", "b0"};
  EXPECT_TRUE(Decide(TopologyPolicy::kBestEffort, {HintsOf(request)}).is_admitted);
  EXPECT_FALSE(Decide(TopologyPolicy::kRestricted, {HintsOf(request)}).is_admitted);
}

TEST(DecideTest, ResourcesMustAgreeOnNodes) {
  HintRequest on_first = TwoNodes(1, 1);
  on_first.available = {"a0"};
  HintRequest on_second = TwoNodes(1, 1);
  on_second.available = {"b0"};
  EXPECT_FALSE(
      Decide(TopologyPolicy::kRestricted, {HintsOf(on_first), HintsOf(on_second)}).is_admitted);
  const TopologyDecision same =
      Decide(TopologyPolicy::kRestricted, {HintsOf(on_first), HintsOf(on_first), std::nullopt});
  EXPECT_TRUE(same.is_admitted);
  EXPECT_EQ(same.affinity, NodeMask{0b01});
}

}  // namespace
}  // namespace kgpu::kubelet
