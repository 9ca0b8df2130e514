// Plans as values: what the controller would do with a few nodes.
#include "src/cluster/controller/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "src/cluster/controller/test_model.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PlannerTest : public ModelTest {
 protected:
  // The work for the node, policy or pod: "method path body"; empty: none.
  std::string Do(std::string_view key) {
    for (const Work& work : MakePlan(model_, pods_, kNow).work) {
      if (work.key.starts_with(key)) {
        return fmt::format("{} {} {}", work.request.method, work.request.path, work.request.body);
      }
    }
    return "";
  }
};

constexpr const char* kSpec =
    "{groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}]}";

TEST_F(PlannerTest, OnlyAnInstallerPushesOthersOut) {
  AddPolicy("p", kSpec);
  AddNode("n1", Record(fleet::UpgradeState::kInstall), "{unschedulable: true}");
  EXPECT_THAT(Do("pod/"), AllOf(HasSubstr("driver"), HasSubstr("system-node-critical")));
  const fleet::NodeFacts node{.name = "n2", .resource = "nvidia.com/gpu"};
  EXPECT_THAT(RunValidation(pods_, node, "v", 3).request.body,
              AllOf(Not(HasSubstr("priorityClassName")), HasSubstr(R"("nvidia.com/gpu":"3")"),
                    HasSubstr(R"("requests":{"memory":"0"})")));
}

constexpr const char* kWhole =
    "{groups: [{name: g, nodeSelector: {}, labels: {team: ml}, driver: {from: package, branch: "
    "\"550\"}}], quarantine: {enabled: true}, upgrade: {maxUnavailable: 3}}";

TEST_F(PlannerTest, ANewLeaderTakesNoNodesThatMayBeAnInvalidPolicys) {
  AddPolicy("z", kWhole, "{starting: [n1]}");
  AddNode("n1");
  AddNode("n2");
  AddNode("n3", "{}", "{}", true, false);
  EXPECT_THAT(Do("node/n1"), HasSubstr("upgrade"));
  EXPECT_THAT(Do("node/n2"), HasSubstr("team"));
  EXPECT_THAT(Do("node/n3"), HasSubstr("quarantine"));
  EXPECT_THAT(Do("policy/z"), HasSubstr(R"("starting":["n1","n2","n3"])"));
  AddPolicy("a", "{groups: 3}");
  EXPECT_THAT(Do("node/"), IsEmpty());
  EXPECT_THAT(Do("policy/z"), HasSubstr(R"("starting":["n1"])"));
  // One that goes after it takes nothing from it.
  model_.RemovePolicy("a");
  AddPolicy("zz", "{groups: 3}");
  EXPECT_THAT(Do("node/n1"), HasSubstr("upgrade"));
}

std::string WithUpgrade(std::string_view upgrade) {
  return fmt::format(
      "{{groups: [{{name: g, nodeSelector: {{}}, driver: {{from: package, branch: \"550\"}}}}], "
      "upgrade: {{maxUnavailable: 5, {}}}}}",
      upgrade);
}

TEST_F(PlannerTest, ADecisionIsCarriedOutOnlyWhileItHolds) {
  constexpr const char* kAll = "{starting: [ok, away, fenced, new]}";
  AddNode("ok");
  AddNode("away", "{}", "{}", false);
  AddNode("fenced", "{}", "{taints: [{key: kgpu.dev/quarantined, effect: NoSchedule}]}");
  AddNode("new", "{}", "{}", true, true, "550.1");
  AddPolicy("p", WithUpgrade("paused: false"), kAll);
  EXPECT_THAT(Do("node/ok"), HasSubstr("upgrade"));
  EXPECT_THAT(Do("node/away"), IsEmpty());
  EXPECT_THAT(Do("node/fenced"), Not(HasSubstr("kgpu.dev/upgrade")));
  EXPECT_THAT(Do("node/new"), IsEmpty());
  EXPECT_THAT(Do("policy/p"), HasSubstr(R"("starting":["away","fenced","ok"])"));
  for (const char* upgrade : {"paused: true", "abort: true"}) {
    AddPolicy("p", WithUpgrade(upgrade), kAll);
    EXPECT_THAT(Do("node/ok"), IsEmpty());
    EXPECT_THAT(Do("policy/p"), HasSubstr(R"("starting":["away","fenced","ok"])"));
  }
  AddPolicy("p", WithUpgrade("failureBudget: 0"), kAll);
  AddNode("failed", Record(fleet::UpgradeState::kFailed), "{unschedulable: true}");
  EXPECT_THAT(Do("node/ok"), IsEmpty());
}

// A reserved node that is unavailable is one of the unavailable nodes, whether it starts or waits.
TEST_F(PlannerTest, ReservedNodesThatAreUnavailableCount) {
  AddPolicy("p",
            "{groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}], "
            "upgrade: {maxUnavailable: 2}}",
            "{starting: [a, b]}");
  AddNode("a", "{}", "{}", false);
  AddNode("b");
  AddNode("c", "{}", "{}", false);
  AddNode("d");
  EXPECT_THAT(Do("node/"), IsEmpty());
  AddNode("c");
  EXPECT_THAT(Do("node/b"), HasSubstr("upgrade"));
  // One that somebody else cordoned makes no difference, and leaves room for no other.
  AddNode("a", "{}", "{unschedulable: true}");
  AddNode("c", "{}", "{}", false);
  EXPECT_THAT(Do("node/a"), HasSubstr("upgrade"));
  EXPECT_THAT(Do("node/b"), IsEmpty());
}

TEST_F(PlannerTest, AnAnswerDoesNotBringBackWhatIsGone) {
  const json::value node = {{"metadata", {{"name", "n1"}, {"uid", "uid-n1"}}}};
  const json::value policy = {{"metadata", {{"name", "p"}, {"uid", "uid-p"}}}};
  AddNode("n1");
  AddPolicy("p", kSpec);
  EXPECT_TRUE(model_.PutNode(node, SteadyTime{}, true));
  EXPECT_TRUE(model_.PutPolicy(policy, SteadyTime{}, true));
  const json::value other = {{"metadata", {{"name", "n1"}, {"uid", "later"}}}};
  EXPECT_FALSE(model_.PutNode(other, SteadyTime{}, true));
  EXPECT_FALSE(model_.PutPolicy({{"metadata", {{"name", "p"}, {"uid", "later"}}}}, {}, true));
  model_.RemoveNode("n1");
  model_.RemovePolicy("p");
  EXPECT_FALSE(model_.PutNode(node, SteadyTime{}, true));
  EXPECT_FALSE(model_.PutPolicy(policy, SteadyTime{}, true));
  EXPECT_THAT(model_.nodes(), IsEmpty());
  EXPECT_THAT(model_.policies(), IsEmpty());
}

TEST_F(PlannerTest, OnlyNodesWithGpusGetLabels) {
  AddPolicy("p", "groups: [{name: g, nodeSelector: {}, labels: {team: ml}}]");
  AddNode("n1");
  EXPECT_THAT(Do("node/n1"), HasSubstr("team"));
  json::value plain = {{"metadata", {{"name", "n2"}, {"uid", "uid-n2"}}}};
  model_.PutNode(plain, SteadyTime{}, false);
  EXPECT_THAT(Do("node/n2"), IsEmpty());
  // It had GPUs before.
  plain.at("metadata").as_object()["annotations"] = {{fleet::kLabelsAnnotation, "p: team"}};
  model_.PutNode(plain, SteadyTime{}, false);
  EXPECT_THAT(Do("node/n2"), AllOf(HasSubstr("n2"), Not(HasSubstr("team"))));
}

TEST_F(PlannerTest, PodsOfRecordsThatItDoesNotUnderstandStay) {
  const auto add_pod = [this](std::string_view name) {
    model_.PutPod(std::make_shared<json::value>(
        json::value{{"metadata", {{"namespace", "kgpu"}, {"name", name}, {"uid", name}}},
                    {"node", "n1"},
                    {"phase", "Running"},
                    {"role", "validate"}}));
  };
  AddPolicy("p", kSpec);
  AddNode("n1");
  add_pod("kgpu-validate-0");
  EXPECT_THAT(Do("pod/"), HasSubstr("DELETE"));
  AddNode("n1", R"({kgpu.dev/upgrade: "of a newer version"})");
  EXPECT_THAT(Do("pod/"), IsEmpty());
  AddNode("n1", R"({kgpu.dev/quarantine: "of a newer version"})");
  EXPECT_THAT(Do("pod/"), IsEmpty());
  // The policy of a fence that is being validated becomes invalid.
  const fleet::FenceRecord fence{.is_validating = true, .since = kNow, .policy = "q"};
  AddNode("n1",
          json::serialize(json::value{{fleet::kQuarantineAnnotation, fleet::PrintRecord(fence)}}));
  EXPECT_THAT(Do("pod/kgpu/kgpu-validate-0"), HasSubstr("DELETE"));
  const std::string own = fleet::PodName(fleet::kValidateRole, "uid-n1", kNow, 0);
  add_pod(own);
  AddPolicy("q", "{groups: 3}");
  EXPECT_THAT(Do("pod/kgpu/" + own), IsEmpty());
}

}  // namespace
}  // namespace kgpu::controller
