#include "src/diagnose/explain/placing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::explain {
namespace {

using ::testing::ElementsAre;

TEST(PlacingTest, EveryOperatorAsTheSchedulerTakesIt) {
  const Texts labels = {{"gpu", "A100"}, {"memory", "81920"}};
  struct Row {
    Requirement requirement;
    bool holds;
  };
  const Row rows[] = {
      {{"gpu", "In", {"H100", "A100"}}, true}, {{"gpu", "In", {"H100"}}, false},
      {{"gpu", "NotIn", {"H100"}}, true},      {{"gpu", "NotIn", {"A100"}}, false},
      {{"none", "NotIn", {"A100"}}, true},     {{"none", "In", {"A100"}}, false},
      {{"gpu", "Exists", {}}, true},           {{"none", "Exists", {}}, false},
      {{"none", "DoesNotExist", {}}, true},    {{"gpu", "DoesNotExist", {}}, false},
      {{"memory", "Gt", {"40000"}}, true},     {{"memory", "Gt", {"81920"}}, false},
      {{"memory", "Lt", {"90000"}}, true},     {{"memory", "Lt", {"100"}}, false},
      {{"gpu", "Gt", {"1"}}, false},           {{"memory", "Gt", {"x"}}, false},
      {{"memory", "Gt", {"1", "2"}}, false},   {{"none", "Gt", {"1"}}, false},
      {{"gpu", "Odd", {"A100"}}, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Holds(row.requirement, labels), row.holds) << RequirementText(row.requirement);
  }
}

TEST(PlacingTest, TolerationsMatchByKeyValueAndEffect) {
  const Taint taint{"nvidia.com/gpu", "present", "NoSchedule"};
  EXPECT_TRUE(Tolerates({{"nvidia.com/gpu", "Exists", "", ""}}, taint));
  EXPECT_TRUE(Tolerates({{"", "Exists", "", ""}}, taint));
  EXPECT_TRUE(Tolerates({{"nvidia.com/gpu", "", "present", "NoSchedule"}}, taint));
  EXPECT_FALSE(Tolerates({{"nvidia.com/gpu", "Equal", "absent", ""}}, taint));
  EXPECT_FALSE(Tolerates({{"nvidia.com/gpu", "Exists", "", "NoExecute"}}, taint));
  EXPECT_FALSE(Tolerates({{"other", "Exists", "", ""}}, taint));
  EXPECT_FALSE(Tolerates({}, taint));
}

TEST(PlacingTest, AnEmptyTermMatchesNothingAndFieldsNameTheNode) {
  const Node node{.name = "a"};
  EXPECT_FALSE(Matches({}, node));
  EXPECT_TRUE(Matches({.fields = {{"metadata.name", "In", {"a"}}}}, node));
  EXPECT_FALSE(Matches({.fields = {{"metadata.name", "In", {"b"}}}}, node));
  EXPECT_FALSE(Matches({.fields = {{"spec.odd", "In", {"a"}}}}, node));
  EXPECT_FALSE(MatchesAny({}, node));
}

TEST(PlacingTest, TheNearestValueOfALabelStandsFirst) {
  std::vector<Node> nodes(3);
  nodes[0].labels = {{"product", "NVIDIA-L4"}};
  nodes[1].labels = {{"product", "NVIDIA-A100-SXM4-80GB"}};
  nodes[2].labels = {{"product", "NVIDIA-H100-80GB-HBM3"}};
  EXPECT_THAT(ValuesOf(nodes, "product", {"A100-PCIE-40GB"}),
              ElementsAre("NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3", "NVIDIA-L4"));
  EXPECT_EQ(KeyLike(nodes, "prodact"), "product");
  EXPECT_EQ(KeyLike(nodes, "something-else"), "");
}

TEST(PlacingTest, NumbersOfTaintsAreCompared) {
  const Taint taint{"example.com/sla", "950", "NoSchedule"};
  EXPECT_TRUE(Tolerates({{"example.com/sla", "Gt", "900", ""}}, taint));
  EXPECT_FALSE(Tolerates({{"example.com/sla", "Gt", "950", ""}}, taint));
  EXPECT_TRUE(Tolerates({{"example.com/sla", "Lt", "1000", ""}}, taint));
  EXPECT_FALSE(Tolerates({{"example.com/sla", "Lt", "many", ""}}, taint));
}

TEST(PlacingTest, ExtendedResourcesHaveADomainOfTheirOwn) {
  EXPECT_TRUE(IsExtended("nvidia.com/gpu"));
  EXPECT_TRUE(IsExtended("example.com/gpu-20gi"));
  EXPECT_FALSE(IsExtended("cpu"));
  EXPECT_FALSE(IsExtended("hugepages-2Mi"));
  EXPECT_FALSE(IsExtended("kubernetes.io/batch-cpu"));
  EXPECT_FALSE(IsExtended("requests.nvidia.com/gpu"));
}

}  // namespace
}  // namespace kgpu::explain
