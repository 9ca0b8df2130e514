#include "testing/apiserver/api.h"

#include <gmock/gmock.h>

#include "testing/apiserver/api_fixture.h"
#include "testing/status_matchers.h"

namespace kgpu::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(ApiTest, CreateGivesIdentity) {
  const auto seen = AddNode("n1");
  EXPECT_EQ(seen->code, 201);
  const auto node = seen->Json();
  EXPECT_EQ(TextAt(node, {"metadata", "name"}), "n1");
  EXPECT_THAT(std::string(TextAt(node, {"metadata", "uid"})), SizeIs(36));
  EXPECT_EQ(TextAt(node, {"metadata", "creationTimestamp"}), "2023-11-14T22:13:20Z");
  EXPECT_EQ(TextAt(node, {"metadata", "resourceVersion"}), Version());
  EXPECT_EQ(Get("/api/v1/nodes/n1")->Json(), node);
}

TEST_F(ApiTest, CreateRefusesASecondOfThatName) {
  AddNode("n1");
  const auto seen = AddNode("n1");
  EXPECT_EQ(seen->code, 409);
  EXPECT_EQ(TextAt(seen->Json(), {"reason"}), "AlreadyExists");
}

TEST_F(ApiTest, CreateCompletesAGeneratedName) {
  const auto seen =
      Post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"generateName":"cm-"}})");
  EXPECT_EQ(seen->code, 201);
  EXPECT_THAT(std::string(TextAt(seen->Json(), {"metadata", "name"})), SizeIs(8));
}

TEST_F(ApiTest, CreateNeedsItsNamespace) {
  const auto seen = Post("/api/v1/namespaces/nowhere/configmaps", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(seen->code, 404);
  EXPECT_EQ(TextAt(seen->Json(), {"details", "kind"}), "namespaces");
}

TEST_F(ApiTest, GetSaysWhatIsMissing) {
  const auto seen = Get("/api/v1/nodes/n1");
  EXPECT_EQ(seen->code, 404);
  EXPECT_EQ(TextAt(seen->Json(), {"kind"}), "Status");
  EXPECT_EQ(TextAt(seen->Json(), {"reason"}), "NotFound");
  EXPECT_EQ(TextAt(seen->Json(), {"details", "name"}), "n1");
}

TEST_F(ApiTest, UpdateConflictsWithAnOlderVersion) {
  boost::json::object old = AddNode("n1")->Json();
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"a":"b"}}})");
  MakeObject(MakeObject(old, "metadata"), "labels")["c"] = "d";
  const auto seen = Put("/api/v1/nodes/n1", old);
  EXPECT_EQ(seen->code, 409);
  EXPECT_EQ(TextAt(seen->Json(), {"reason"}), "Conflict");
}

TEST_F(ApiTest, UpdateThatChangesNothingKeepsTheVersion) {
  const boost::json::object node = AddNode("n1")->Json();
  loop_.Advance(std::chrono::hours(1));
  const auto seen = Put("/api/v1/nodes/n1", node);
  EXPECT_EQ(seen->code, 200);
  EXPECT_EQ(TextAt(seen->Json(), {"metadata", "resourceVersion"}),
            TextAt(node, {"metadata", "resourceVersion"}));
  EXPECT_EQ(api_.counters().Sum("update", "nodes").no_ops, 1U);
}

TEST_F(ApiTest, UpdateOfALeaseNeedsAVersion) {
  Post("/apis/coordination.k8s.io/v1/namespaces/default/leases",
       R"({"metadata":{"name":"l"},"spec":{"leaseDurationSeconds":15}})");
  const auto seen = Put("/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
                        {{"metadata", {{"name", "l"}}}});
  EXPECT_EQ(seen->code, 422);
}

TEST_F(ApiTest, StatusIsWrittenByItsSubresourceOnly) {
  AddNode("n1");
  MergePatch("/api/v1/nodes/n1", R"({"status":{"phase":"x"},"spec":{"unschedulable":true}})");
  EXPECT_EQ(FieldAt(Node("n1"), {"status"}), nullptr);
  MergePatch("/api/v1/nodes/n1/status", R"({"status":{"phase":"x"},"spec":{"podCIDR":"y"}})");
  EXPECT_EQ(TextAt(Node("n1"), {"status", "phase"}), "x");
  EXPECT_EQ(TextAt(Node("n1"), {"spec", "podCIDR"}), "");
}

TEST_F(ApiTest, PatchWithAVersionIsALock) {
  AddNode("n1");
  const auto seen =
      MergePatch("/api/v1/nodes/n1", R"({"metadata":{"resourceVersion":"1","labels":{"a":"b"}}})");
  EXPECT_EQ(seen->code, 409);
}

TEST_F(ApiTest, JsonPatchWhoseTestFailsIs422) {
  AddNode("n1");
  const auto seen = Patch("/api/v1/nodes/n1", "json-patch+json",
                          R"([{"op":"test","path":"/spec/podCIDR","value":"x"}])");
  EXPECT_EQ(seen->code, 422);
  EXPECT_EQ(TextAt(seen->Json(), {"reason"}), "Invalid");
}

TEST_F(ApiTest, StrategicPatchMergesConditionsByType) {
  AddNode("n1");
  for (const char* type : {"Ready", "GPUReady"}) {
    const auto seen = Patch("/api/v1/nodes/n1/status", "strategic-merge-patch+json",
                            fmt::format(R"({{"status":{{"conditions":[
                                {{"type":"{}","status":"True"}}]}}}})",
                                        type));
    EXPECT_EQ(seen->code, 200);
  }
  const auto node = Node("n1");
  const auto* conditions = ListAt(node, {"status", "conditions"});
  ASSERT_NE(conditions, nullptr);
  EXPECT_EQ(conditions->size(), 2U);
}

TEST_F(ApiTest, WrongLabelIs422WithItsCause) {
  const auto seen = AddNode("n1", R"({"gpu":"Tesla V100/PCIe"})");
  EXPECT_EQ(seen->code, 422);
  const auto body = seen->Json();
  const auto* causes = ListAt(body, {"details", "causes"});
  ASSERT_NE(causes, nullptr);
  EXPECT_EQ(TextAt(causes->front().as_object(), {"field"}), "metadata.labels");
  EXPECT_EQ(TextAt(causes->front().as_object(), {"reason"}), "FieldValueInvalid");
}

TEST_F(ApiTest, WrongTaintIs422) {
  AddNode("n1");
  const auto seen =
      MergePatch("/api/v1/nodes/n1", R"({"spec":{"taints":[{"key":"a","effect":"Never"}]}})");
  EXPECT_EQ(seen->code, 422);
  EXPECT_THAT(seen->body, HasSubstr("metadata.taints[0].effect"));
}

TEST_F(ApiTest, FieldOfTheWrongTypeIs400) {
  const auto seen = AddNode("n1", R"({"gpus":8})");
  EXPECT_EQ(seen->code, 400);
  EXPECT_THAT(seen->body, HasSubstr("metadata.labels.gpus"));
}

TEST_F(ApiTest, DryRunWritesNothing) {
  const std::string before = Version();
  const auto seen = Post("/api/v1/nodes?dryRun=All", R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(seen->code, 201);
  EXPECT_EQ(Version(), before);
  EXPECT_EQ(Get("/api/v1/nodes/n1")->code, 404);
}

TEST_F(ApiTest, DeleteChecksTheUid) {
  AddNode("n1");
  const auto refused = Send("DELETE", "/api/v1/nodes/n1", R"({"preconditions":{"uid":"x"}})",
                            {{"Content-Type", "application/json"}});
  EXPECT_EQ(refused->code, 409);
  EXPECT_EQ(Send("DELETE", "/api/v1/nodes/n1")->code, 200);
  EXPECT_EQ(Get("/api/v1/nodes/n1")->code, 404);
}

TEST_F(ApiTest, FinalizerHoldsADeletedObject) {
  Post("/api/v1/nodes", R"({"metadata":{"name":"n1","finalizers":["a.b/c"]}})");
  EXPECT_EQ(Send("DELETE", "/api/v1/nodes/n1")->code, 200);
  EXPECT_NE(TextAt(Node("n1"), {"metadata", "deletionTimestamp"}), "");
  EXPECT_EQ(
      MergePatch("/api/v1/nodes/n1", R"({"metadata":{"finalizers":["a.b/c","d.e/f"]}})")->code,
      422);
  EXPECT_EQ(MergePatch("/api/v1/nodes/n1", R"({"metadata":{"finalizers":null}})")->code, 200);
  EXPECT_EQ(Get("/api/v1/nodes/n1")->code, 404);
}

TEST_F(ApiTest, DeleteCollectionTakesWhatIsSelected) {
  AddNode("n1", R"({"a":"1"})");
  AddNode("n2", R"({"a":"2"})");
  EXPECT_EQ(Send("DELETE", "/api/v1/nodes?labelSelector=a%3D1")->code, 200);
  EXPECT_EQ(Get("/api/v1/nodes/n1")->code, 404);
  EXPECT_EQ(Get("/api/v1/nodes/n2")->code, 200);
}

TEST_F(ApiTest, DependentsGoWithTheirOwner) {
  const auto owner = AddNode("n1")->Json();
  Post("/api/v1/namespaces/default/configmaps",
       fmt::format(R"({{"metadata":{{"name":"c","ownerReferences":[{{"apiVersion":"v1",
                   "kind":"Node","name":"n1","uid":"{}"}}]}}}})",
                   TextAt(owner, {"metadata", "uid"})));
  Send("DELETE", "/api/v1/nodes/n1");
  EXPECT_EQ(Get("/api/v1/namespaces/default/configmaps/c")->code, 404);
}

TEST_F(ApiTest, ListSelectsByLabelsAndFields) {
  AddNode("n1", R"({"gpu":"true","zone":"a"})");
  AddNode("n2", R"({"zone":"b"})");
  AddNode("n3");
  const auto names = [&](std::string_view query) {
    std::vector<std::string> found;
    const auto list = Get(fmt::format("/api/v1/nodes?{}", query))->Json();
    for (const auto& item : *ListAt(list, {"items"})) {
      found.emplace_back(TextAt(item.as_object(), {"metadata", "name"}));
    }
    return found;
  };
  EXPECT_THAT(names("labelSelector=gpu"), ElementsAre("n1"));
  EXPECT_THAT(names("labelSelector=%21zone"), ElementsAre("n3"));
  EXPECT_THAT(names("labelSelector=zone+in+(a,b)"), ElementsAre("n1", "n2"));
  EXPECT_THAT(names("labelSelector=zone!%3Da"), ElementsAre("n2", "n3"));
  EXPECT_THAT(names("fieldSelector=metadata.name%3Dn2"), ElementsAre("n2"));
  EXPECT_EQ(Get("/api/v1/nodes?fieldSelector=status.nodeInfo%3Dn2")->code, 400);
}

TEST_F(ApiTest, ListInChunksIsOneState) {
  for (const char* name : {"n1", "n2", "n3"}) {
    AddNode(name);
  }
  const std::string version = Version();
  const auto first = Get("/api/v1/nodes?limit=2")->Json();
  EXPECT_EQ(ListAt(first, {"items"})->size(), 2U);
  EXPECT_EQ(NumberAt(first, {"metadata", "remainingItemCount"}, 0), 1);
  Send("DELETE", "/api/v1/nodes/n3");
  const auto rest =
      Get(fmt::format("/api/v1/nodes?limit=2&continue={}", TextAt(first, {"metadata", "continue"})))
          ->Json();
  EXPECT_EQ(ListAt(rest, {"items"})->size(), 1U);
  EXPECT_EQ(TextAt(rest, {"metadata", "resourceVersion"}), version);
}

TEST_F(ApiTest, ContinueTokenDiesWithCompaction) {
  for (const char* name : {"n1", "n2", "n3"}) {
    AddNode(name);
  }
  const auto first = Get("/api/v1/nodes?limit=1")->Json();
  AddNode("n4");
  api_.Compact();
  const auto seen = Get(
      fmt::format("/api/v1/nodes?limit=1&continue={}", TextAt(first, {"metadata", "continue"})));
  EXPECT_EQ(seen->code, 410);
  EXPECT_EQ(TextAt(seen->Json(), {"reason"}), "Expired");
  EXPECT_NE(TextAt(seen->Json(), {"metadata", "continue"}), "");
}

TEST_F(ApiTest, ListOfAVersionToComeIs504) {
  const auto seen = Get("/api/v1/nodes?resourceVersion=999999");
  EXPECT_EQ(seen->code, 504);
  EXPECT_THAT(seen->body, HasSubstr("ResourceVersionTooLarge"));
}

TEST_F(ApiTest, ListItemsHaveNoKind) {
  AddNode("n1");
  const auto list = Get("/api/v1/nodes")->Json();
  EXPECT_EQ(TextAt(list, {"kind"}), "NodeList");
  EXPECT_FALSE(ListAt(list, {"items"})->front().as_object().contains("kind"));
}

TEST_F(ApiTest, UnknownFieldsAreReportedOrRefused) {
  const char* node = R"({"metadata":{"name":"n1"},"spec":{"colour":"red"}})";
  EXPECT_EQ(Post("/api/v1/nodes?fieldValidation=Strict", node)->code, 400);
  const auto seen = Post("/api/v1/nodes", node);
  EXPECT_EQ(seen->code, 201);
  EXPECT_THAT(std::string(seen->headers.Find("Warning").value_or("")), HasSubstr("spec.colour"));
}

TEST_F(ApiTest, QuantitiesAreKeptInOneSpelling) {
  AddNode("n1");
  MergePatch("/api/v1/nodes/n1/status",
             R"({"status":{"capacity":{"memory":"2048Mi","cpu":0.5,"a.b/c":"1000"}}})");
  const auto node = Node("n1");
  EXPECT_EQ(TextAt(node, {"status", "capacity", "memory"}), "2Gi");
  EXPECT_EQ(TextAt(node, {"status", "capacity", "cpu"}), "500m");
  EXPECT_EQ(TextAt(node, {"status", "capacity", "a.b/c"}), "1k");
}

TEST_F(ApiTest, DoArrangesAWorldUncounted) {
  EXPECT_OK(api_.Do("POST", "/api/v1/nodes", {{"metadata", {{"name", "n1"}}}}));
  EXPECT_EQ(api_.counters().Sum().requests, 0U);
  EXPECT_FALSE(api_.Do("GET", "/api/v1/nodes/n2", nullptr).ok());
}

}  // namespace
}  // namespace kgpu::apiserver
