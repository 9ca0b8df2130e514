#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "src/diagnose/doctor/kubelet_facts.h"
#include "testing/status_matchers.h"

namespace kgpu::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const labels::Taint kTaint{.key = "team", .value = "a", .effect = "NoSchedule"};

TEST(ParseAgentStatusTest, CountsADeviceOnceAndTellsTheUnhealthy) {
  const auto agent = ParseAgentStatus(
      R"({"ready": true, "unassigned": [{"device": "GPU-9"}], "resources": [
          {"name": "nvidia.com/gpu", "capacity": 2, "allocatable": 1, "state": "Registered",
           "devices": [{"device": "GPU-1", "healthy": true},
                       {"device": "GPU-2", "healthy": false, "reason": "XidError",
                        "message": "xid 79"},
                       {"device": "GPU-2", "healthy": false}]}]})");
  ASSERT_OK(agent.status());
  EXPECT_TRUE(agent->is_ready);
  EXPECT_THAT(agent->devices, UnorderedElementsAre("GPU-1", "GPU-2"));
  EXPECT_THAT(agent->unhealthy, ElementsAre("GPU-2 XidError: xid 79"));
  EXPECT_EQ(agent->unassigned, 1);
  ASSERT_THAT(agent->resources, SizeIs(1));
  EXPECT_EQ(agent->resources[0].allocatable, 1);
}

TEST(ReadAgentHealthTest, KeepsOpenFaultsWithTheirDetail) {
  AgentFacts agent;
  ASSERT_OK(ReadAgentHealth(R"({"gpus": [{"uuid": "GPU-1", "faults": [
      {"rule": "ThermalSlowdown", "unhealthy": false, "message": "Hot.", "detail": "96 degrees"},
      {"rule": "Xid79", "unhealthy": true, "message": "Lost.", "detail": ""}]},
      {"uuid": "GPU-2", "faults": 3}]})",
                            agent));
  ASSERT_THAT(agent.faults, SizeIs(2));
  EXPECT_EQ(agent.faults[0].gpu, "GPU-1");
  EXPECT_EQ(agent.faults[0].text, "Hot. 96 degrees");
  EXPECT_FALSE(agent.faults[0].is_unhealthy);
  EXPECT_EQ(agent.faults[1].text, "Lost.");
  EXPECT_TRUE(agent.faults[1].is_unhealthy);
  EXPECT_FALSE(ReadAgentHealth("[", agent).ok());
}

TEST(ParseAgentStatusTest, OfAnotherKindOfObjectNothingIsKnown) {
  const auto agent = ParseAgentStatus(R"({"resources": {"a": 1}, "unassigned": 3})");
  ASSERT_OK(agent.status());
  EXPECT_THAT(agent->resources, IsEmpty());
  EXPECT_THAT(ParseAgentStatus("[]").status(), StatusIs(StatusCode::kInvalidArgument));
}

TEST(ToleratesTest, ExistsWithoutAKeyTakesEveryTaint) {
  EXPECT_TRUE(Tolerates({{.key = "", .op = "Exists", .value = "", .effect = ""}}, kTaint));
}

TEST(ToleratesTest, ExistsTakesEveryValueOfItsKey) {
  EXPECT_TRUE(Tolerates({{.key = "team", .op = "Exists", .value = "", .effect = ""}}, kTaint));
  EXPECT_FALSE(Tolerates({{.key = "x", .op = "Exists", .value = "", .effect = ""}}, kTaint));
}

TEST(ToleratesTest, EqualIsTheDefaultAndTakesItsValueAlone) {
  EXPECT_TRUE(Tolerates({{.key = "team", .op = "", .value = "a", .effect = ""}}, kTaint));
  EXPECT_FALSE(Tolerates({{.key = "team", .op = "Equal", .value = "b", .effect = ""}}, kTaint));
}

TEST(ToleratesTest, AnotherEffectIsNotTolerated) {
  EXPECT_FALSE(
      Tolerates({{.key = "team", .op = "Exists", .value = "", .effect = "NoExecute"}}, kTaint));
}

TEST(ReadAgentSetsTest, ReadsNamesAndTolerations) {
  const auto sets = ReadAgentSets(boost::json::parse(
      R"({"items": [{"metadata": {"namespace": "a", "name": "b"}, "spec": {"template": {"spec":
          {"tolerations": [{"operator": "Exists"}]}}}}]})"));
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_EQ(sets[0].name, "a/b");
  EXPECT_THAT(sets[0].tolerations, SizeIs(1));
}

}  // namespace
}  // namespace kgpu::doctor
