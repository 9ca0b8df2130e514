// Jobs and Deployments.
#include "testing/cluster/cluster_fixture.h"

namespace kgpu::simcluster {
namespace {

using apiserver::ItemsAt;
using apiserver::NumberAt;
using apiserver::TextAt;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kJob = "/apis/batch/v1/namespaces/default/jobs/train";
constexpr const char* kDeployment = "/apis/apps/v1/namespaces/default/deployments/web";

class JobsTest : public ClusterTest {
 protected:
  JobsTest() { AddGpuNode("n1"); }

  void CreateJob(std::string_view spec, std::string_view env = "[]") {
    Create("/apis/batch/v1/namespaces/default/jobs",
           fmt::format(R"({{"metadata":{{"name":"train"}},"spec":{{{}"template":{{
               "spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i",
               "env":{}}}]}}}}}}}})",
                       spec, env));
  }
  std::vector<std::string> Conditions(std::string_view path) {
    std::vector<std::string> types;
    const boost::json::object object = Get(path);
    for (const auto& item : ItemsAt(object, {"status", "conditions"})) {
      types.push_back(fmt::format("{}={} {}", TextAt(item.as_object(), {"type"}),
                                  TextAt(item.as_object(), {"status"}),
                                  TextAt(item.as_object(), {"reason"})));
    }
    return types;
  }
  int64_t Count(std::string_view path, std::string_view field) {
    return NumberAt(Get(path), {"status", field}, 0);
  }
};

TEST_F(JobsTest, CompletesWhenItsPodsSucceed) {
  CreateJob(R"("completions":3,"parallelism":2,)");
  Pass(std::chrono::milliseconds(800));
  EXPECT_EQ(Count(kJob, "active"), 2);
  Pass(std::chrono::seconds(10));
  EXPECT_EQ(Count(kJob, "succeeded"), 3);
  EXPECT_THAT(Conditions(kJob), Contains("Complete=True CompletionsReached"));
  EXPECT_NE(TextAt(Get(kJob), {"status", "completionTime"}), "");
}

TEST_F(JobsTest, FailsAfterItsRetries) {
  CreateJob(R"("backoffLimit":2,)", R"([{"name":"SIM_EXIT_CODE","value":"1"}])");
  Pass(std::chrono::seconds(5));
  EXPECT_EQ(Count(kJob, "failed"), 1);
  Pass(std::chrono::minutes(2));
  EXPECT_EQ(Count(kJob, "failed"), 3);
  EXPECT_THAT(Conditions(kJob), Contains("Failed=True BackoffLimitExceeded"));
}

TEST_F(JobsTest, DeadlineEndsIt) {
  CreateJob(R"("activeDeadlineSeconds":30,)", R"([{"name":"SIM_RUN_SECONDS","value":"999"}])");
  Pass(std::chrono::minutes(2));
  EXPECT_THAT(Conditions(kJob), Contains("Failed=True DeadlineExceeded"));
  EXPECT_THAT(Pods(), IsEmpty());
}

TEST_F(JobsTest, IsRemovedAfterItsTime) {
  CreateJob(R"("ttlSecondsAfterFinished":60,)");
  Pass(std::chrono::seconds(20));
  EXPECT_THAT(Get(kJob), ::testing::Not(IsEmpty()));
  Pass(std::chrono::seconds(60));
  EXPECT_THAT(Get(kJob), IsEmpty());
  EXPECT_THAT(Pods(), IsEmpty());
}

TEST_F(JobsTest, RestartPolicyNeverOrOnFailureIsRequired) {
  const auto refused =
      api_.Do("POST", "/apis/batch/v1/namespaces/default/jobs",
              boost::json::parse(R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{
          "containers":[{"name":"c","image":"i"}]}}}})"));
  EXPECT_THAT(Message(refused.status()), ::testing::HasSubstr("restartPolicy"));
}

TEST_F(JobsTest, PodsHaveItsLabelsAndOwner) {
  CreateJob("");
  Pass();
  ASSERT_THAT(Pods(), SizeIs(1));
  const boost::json::object pod = Pods()[0];
  EXPECT_EQ(TextAt(pod, {"metadata", "labels", "batch.kubernetes.io/job-name"}), "train");
  EXPECT_EQ(TextAt(pod, {"metadata", "labels", "batch.kubernetes.io/controller-uid"}),
            TextAt(Get(kJob), {"metadata", "uid"}));
  EXPECT_EQ(TextAt(ItemsAt(pod, {"metadata", "ownerReferences"})[0].as_object(), {"kind"}), "Job");
}

TEST_F(JobsTest, ContainerThatExitsIsRestarted) {
  CreatePod("p", R"({"containers":[{"name":"c","image":"i",
      "env":[{"name":"SIM_RUN_SECONDS","value":"1"}]}]})");
  Pass(std::chrono::seconds(5));
  const auto status = ItemsAt(Pods()[0], {"status", "containerStatuses"})[0].as_object();
  EXPECT_EQ(NumberAt(status, {"restartCount"}, 0), 1);
  EXPECT_EQ(TextAt(status, {"state", "waiting", "reason"}), "CrashLoopBackOff");
}

TEST_F(JobsTest, ImageThatCannotBePulledNeverStarts) {
  cluster_.SetScript(
      [](const boost::json::object&) { return PodPlan{.waiting = "ImagePullBackOff"}; });
  CreatePod("p", R"({"containers":[{"name":"c","image":"i"}]})");
  Pass(std::chrono::minutes(1));
  EXPECT_THAT(Places(), ElementsAre("n1 Pending"));
}

TEST_F(JobsTest, ClaimIsBound) {
  Create("/api/v1/namespaces/default/persistentvolumeclaims",
         R"({"metadata":{"name":"work"},"spec":{"accessModes":["ReadWriteOnce"],
             "resources":{"requests":{"storage":"10Gi"}}}})");
  Pass();
  const auto claim = Get("/api/v1/namespaces/default/persistentvolumeclaims/work");
  EXPECT_EQ(TextAt(claim, {"status", "phase"}), "Bound");
  EXPECT_EQ(TextAt(claim, {"status", "capacity", "storage"}), "10Gi");
}

class DeploymentsTest : public JobsTest {
 protected:
  void CreateDeployment(int replicas, std::string_view more = "") {
    Create("/apis/apps/v1/namespaces/default/deployments",
           fmt::format(R"({{"metadata":{{"name":"web"}},"spec":{{"replicas":{}{},
               "selector":{{"matchLabels":{{"app":"web"}}}},
               "template":{{"metadata":{{"labels":{{"app":"web"}}}},
               "spec":{{"containers":[{{"name":"c","image":"one"}}]}}}}}}}})",
                       replicas, more));
  }
  void SetImage(std::string_view image) {
    Patch(kDeployment, fmt::format(R"({{"spec":{{"template":{{"spec":{{"containers":[
              {{"name":"c","image":"{}"}}]}}}}}}}})",
                                   image));
  }
};

TEST_F(DeploymentsTest, KeepsItsNumberOfPods) {
  CreateDeployment(3);
  Pass();
  EXPECT_EQ(Count(kDeployment, "availableReplicas"), 3);
  EXPECT_THAT(Conditions(kDeployment), Contains("Available=True MinimumReplicasAvailable"));
  const std::string name(TextAt(Pods()[0], {"metadata", "name"}));
  ASSERT_OK(api_.Do("DELETE", fmt::format("/api/v1/namespaces/default/pods/{}", name), nullptr));
  Pass();
  EXPECT_EQ(Count(kDeployment, "readyReplicas"), 3);
  Patch(kDeployment, R"({"spec":{"replicas":1}})");
  Pass();
  EXPECT_THAT(Pods(), SizeIs(1));
}

TEST_F(DeploymentsTest, UpdateKeepsEnoughPodsReady) {
  CreateDeployment(4);
  Pass();
  SetImage("two");
  int64_t least = 4;
  size_t most = 0;
  for (int step = 0; step < 100; ++step) {
    Pass(std::chrono::milliseconds(50));
    least = std::min(least, Count(kDeployment, "readyReplicas"));
    most = std::max(most, Pods().size());
  }
  EXPECT_GE(least, 3);
  EXPECT_LE(most, 5U);
  EXPECT_EQ(Count(kDeployment, "updatedReplicas"), 4);
  EXPECT_EQ(Count(kDeployment, "replicas"), 4);
}

TEST_F(DeploymentsTest, RecreateStopsAllFirst) {
  CreateDeployment(2, R"(,"strategy":{"type":"Recreate"})");
  Pass();
  SetImage("two");
  size_t most = 0;
  for (int step = 0; step < 100; ++step) {
    Pass(std::chrono::milliseconds(50));
    most = std::max(most, Pods().size());
  }
  EXPECT_EQ(most, 2U);
  EXPECT_EQ(Count(kDeployment, "updatedReplicas"), 2);
}

TEST_F(DeploymentsTest, BudgetFollowsThePods) {
  CreateDeployment(3);
  Create("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
         R"({"metadata":{"name":"b"},"spec":{"minAvailable":2,
             "selector":{"matchLabels":{"app":"web"}}}})");
  constexpr const char* kBudget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b";
  Pass();
  EXPECT_EQ(Count(kBudget, "disruptionsAllowed"), 1);
  EXPECT_EQ(Count(kBudget, "expectedPods"), 3);
  Patch(kDeployment, R"({"spec":{"replicas":2}})");
  Pass();
  EXPECT_EQ(Count(kBudget, "disruptionsAllowed"), 0);
}

}  // namespace
}  // namespace kgpu::simcluster
