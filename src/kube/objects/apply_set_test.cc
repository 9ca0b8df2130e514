#include "src/kube/objects/apply_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/kube/api/json.h"
#include "src/kube/objects/manifests.h"
#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSet = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: kgpu}
data: {a: "1"}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: kgpu}
)";
constexpr const char* kConfig = "/api/v1/namespaces/kgpu/configmaps/c";

std::vector<json::value> Objects(std::string_view text) {
  const auto parsed = ParseManifests(text, "m.yaml");
  EXPECT_OK(parsed);
  std::vector<json::value> objects;
  for (const ManifestObject& item : parsed.ok() ? *parsed : std::vector<ManifestObject>()) {
    objects.push_back(item.object);
  }
  return objects;
}

class ApplySetTest : public ::testing::Test {
 protected:
  std::vector<ApplyResult> Apply(std::string_view text, const ApplyOptions& options = {}) {
    return ApplyObjects(cluster_.client, kinds_, Objects(text), options);
  }
  static std::vector<std::string> Lines(const std::vector<ApplyResult>& results) {
    std::vector<std::string> lines;
    for (const ApplyResult& result : results) {
      lines.push_back(fmt::format("{} {}", TextOf(result.ref), ToString(result.outcome)));
    }
    return lines;
  }
  uint64_t Changes() { return cluster_.api.counters().Sum().changes; }

  TestCluster cluster_;
  Kinds kinds_{cluster_.client};
};

TEST_F(ApplySetTest, CreatesInOrderAndThenChangesNothing) {
  EXPECT_THAT(
      Lines(Apply(kSet)),
      ElementsAre("Namespace kgpu created", "CustomResourceDefinition widgets.example.com created",
                  "ConfigMap kgpu/c created", "Widget w created"));
  cluster_.api.counters().Reset();
  EXPECT_THAT(Lines(Apply(kSet)),
              ElementsAre("Namespace kgpu unchanged",
                          "CustomResourceDefinition widgets.example.com unchanged",
                          "ConfigMap kgpu/c unchanged", "Widget w unchanged"));
  EXPECT_EQ(Changes(), 0U);
}

TEST_F(ApplySetTest, ShowsWhatChanged) {
  ASSERT_OK(StatusOfResults(Apply(kSet)));
  const auto results = Apply(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: kgpu}, data: {b: '2'}}");
  ASSERT_THAT(Lines(results), ElementsAre("ConfigMap kgpu/c changed"));
  EXPECT_THAT(results[0].changes, ElementsAre(FieldChange{.path = "data.a", .before = "\"1\""},
                                              FieldChange{.path = "data.b", .after = "\"2\""}));
  EXPECT_EQ(results[0].uid, TextField(cluster_.At(kConfig), {"metadata", "uid"}));
}

TEST_F(ApplySetTest, ADryRunWritesNothingAndReportsTheSame) {
  const std::vector<std::string> dry = Lines(Apply(kSet, {.is_dry_run = true}));
  EXPECT_EQ(Changes(), 0U);
  EXPECT_EQ(dry, Lines(Apply(kSet)));
}

TEST_F(ApplySetTest, AConflictNamesFieldAndOwner) {
  ASSERT_OK(StatusOfResults(Apply(kSet)));
  ASSERT_OK(cluster_.api.Do("PATCH", kConfig, {{"data", {{"a", "theirs"}}}}));
  const auto results = Apply(kSet);
  EXPECT_THAT(
      StatusOfResults(results),
      StatusIs(StatusCode::kAborted, AllOf(HasSubstr("ConfigMap kgpu/c"), HasSubstr(".data.a"),
                                           HasSubstr("\"test\""), HasSubstr("--force-conflicts"))));
  EXPECT_THAT(Lines(results), ::testing::Contains("Widget w unchanged"));
  EXPECT_OK(StatusOfResults(Apply(kSet, {.force = true})));
  EXPECT_EQ(TextField(cluster_.At(kConfig), {"data", "a"}), "1");
}

TEST_F(ApplySetTest, EachConflictIsNamed) {
  ASSERT_OK(StatusOfResults(Apply(kSet)));
  ASSERT_OK(cluster_.api.Do("PATCH", kConfig, {{"data", {{"a", "theirs"}}}}));
  ASSERT_OK(cluster_.api.Do(
      "PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
      {{"spec", {{"names", {{"listKind", "Widgets"}}}}}}));
  const Status status = StatusOfResults(Apply(kSet));
  EXPECT_THAT(status, StatusIs(StatusCode::kAborted,
                               AllOf(HasSubstr("ConfigMap kgpu/c: .data.a"),
                                     HasSubstr("widgets.example.com: .spec.names.listKind"))));
  EXPECT_EQ(Message(status).find("--force-conflicts"), Message(status).rfind("--force-conflicts"));
}

// Otherwise each later change of a field that kubectl has set, too, would be a conflict.
TEST_F(ApplySetTest, WhatKubectlHasAppliedBecomesOurs) {
  const std::string target = "/api/v1/namespaces/default/configmaps";
  const std::string path = target + "/m";
  const auto create = [&](std::string_view manager) {
    ASSERT_OK(cluster_.api.Do("POST", fmt::format("{}?fieldManager={}", target, manager),
                              {{"metadata", {{"name", "m"}}}, {"data", {{"a", "1"}}}}));
  };
  const auto apply = [&](std::string_view value) {
    return StatusOfResults(Apply(
        fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: m, namespace: default}}, "
                    "data: {{a: '{}'}}}}",
                    value),
        {.replaces_kubectl = [](const ObjectRef& ref) { return ref.name == "m"; }}));
  };
  create("kubectl-client-side-apply");
  EXPECT_OK(apply("1"));
  EXPECT_OK(apply("2"));
  EXPECT_EQ(TextField(cluster_.At(path), {"data", "a"}), "2");
  ASSERT_OK(cluster_.api.Do("DELETE", path, nullptr));
  create("kubectl-edit");
  EXPECT_OK(apply("1"));
  EXPECT_THAT(apply("2"), StatusIs(StatusCode::kAborted));
}

TEST_F(ApplySetTest, CollectsTheErrorsOfAllObjects) {
  cluster_.api.faults().Add({.kind = apiserver::FaultKind::kAnswer,
                             .verb = "apply",
                             .resource = "configmaps",
                             .code = 403});
  const auto results = Apply(kSet);
  EXPECT_THAT(Lines(results), ElementsAre("Namespace kgpu created",
                                          "CustomResourceDefinition widgets.example.com created",
                                          "ConfigMap kgpu/c failed", "Widget w created"));
  EXPECT_THAT(StatusOfResults(results),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("ConfigMap kgpu/c")));
}

TEST_F(ApplySetTest, StopsWhenTheServerCannotBeReached) {
  cluster_.api.faults().Add({.kind = apiserver::FaultKind::kAway});
  const auto results = Apply(kSet, {.reach_time = seconds(3)});
  EXPECT_THAT(Lines(results), ElementsAre("Namespace kgpu failed"));
  EXPECT_THAT(StatusOfResults(results), StatusIs(StatusCode::kUnavailable));
}

TEST_F(ApplySetTest, SurvivesAnOutage) {
  cluster_.api.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = seconds(10)});
  EXPECT_OK(StatusOfResults(Apply(kSet)));
}

TEST_F(ApplySetTest, AKindThatIsNotServedIsAnErrorOfItsObject) {
  const auto results = Apply(R"({"apiVersion":"other.example.com/v1","kind":"Gadget",
                                 "metadata":{"name":"g"}})");
  EXPECT_THAT(StatusOfResults(results),
              StatusIs(StatusCode::kNotFound, HasSubstr("Gadget g: this cluster does not serve")));
}

// A real server takes a moment until a definition is established; the stub takes none.
class SlowServer final : public BlockingClient {
 public:
  SlowServer(FakeLoop& loop, seconds time) : loop_(loop), until_(loop.clock().Now() + time) {}

  StatusOr<json::value> Send(ApiRequest /*request*/) override {
    const bool is_over = loop_.clock().Now() >= until_;
    return json::value{{"status",
                        {{"conditions",
                          {{{"type", "Established"},
                            {"status", is_over ? "True" : "False"},
                            {"reason", "Installing"},
                            {"message", "still installing"}}}}}}};
  }
  void Wait(std::chrono::milliseconds time) override { loop_.Advance(time); }
  const Clock& clock() const override { return loop_.clock(); }

 private:
  FakeLoop& loop_;
  SteadyTime until_;
};

TEST_F(ApplySetTest, WaitsForASlowDefinition) {
  SlowServer slow(cluster_.loop, seconds(20));
  EXPECT_THAT(WaitEstablished(slow, "widgets.example.com", seconds(5)),
              StatusIs(StatusCode::kDeadlineExceeded,
                       HasSubstr("widgets.example.com is not established after 5 s: still inst")));
  EXPECT_OK(WaitEstablished(slow, "widgets.example.com", seconds(60)));
}

TEST_F(ApplySetTest, TriesAgainWhileANewKindIsNotServedEverywhere) {
  cluster_.api.faults().Add({.kind = apiserver::FaultKind::kAnswer,
                             .verb = "apply",
                             .resource = "widgets.example.com",
                             .code = 404,
                             .count = 2});
  EXPECT_OK(StatusOfResults(Apply(kSet)));
}

// Whatever request it ends at: the next run brings the cluster to the same state.
TEST_F(ApplySetTest, AnInterruptedRunIsContinued) {
  ASSERT_OK(StatusOfResults(Apply(kSet)));
  const uint64_t requests = cluster_.api.counters().Sum().requests;
  for (uint64_t stop = 0; stop < requests; ++stop) {
    TestCluster cluster;
    uint64_t sent = 0;
    cluster.client.BeforeSend([&](const ApiRequest&) {
      return sent++ < stop ? OkStatus() : PermissionDenied("ended here");
    });
    Kinds kinds(cluster.client);
    EXPECT_FALSE(StatusOfResults(ApplyObjects(cluster.client, kinds, Objects(kSet), {})).ok());
    cluster.client.BeforeSend({});
    Kinds again(cluster.client);
    EXPECT_OK(StatusOfResults(ApplyObjects(cluster.client, again, Objects(kSet), {})));
    EXPECT_EQ(TextField(cluster.At(kConfig), {"data", "a"}), "1") << stop;
  }
}

}  // namespace
}  // namespace kgpu::kube
