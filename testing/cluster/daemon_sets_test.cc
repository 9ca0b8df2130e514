#include "testing/cluster/cluster_fixture.h"

namespace kgpu::simcluster {
namespace {

using apiserver::NumberAt;
using apiserver::TextAt;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kSets = "/apis/apps/v1/namespaces/default/daemonsets";
constexpr const char* kSet = "/apis/apps/v1/namespaces/default/daemonsets/agent";

class DaemonSetsTest : public ClusterTest {
 protected:
  DaemonSetsTest() : ClusterTest({.pod_stop_time = std::chrono::seconds(1)}) {}

  // `more` follows in the spec.
  void CreateSet(std::string_view more = "", std::string_view pod_spec = "") {
    Create(kSets, fmt::format(R"({{"metadata":{{"name":"agent"}},"spec":{{
        "selector":{{"matchLabels":{{"app":"agent"}}}}{},
        "template":{{"metadata":{{"labels":{{"app":"agent"}}}},
        "spec":{{"containers":[{{"name":"c","image":"one"}}]{}}}}}}}}})",
                              more, pod_spec));
  }
  int64_t Status(std::string_view field) { return NumberAt(Get(kSet), {"status", field}, -1); }
  void SetImage(std::string_view image) {
    Patch(
        kSet,
        fmt::format(
            R"({{"spec":{{"template":{{"spec":{{"containers":[{{"name":"c","image":"{}"}}]}}}}}}}})",
            image));
  }
  int Unready() {
    const auto places = Places();
    return static_cast<int>(std::ranges::count_if(
        places, [](const std::string& place) { return !place.ends_with("Ready"); }));
  }
};

TEST_F(DaemonSetsTest, RunsAPodOnEachNode) {
  AddGpuNode("n1");
  AddGpuNode("n2");
  CreateSet();
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n1 Ready", "n2 Ready"));
  EXPECT_EQ(Status("desiredNumberScheduled"), 2);
  EXPECT_EQ(Status("numberReady"), 2);
  EXPECT_EQ(Status("updatedNumberScheduled"), 2);
  EXPECT_EQ(Status("observedGeneration"), 1);
  AddGpuNode("n3");
  Pass();
  EXPECT_THAT(Places(), SizeIs(3));
}

TEST_F(DaemonSetsTest, FollowsLabelsOfNodes) {
  AddGpuNode("n1", "8", {{"gpu", "yes"}});
  AddGpuNode("n2");
  CreateSet("", R"(,"nodeSelector":{"gpu":"yes"})");
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n1 Ready"));
  Patch("/api/v1/nodes/n2", R"({"metadata":{"labels":{"gpu":"yes"}}})");
  Patch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"gpu":null}}})");
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n2 Ready"));
}

TEST_F(DaemonSetsTest, TaintKeepsPodsAwayAndCordonDoesNot) {
  AddGpuNode("n1");
  AddGpuNode("n2");
  AddGpuNode("n3");
  Patch("/api/v1/nodes/n1", R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})");
  Patch("/api/v1/nodes/n2", R"({"spec":{"taints":[{"key":"b","effect":"NoExecute"}]}})");
  Patch("/api/v1/nodes/n3", R"({"spec":{"unschedulable":true}})");
  CreateSet("", R"(,"tolerations":[{"key":"b","operator":"Exists"}])");
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n2 Ready", "n3 Ready"));
}

TEST_F(DaemonSetsTest, NoExecuteTakesRunningPodsAway) {
  AddGpuNode("n1");
  CreateSet();
  Pass();
  Patch("/api/v1/nodes/n1", R"({"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}})");
  Pass();
  EXPECT_THAT(Places(), IsEmpty());
  EXPECT_EQ(Status("desiredNumberScheduled"), 0);
}

TEST_F(DaemonSetsTest, UpdateNeverExceedsMaxUnavailable) {
  for (int i = 0; i < 6; ++i) {
    AddGpuNode(fmt::format("n{}", i));
  }
  CreateSet(R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":2}})");
  Pass();
  SetImage("two");
  int most = 0;
  for (int step = 0; step < 200; ++step) {
    Pass(std::chrono::milliseconds(50));
    most = std::max(most, 6 - static_cast<int>(Status("numberReady")));
  }
  EXPECT_EQ(most, 2);
  EXPECT_EQ(Unready(), 0);
  for (const auto& pod : Pods()) {
    EXPECT_EQ(TextAt(apiserver::ItemsAt(pod, {"spec", "containers"})[0].as_object(), {"image"}),
              "two");
  }
  EXPECT_EQ(Status("updatedNumberScheduled"), 6);
}

TEST_F(DaemonSetsTest, OnDeleteWaitsForTheDeletion) {
  AddGpuNode("n1");
  CreateSet(R"(,"updateStrategy":{"type":"OnDelete"})");
  Pass();
  SetImage("two");
  Pass();
  EXPECT_EQ(Status("updatedNumberScheduled"), 0);
  const std::string name(TextAt(Pods()[0], {"metadata", "name"}));
  ASSERT_OK(api_.Do("DELETE", fmt::format("/api/v1/namespaces/default/pods/{}", name), nullptr));
  Pass();
  EXPECT_EQ(Status("updatedNumberScheduled"), 1);
}

TEST_F(DaemonSetsTest, DeletionTakesThePods) {
  AddGpuNode("n1");
  CreateSet();
  Pass();
  ASSERT_OK(api_.Do("DELETE", kSet, nullptr));
  Pass();
  EXPECT_THAT(Places(), IsEmpty());
}

TEST_F(DaemonSetsTest, NodeThatIsGoneTakesItsPod) {
  AddGpuNode("n1");
  AddGpuNode("n2");
  CreateSet();
  Pass();
  ASSERT_OK(api_.Do("DELETE", "/api/v1/nodes/n1", nullptr));
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n2 Ready"));
}

TEST_F(DaemonSetsTest, RestsWhenNothingChanges) {
  AddGpuNode("n1");
  CreateSet();
  Pass();
  const uint64_t revision = api_.store().revision();
  Pass(std::chrono::minutes(10));
  EXPECT_EQ(api_.store().revision(), revision);
}

}  // namespace
}  // namespace kgpu::simcluster
