#include "src/cluster/controller/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <string>

#include "src/cluster/controller/test_replicas.h"
#include "src/platform/base/log.h"
#include "testing/apiserver/json_fields.h"
#include "testing/fleet/sim_fleet.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using apiserver::TextAt;
using fleet_sim::SimFleet;
using fleet_sim::SimOptions;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPolicyPath = "/apis/kgpu.dev/v1alpha1/gpupolicies/all";
constexpr const char* kMapPath = "/api/v1/namespaces/kgpu/configmaps/kgpu-policy";

constexpr std::string_view kFeaturesPath =
    "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/kgpu/nodefeatures";

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    InstallCrd(api_);
  }
  ~ControllerTest() override { SetLogSink({}); }

  void Begin(std::string_view spec, SimOptions options = {.nodes = 4}) {
    sim_ = std::make_unique<SimFleet>(loop_, api_, random_, options);
    PutPolicy(api_, "all", spec);
    replica_ = std::make_unique<Replica>(loop_, api_, "one", 1);
    loop_.Advance(seconds(20));
  }
  void Change(std::string_view spec) {
    PutPolicy(api_, "all", spec);
    loop_.Advance(seconds(10));
  }
  json::object Find(const std::string& path) {
    const auto stored = api_.Find(path);
    return stored == nullptr ? json::object() : stored->object();
  }
  json::object Node(size_t number) { return Find("/api/v1/nodes/" + sim_->Name(number)); }
  std::string Label(size_t number, std::string_view key) {
    return std::string(TextAt(Node(number), {"metadata", "labels", key}));
  }
  bool HasTaint(size_t number) {
    return json::serialize(Node(number)).find("kgpu.dev/quarantined") != std::string::npos;
  }
  std::string Events() {
    std::string text;
    for (const auto& [key, event] : api_.store().All("events")) {
      text += fmt::format("{} {}: {}\n", TextAt(event->object(), {"reason"}),
                          TextAt(event->object(), {"involvedObject", "name"}),
                          TextAt(event->object(), {"message"}));
    }
    return text;
  }
  json::object Condition() {
    const json::object policy = Find(kPolicyPath);
    return policy.at("status").at("conditions").at(0).as_object();
  }
  std::string Reason() { return std::string(Condition().at("reason").as_string()); }
  std::string Message() { return std::string(Condition().at("message").as_string()); }
  int64_t Count(const char* what) {
    return Find(kPolicyPath).at("status").at(what).to_number<int64_t>();
  }
  uint64_t Writes() {
    uint64_t writes = 0;
    for (const char* verb : {"create", "update", "patch", "apply", "delete"}) {
      writes += api_.counters().Sum(verb, "", "kgpu-controller").requests;
    }
    return writes;
  }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  Random random_{3};
  std::unique_ptr<SimFleet> sim_;
  std::unique_ptr<Replica> replica_;
};

TEST_F(ControllerTest, ReportsEachGroup) {
  Begin(
      "groups: [{name: a, nodeSelector: {matchLabels: {pool: a}}}, {name: rest, nodeSelector: "
      "{}}]");
  EXPECT_TRUE(replica_->is_leader());
  EXPECT_EQ(Count("nodes"), 4);
  EXPECT_EQ(Count("ready"), 4);
  EXPECT_EQ(Condition().at("status"), "True");
  EXPECT_EQ(Find(kPolicyPath).at("status").at("groups").at(1).at("nodes"), 2);
  sim_->SetReady(1, false);
  loop_.Advance(seconds(5));
  EXPECT_EQ(Reason(), "NodesNotReady");
  EXPECT_THAT(Message(), HasSubstr("node-00001: the kubelet is not ready"));
}

TEST_F(ControllerTest, WritesNothingWhenNothingChanges) {
  Begin("groups: [{name: a, nodeSelector: {}, labels: {team: ml}, gate: {taint: true}}]");
  loop_.Advance(minutes(1));
  const uint64_t before = Writes();
  EXPECT_GT(before, 0U);
  loop_.Advance(std::chrono::hours(2));
  EXPECT_EQ(Writes(), before);
}

TEST_F(ControllerTest, AnInvalidPolicyChangesNothing) {
  Begin("groups: [{name: a, nodeSelector: {}, labels: {team: ml}}]");
  EXPECT_EQ(Label(0, "team"), "ml");
  Change("groups: [{name: a, nodeSelector: {}, driver: {from: package}}]");
  EXPECT_EQ(Reason(), "Invalid");
  EXPECT_THAT(Message(), HasSubstr("spec.groups[0].driver: branch or version is needed"));
  EXPECT_EQ(Label(0, "team"), "ml");
  // A new leader does not know the former spec, and keeps its hands off.
  replica_.reset();
  loop_.Advance(minutes(1));
  replica_ = std::make_unique<Replica>(loop_, api_, "two", 2);
  loop_.Advance(minutes(1));
  EXPECT_TRUE(replica_->is_leader());
  EXPECT_EQ(Label(0, "team"), "ml");
}

TEST_F(ControllerTest, LabelsFollowThePolicyAndGoWithIt) {
  Begin("groups: [{name: a, nodeSelector: {matchLabels: {pool: a}}, labels: {team: ml, tier: x}}]");
  EXPECT_EQ(Label(0, "team"), "ml");
  EXPECT_EQ(Label(1, "team"), "");
  ASSERT_OK(api_.Do("PATCH", "/api/v1/nodes/node-00000",
                    {{"metadata", {{"labels", {{"mine", "stays"}, {"team", "other"}}}}}}));
  loop_.Advance(seconds(5));
  EXPECT_EQ(Label(0, "team"), "ml");
  Change("groups: [{name: a, nodeSelector: {matchLabels: {pool: a}}, labels: {team: ai}}]");
  EXPECT_EQ(Label(0, "team"), "ai");
  EXPECT_EQ(Label(0, "tier"), "");
  ASSERT_OK(api_.Do("DELETE", kPolicyPath, json::object()));
  loop_.Advance(seconds(5));
  EXPECT_EQ(Label(0, "team"), "");
  EXPECT_EQ(Label(0, "mine"), "stays");
  EXPECT_EQ(json::serialize(Node(0)).find("policy-labels"), std::string::npos);
}

TEST_F(ControllerTest, APolicyMayLookAtLabelsThatNoneLookedAtBefore) {
  Begin("groups: [{name: a, nodeSelector: {matchLabels: {rack: r1}}}]");
  EXPECT_EQ(Count("nodes"), 0);
  ASSERT_OK(
      api_.Do("PATCH", "/api/v1/nodes/node-00000", {{"metadata", {{"labels", {{"row", "7"}}}}}}));
  Change("groups: [{name: a, nodeSelector: {matchExpressions: [{key: row, operator: Exists}]}}]");
  EXPECT_EQ(Count("nodes"), 1);
}

TEST_F(ControllerTest, GroupsConfigurationsAreInOneConfigMap) {
  Begin(R"(groups:
  - {name: a, nodeSelector: {matchLabels: {pool: a}}, gate: {taint: true}}
  - name: b
    nodeSelector: {matchExpressions: [{key: pool, operator: In, values: [b]}]}
    config: {pools: [{resource: kgpu.dev/big}]}
)");
  json::object data = Find(kMapPath).at("data").as_object();
  EXPECT_THAT(std::string(data.at("all.a.yaml").as_string()), HasSubstr("taint: true"));
  EXPECT_THAT(std::string(data.at("all.b.yaml").as_string()), HasSubstr("kgpu.dev/big"));
  EXPECT_EQ(TestYaml(std::string(data.at("selectors.yaml").as_string())),
            TestYaml("- {config: all.a, nodeSelector: {matchLabels: {pool: a}}}\n"
                     "- {config: all.b, nodeSelector: {matchExpressions: [{key: pool, operator: "
                     "In, values: [b]}]}}"));
  Change("groups: [{name: b, nodeSelector: {}, gate: {taint: false}}]");
  data = Find(kMapPath).at("data").as_object();
  EXPECT_FALSE(data.contains("all.a.yaml"));
  EXPECT_TRUE(data.contains("all.b.yaml"));
  Change("groups: [{name: b, nodeSelector: {}}]");
  EXPECT_THAT(Find(kMapPath), IsEmpty());
}

TEST_F(ControllerTest, KeysOfOthersInTheConfigMapAreRemovedOnce) {
  Begin("groups: [{name: a, nodeSelector: {}, gate: {taint: true}}]");
  ASSERT_OK(api_.Do("PATCH", kMapPath, {{"data", {{"theirs.yaml", "x"}}}}));
  loop_.Advance(minutes(1));
  EXPECT_FALSE(Find(kMapPath).at("data").as_object().contains("theirs.yaml"));
  EXPECT_TRUE(Find(kMapPath).at("data").as_object().contains("all.a.yaml"));
  const uint64_t before = Writes();
  loop_.Advance(minutes(10));
  EXPECT_EQ(Writes(), before);
}

TEST_F(ControllerTest, AnUpgradeRespectsDisruptionBudgets) {
  const std::string spec =
      "{groups: [{name: a, nodeSelector: {matchLabels: {pool: b}}, driver: {from: package, "
      "version: "
      "550.54.15}}], upgrade: {waitForJobsSeconds: 0}}";
  Begin("groups: [{name: a, nodeSelector: {}}]", {.nodes = 2, .gpu_pods = 1});
  ASSERT_OK(api_.Do("PATCH", "/api/v1/namespaces/default/pods/gpu-1-0",
                    {{"metadata", {{"labels", {{"app", "serve"}}}}}}));
  ASSERT_OK(api_.Do("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
                    {{"apiVersion", "policy/v1"},
                     {"kind", "PodDisruptionBudget"},
                     {"metadata", {{"name", "serve"}}},
                     {"spec", {{"selector", {{"matchLabels", {{"app", "serve"}}}}}}},
                     {"status", {{"disruptionsAllowed", 0}}}}));
  Change(spec);
  loop_.Advance(minutes(5));
  EXPECT_THAT(Find("/api/v1/namespaces/default/pods/gpu-1-0"), Not(IsEmpty()));
  EXPECT_EQ(Reason(), "Upgrading");
  EXPECT_THAT(replica_->controller().MetricsText(),
              Not(HasSubstr("kgpu_controller_evictions_blocked_total 0")));
  ASSERT_OK(api_.Do("PATCH", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/serve/status",
                    {{"status", {{"disruptionsAllowed", 1}}}}));
  loop_.Advance(minutes(10));
  EXPECT_THAT(Find("/api/v1/namespaces/default/pods/gpu-1-0"), IsEmpty());
  EXPECT_THAT(Find("/api/v1/namespaces/default/pods/gpu-0-0"), Not(IsEmpty()));
  EXPECT_EQ(sim_->CountDriver("550.54.15"), 1U);
  EXPECT_EQ(sim_->CountCordoned(), 0U);
  EXPECT_THAT(Events(), AllOf(HasSubstr("EvictedForUpgrade gpu-1-0"),
                              HasSubstr("Upgraded node-00001: driver 550.54.15 replaced 535")));
  // The pods that did it are gone, too.
  EXPECT_EQ(json::serialize(json::value(Find("/api/v1/namespaces/kgpu/pods"))), "{}");
  for (const auto& [key, pod] : api_.store().All("pods")) {
    EXPECT_NE(key.name_space, "kgpu") << key.name;
  }
}

TEST_F(ControllerTest, SharedGpusAreValidatedOneAtATime) {
  Begin(
      "{groups: [{name: a, nodeSelector: {}, driver: {from: package, branch: \"550\"}}], "
      "quarantine: {enabled: true}}",
      {.nodes = 1, .gpu_pods = 0, .is_single = true});
  loop_.Advance(minutes(5));
  EXPECT_EQ(sim_->CountDriver("550"), 1U);
  EXPECT_EQ(sim_->CountCordoned(), 0U);
  EXPECT_THAT(sim_->States(), IsEmpty());
  sim_->SetHealthy(0, false);
  loop_.Advance(seconds(5));
  EXPECT_TRUE(HasTaint(0));
  sim_->SetHealthy(0, true);
  loop_.Advance(minutes(2));
  EXPECT_FALSE(HasTaint(0));
}

TEST_F(ControllerTest, AnInstallerThatTheServerRefusesIsNamed) {
  api_.faults().Add({.verb = "create", .resource = "pods", .user_agent = "kgpu", .code = 403});
  Begin(
      "{groups: [{name: a, nodeSelector: {}, driver: {from: package, branch: \"550\"}}], "
      "upgrade: {installSeconds: 60, attempts: 1}}",
      {.nodes = 1, .gpu_pods = 0});
  loop_.Advance(minutes(5));
  EXPECT_EQ(Reason(), "UpgradeFailed");
  EXPECT_THAT(Message(), HasSubstr("could not be created: "));
}

TEST_F(ControllerTest, ANodeThatOthersCordonedStaysCordoned) {
  Begin("groups: [{name: a, nodeSelector: {}}]", {.nodes = 1, .gpu_pods = 0});
  ASSERT_OK(api_.Do("PATCH", "/api/v1/nodes/node-00000", {{"spec", {{"unschedulable", true}}}}));
  Change("groups: [{name: a, nodeSelector: {}, driver: {from: package, branch: \"550\"}}]");
  loop_.Advance(minutes(10));
  EXPECT_EQ(sim_->CountDriver("550"), 1U);
  EXPECT_EQ(sim_->CountCordoned(), 1U);
  EXPECT_THAT(sim_->States(), IsEmpty());
}

TEST_F(ControllerTest, AContainersDriverNeedsItsDaemonSet) {
  Begin("groups: [{name: a, nodeSelector: {}, driver: {from: container, branch: \"550\"}}]");
  EXPECT_EQ(Reason(), "DriverUnavailable");
  EXPECT_THAT(Message(), HasSubstr("DaemonSet kgpu-driver does not exist"));
  EXPECT_EQ(sim_->CountCordoned(), 0U);
}

TEST_F(ControllerTest, QuarantineFencesNotifiesAndReturnsAfterValidation) {
  Begin(
      "{groups: [{name: a, nodeSelector: {}}], quarantine: {enabled: true, reasons: "
      "[RowRemapFailure], maxNodes: 1}}",
      {.nodes = 3, .gpu_pods = 1});
  ASSERT_OK(api_.Do("PATCH", "/api/v1/nodes/node-00001",
                    {{"spec", {{"taints", {{{"key", "mine"}, {"effect", "NoSchedule"}}}}}}}));
  sim_->SetHealthy(1, false);
  sim_->SetHealthy(2, false);
  sim_->SetHealthy(0, false, "GpuTooHot");
  loop_.Advance(seconds(2));
  EXPECT_FALSE(HasTaint(0));
  EXPECT_TRUE(HasTaint(1));
  EXPECT_FALSE(HasTaint(2));  // maxNodes
  EXPECT_EQ(Count("quarantined"), 1);
  loop_.Advance(seconds(20));
  EXPECT_THAT(Events(),
              AllOf(HasSubstr("Quarantined node-00001"), HasSubstr("NodeQuarantined gpu-1-0")));
  sim_->SetHealthy(1, true);
  loop_.Advance(minutes(30));
  EXPECT_TRUE(HasTaint(1));  // the pod may hold the broken GPU
  EXPECT_THAT(Message(), HasSubstr("node-00001: in quarantine: RowRemapFailure, healthy again"));
  ASSERT_OK(api_.Do("DELETE", "/api/v1/namespaces/default/pods/gpu-1-0", json::object()));
  loop_.Advance(minutes(2));
  EXPECT_FALSE(HasTaint(1));
  EXPECT_TRUE(HasTaint(2));  // there is room now
  EXPECT_EQ(json::serialize(Node(1).at("spec").at("taints")),
            R"([{"key":"mine","effect":"NoSchedule"}])");
  Change("groups: [{name: a, nodeSelector: {}}]");
  EXPECT_FALSE(HasTaint(2));
}

class FeatureTest : public ControllerTest {
 protected:
  FeatureTest() {
    const char* crd = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodefeatures.nfd.k8s-sigs.io}
spec:
  group: nfd.k8s-sigs.io
  scope: Namespaced
  names: {plural: nodefeatures, kind: NodeFeature}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
)";
    EXPECT_OK(
        api_.Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", TestYaml(crd)));
  }
  json::object Feature(std::string_view node) {
    return Find(fmt::format("{}/{}", kFeaturesPath, node));
  }
  // As the agent of the node does.
  void AddFeature(const char* node) {
    const json::value feature = {
        {"apiVersion", "nfd.k8s-sigs.io/v1alpha1"},
        {"kind", "NodeFeature"},
        {"metadata", {{"name", node}, {"labels", {{"nfd.node.kubernetes.io/node-name", node}}}}}};
    http::Request request;
    request.method = "PATCH";
    request.target = fmt::format("{}/{}?fieldManager=kgpu", kFeaturesPath, node);
    request.body = json::serialize(feature);
    request.headers.Add("Content-Type", "application/apply-patch+yaml");
    class Ignore final : public apiserver::Sink {
      void Answer(const http::Response&) override {}
      void Begin(int, const http::Headers&) override {}
      bool Write(std::string_view) override { return true; }
      void End() override {}
      void Cut() override {}
      bool is_open() const override { return true; }
    };
    api_.Handle(request, std::make_shared<Ignore>());
  }
};

TEST_F(FeatureTest, ADeletedNodesFeaturesGo) {
  Begin("groups: [{name: a, nodeSelector: {}}]");
  AddFeature("node-00000");
  AddFeature("node-00001");
  loop_.Advance(minutes(5));
  EXPECT_THAT(Feature("node-00000"), Not(IsEmpty()));
  sim_->DeleteNode(0);
  loop_.Advance(minutes(1));
  EXPECT_THAT(Feature("node-00000"), IsEmpty());
  EXPECT_THAT(Feature("node-00001"), Not(IsEmpty()));
}

TEST_F(FeatureTest, NobodysFeaturesGoWhileTheNodesAreNotFollowed) {
  Begin("groups: [{name: a, nodeSelector: {}}]");
  api_.faults().Add({.resource = "nodes", .user_agent = "kgpu-controller"});
  api_.CutWatches();
  ASSERT_OK(
      api_.Do("POST", "/api/v1/nodes",
              {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "node-new"}}}}));
  AddFeature("node-new");
  loop_.Advance(minutes(90));
  EXPECT_THAT(Feature("node-new"), Not(IsEmpty()));
}

TEST_F(ControllerTest, ReactsWithinASecond) {
  Begin("{groups: [{name: a, nodeSelector: {}}], quarantine: {enabled: true}}");
  sim_->SetHealthy(1, false);
  loop_.Advance(std::chrono::milliseconds(500));
  EXPECT_TRUE(HasTaint(1));
}

}  // namespace
}  // namespace kgpu::controller
