// What is special about single kinds: events, leases, pods and their eviction, custom resources,
// reviews and tokens.
#include <gmock/gmock.h>

#include "testing/apiserver/api_fixture.h"
#include "testing/status_matchers.h"

namespace kgpu::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using KindsTest = ApiTest;

constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/default/events";
constexpr const char* kEvent =
    R"({"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z",
    "type":"Warning","reason":"GpuLost","action":"Watch","reportingController":"kgpu.dev/agent",
    "reportingInstance":"n1","note":"gone","regarding":{"kind":"Node","name":"n1","uid":"1"}})";

TEST_F(KindsTest, EventHasTwoForms) {
  ASSERT_EQ(Post(kEvents, kEvent)->code, 201);
  const auto newer = Get(fmt::format("{}/e", kEvents))->Json();
  EXPECT_EQ(TextAt(newer, {"apiVersion"}), "events.k8s.io/v1");
  EXPECT_EQ(TextAt(newer, {"note"}), "gone");
  const auto core = Get("/api/v1/namespaces/default/events/e")->Json();
  EXPECT_EQ(TextAt(core, {"apiVersion"}), "v1");
  EXPECT_EQ(TextAt(core, {"message"}), "gone");
  EXPECT_EQ(TextAt(core, {"involvedObject", "name"}), "n1");
  const auto list = Get("/api/v1/events?fieldSelector=involvedObject.name%3Dn1")->Json();
  EXPECT_EQ(ListAt(list, {"items"})->size(), 1U);
}

TEST_F(KindsTest, EventOfAWrongFormIs422) {
  EXPECT_EQ(Post(kEvents, R"({"metadata":{"name":"e"},"type":"Bad"})")->code, 422);
}

TEST_F(KindsTest, EventChangesOnlyItsSeries) {
  Post(kEvents, kEvent);
  const std::string path = fmt::format("{}/e", kEvents);
  EXPECT_EQ(MergePatch(path, R"({"series":{"count":2,
                       "lastObservedTime":"2026-01-01T00:01:00.000000Z"}})")
                ->code,
            200);
  EXPECT_EQ(MergePatch(path, R"({"series":{"count":1}})")->code, 422);
  EXPECT_EQ(MergePatch(path, R"({"note":"other"})")->code, 422);
}

TEST_F(KindsTest, QuotasAndAutoscalersAreCheckedAndKept) {
  const char* quotas = "/api/v1/namespaces/default/resourcequotas";
  EXPECT_EQ(Post(quotas, R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"1000m"}}})")->code,
            201);
  EXPECT_EQ(TextAt(Get(fmt::format("{}/q", quotas))->Json(), {"spec", "hard", "pods"}), "1");
  const char* scalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
  EXPECT_EQ(Post(scalers, R"({"metadata":{"name":"s"},"spec":{"maxReplicas":3,"minReplicas":1,
                     "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}})")
                ->code,
            201);
  EXPECT_EQ(Post(scalers, R"({"metadata":{"name":"t"},"spec":{"maxReplicas":"3"}})")->code, 400);
}

TEST_F(KindsTest, DefaultsThatDependOnOtherFields) {
  const char* autoscalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
  ASSERT_EQ(Post(autoscalers, R"({"metadata":{"name":"s"},"spec":{"maxReplicas":3,
                     "behavior":{"scaleDown":{"stabilizationWindowSeconds":9}},
                     "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}})")
                ->code,
            201);
  const auto scaler = Get(fmt::format("{}/s", autoscalers))->Json();
  EXPECT_EQ(NumberAt(scaler, {"spec", "minReplicas"}, 0), 1);
  EXPECT_EQ(ListAt(scaler, {"spec", "behavior", "scaleUp", "policies"})->size(), 2U);
  EXPECT_EQ(TextAt(scaler, {"spec", "behavior", "scaleDown", "selectPolicy"}), "Max");
  const char* bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  ASSERT_EQ(Post(bindings, R"({"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"r"},
                     "subjects":[{"kind":"User","name":"u"},
                     {"kind":"ServiceAccount","name":"s","namespace":"n"}]})")
                ->code,
            201);
  const auto binding = Get(fmt::format("{}/b", bindings))->Json();
  EXPECT_EQ(TextAt(binding, {"roleRef", "apiGroup"}), "rbac.authorization.k8s.io");
  const auto& subjects = *ListAt(binding, {"subjects"});
  EXPECT_EQ(TextAt(subjects[0].as_object(), {"apiGroup"}), "rbac.authorization.k8s.io");
  EXPECT_FALSE(subjects[1].as_object().contains("apiGroup"));
  const char* services = "/api/v1/namespaces/default/services";
  ASSERT_EQ(Post(services, R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})")->code,
            201);
  const auto service = Get(fmt::format("{}/s", services))->Json();
  const auto& port = ListAt(service, {"spec", "ports"})->at(0).as_object();
  EXPECT_EQ(NumberAt(port, {"targetPort"}, 0), 80);
  EXPECT_EQ(TextAt(port, {"protocol"}), "TCP");
  EXPECT_EQ(TextAt(service, {"spec", "sessionAffinity"}), "None");
}

TEST_F(KindsTest, LeaseOfNoDurationIs422) {
  EXPECT_EQ(Post("/apis/coordination.k8s.io/v1/namespaces/default/leases",
                 R"({"metadata":{"name":"l"},"spec":{"leaseDurationSeconds":0}})")
                ->code,
            422);
}

class PodTest : public ApiTest {
 protected:
  PodTest() : ApiTest({.pod_stop_time = std::chrono::seconds(5)}) {}
  void AddPod(std::string_view name) {
    EXPECT_EQ(Post("/api/v1/namespaces/default/pods",
                   fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"app":"a"}}}},
                       "spec":{{"nodeName":"n1",
                       "containers":[{{"name":"c","image":"i"}}]}}}})",
                               name))
                  ->code,
              201);
    MergePatch(fmt::format("/api/v1/namespaces/default/pods/{}/status", name),
               R"({"status":{"phase":"Running"}})");
  }
  std::shared_ptr<Seen> Evict(std::string_view name) {
    return Post(fmt::format("/api/v1/namespaces/default/pods/{}/eviction", name),
                fmt::format(R"({{"apiVersion":"policy/v1","kind":"Eviction",
                            "metadata":{{"name":"{}"}}}})",
                            name));
  }
  void AddBudget(int allowed) {
    constexpr const char* kPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    Post(kPath, R"({"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"app":"a"}}}})");
    MergePatch(fmt::format("{}/b/status", kPath),
               fmt::format(R"({{"status":{{"disruptionsAllowed":{}}}}})", allowed));
  }
};

TEST_F(PodTest, StopsBeforeItIsGone) {
  AddPod("p");
  EXPECT_EQ(Send("DELETE", "/api/v1/namespaces/default/pods/p")->code, 200);
  const auto pod = Get("/api/v1/namespaces/default/pods/p")->Json();
  EXPECT_EQ(NumberAt(pod, {"metadata", "deletionGracePeriodSeconds"}, 0), 30);
  loop_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(Get("/api/v1/namespaces/default/pods/p")->code, 404);
}

TEST_F(PodTest, EvictionIs201AndThePodStops) {
  AddPod("p");
  EXPECT_EQ(Evict("p")->code, 201);
  EXPECT_EQ(Evict("none")->code, 404);
  loop_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(Get("/api/v1/namespaces/default/pods/p")->code, 404);
}

TEST_F(PodTest, BudgetHoldsEvictionsBack) {
  AddPod("p");
  AddPod("q");
  AddBudget(1);
  EXPECT_EQ(Evict("p")->code, 201);
  const auto held = Evict("q");
  EXPECT_EQ(held->code, 429);
  EXPECT_THAT(held->body, HasSubstr("DisruptionBudget"));
}

TEST_F(PodTest, ContainersMayNotChange) {
  AddPod("p");
  const std::string path = "/api/v1/namespaces/default/pods/p";
  EXPECT_EQ(Patch(path, "strategic-merge-patch+json",
                  R"({"spec":{"containers":[{"name":"c","image":"j"}]}})")
                ->code,
            200);
  EXPECT_EQ(Patch(path, "strategic-merge-patch+json",
                  R"({"spec":{"containers":[{"name":"c","command":["x"]}]}})")
                ->code,
            422);
}

class CustomResourceTest : public ApiTest {
 protected:
  CustomResourceTest() {
    EXPECT_EQ(Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
        "metadata":{"name":"widgets.example.com"},
        "spec":{"group":"example.com","scope":"Namespaced",
          "names":{"plural":"widgets","singular":"widget","kind":"Widget"},
          "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
            "selectableFields":[{"jsonPath":".spec.colour"}],
            "schema":{"openAPIV3Schema":{"type":"object","properties":{
              "spec":{"type":"object","required":["size"],"properties":{
                "size":{"type":"integer","minimum":1},
                "colour":{"type":"string","default":"red","enum":["red","blue"]},
                "parts":{"type":"array","x-kubernetes-list-type":"map",
                  "x-kubernetes-list-map-keys":["id"],"items":{"type":"object",
                  "properties":{"id":{"type":"string"},"n":{"type":"integer"}}}},
                "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
              "status":{"type":"object","properties":{"ok":{"type":"boolean"}}}}}}}]}})")
                  ->code,
              201);
  }
  std::shared_ptr<Seen> Add(std::string_view spec) {
    return Post(kPath, fmt::format(R"({{"apiVersion":"example.com/v1","kind":"Widget",
        "metadata":{{"name":"w"}},"spec":{},"status":{{"ok":true}}}})",
                                   spec));
  }
  static constexpr const char* kPath = "/apis/example.com/v1/namespaces/default/widgets";
  const std::string one_ = fmt::format("{}/w", kPath);
};

TEST_F(CustomResourceTest, IsPrunedAndFilledByItsSchema) {
  const auto seen = Add(R"({"size":1,"unknown":2,"free":{"x":1}})");
  ASSERT_EQ(seen->code, 201);
  const auto widget = seen->Json();
  EXPECT_EQ(boost::json::serialize(widget.at("spec")),
            R"({"size":1,"free":{"x":1},"colour":"red"})");
  EXPECT_FALSE(widget.contains("status"));
  EXPECT_EQ(NumberAt(widget, {"metadata", "generation"}, 0), 1);
}

TEST_F(CustomResourceTest, IsCheckedByItsSchema) {
  EXPECT_THAT(Add(R"({"size":0})")->body, HasSubstr("spec.size"));
  EXPECT_THAT(Add(R"({"colour":"red"})")->body, HasSubstr("Required value"));
  EXPECT_THAT(Add(R"({"size":1,"colour":"green"})")->body, HasSubstr("Unsupported value"));
  EXPECT_THAT(Add(R"({"size":"1"})")->body, HasSubstr("must be of type integer"));
  EXPECT_EQ(Get(one_)->code, 404);
}

TEST_F(CustomResourceTest, GenerationCountsChangesOfTheSpec) {
  Add(R"({"size":1})");
  MergePatch(one_, R"({"metadata":{"labels":{"a":"b"}}})");
  MergePatch(fmt::format("{}/status", one_), R"({"status":{"ok":true}})");
  EXPECT_EQ(NumberAt(Get(one_)->Json(), {"metadata", "generation"}, 0), 1);
  MergePatch(one_, R"({"spec":{"size":2}})");
  EXPECT_EQ(NumberAt(Get(one_)->Json(), {"metadata", "generation"}, 0), 2);
}

TEST_F(CustomResourceTest, TakesNoStrategicPatchAndNeedsAVersion) {
  Add(R"({"size":1})");
  EXPECT_EQ(Patch(one_, "strategic-merge-patch+json", "{}")->code, 415);
  EXPECT_EQ(Put(one_, {{"metadata", {{"name", "w"}}}})->code, 422);
}

TEST_F(CustomResourceTest, ListsAreAppliedByTheirKeys) {
  const auto apply = [&](const char* manager, const char* id) {
    return Apply(one_, manager,
                 fmt::format(R"({{"apiVersion":"example.com/v1","kind":"Widget",
                     "metadata":{{"name":"w"}},
                     "spec":{{"size":1,"parts":[{{"id":"{}","n":1}}]}}}})",
                             id));
  };
  EXPECT_EQ(apply("one", "a")->code, 201);
  EXPECT_EQ(apply("two", "b")->code, 200);
  const auto widget = Get(one_)->Json();
  EXPECT_EQ(ListAt(widget, {"spec", "parts"})->size(), 2U);
}

TEST_F(CustomResourceTest, SelectsByItsFields) {
  Add(R"({"size":1})");
  const auto list = Get(fmt::format("{}?fieldSelector=spec.colour%3Dred", kPath))->Json();
  EXPECT_EQ(ListAt(list, {"items"})->size(), 1U);
}

TEST_F(KindsTest, DefinitionMustBeStructural) {
  const auto seen = Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
      "metadata":{"name":"things.example.com"},
      "spec":{"group":"example.com","scope":"Cluster",
        "names":{"plural":"things","kind":"Thing"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
          {"type":"object","properties":{"spec":{"properties":{"a":{"$ref":"b"}}}}}}}]}})");
  EXPECT_EQ(seen->code, 422);
  EXPECT_THAT(seen->body, HasSubstr("openAPIV3Schema.properties[spec].type"));
  EXPECT_THAT(seen->body, HasSubstr("properties[a].$ref"));
}

TEST_F(CustomResourceTest, GoesWithItsDefinition) {
  Add(R"({"size":1})");
  Send("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com");
  EXPECT_EQ(Get(one_)->code, 404);
  EXPECT_EQ(Get("/apis/example.com/v1")->code, 404);
}

TEST_F(KindsTest, TokenIsAskedForOnceThereIsOne) {
  api_.access().AddToken("secret", {.name = "me", .groups = {"g"}});
  EXPECT_EQ(Get("/api/v1/nodes")->code, 401);
  EXPECT_EQ(Get("/api/v1/nodes", {{"Authorization", "Bearer wrong"}})->code, 401);
  EXPECT_EQ(Get("/api/v1/nodes", {{"Authorization", "Bearer secret"}})->code, 200);
  EXPECT_EQ(Get("/readyz")->code, 200);
}

TEST_F(KindsTest, TokenReviewTellsWhose) {
  const char* path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const auto seen = Post(path, R"({"spec":{"token":"x"}})");
  EXPECT_EQ(seen->code, 201);
  EXPECT_FALSE(FlagAt(seen->Json(), {"status", "authenticated"}));
  api_.access().AddToken("secret", {.name = "me"});
  const auto good =
      Send("POST", path, R"({"spec":{"token":"secret"}})", {{"Authorization", "Bearer secret"}})
          ->Json();
  EXPECT_TRUE(FlagAt(good, {"status", "authenticated"}));
  EXPECT_EQ(TextAt(good, {"status", "user", "username"}), "me");
}

TEST_F(KindsTest, ServiceAccountGetsTokensThatEnd) {
  const auto made = Post("/api/v1/namespaces/default/serviceaccounts/default/token",
                         R"({"spec":{"expirationSeconds":600}})");
  EXPECT_EQ(made->code, 201);
  const std::string token(TextAt(made->Json(), {"status", "token"}));
  const std::string bearer = fmt::format("Bearer {}", token);
  EXPECT_EQ(Get("/api/v1/nodes", {{"Authorization", bearer}})->code, 200);
  loop_.Advance(std::chrono::seconds(600));
  EXPECT_EQ(Get("/api/v1/nodes", {{"Authorization", bearer}})->code, 401);
}

TEST_F(KindsTest, AccessReviewAsksTheAuthorizer) {
  const char* path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const char* body = R"({"spec":{"user":"me","nonResourceAttributes":{"path":"/metrics"}}})";
  EXPECT_TRUE(FlagAt(Post(path, body)->Json(), {"status", "allowed"}));
  api_.access().SetAuthorizer([](const boost::json::object& spec) {
    return TextAt(spec, {"nonResourceAttributes", "path"}) != "/metrics";
  });
  EXPECT_FALSE(FlagAt(Post(path, body)->Json(), {"status", "allowed"}));
}

TEST_F(KindsTest, NamespaceTakesItsObjectsAlong) {
  Post("/api/v1/namespaces", R"({"metadata":{"name":"team"}})");
  Post("/api/v1/namespaces/team/configmaps", R"({"metadata":{"name":"c"}})");
  Send("DELETE", "/api/v1/namespaces/team");
  EXPECT_EQ(Get("/api/v1/namespaces/team/configmaps/c")->code, 404);
}

}  // namespace
}  // namespace kgpu::apiserver
