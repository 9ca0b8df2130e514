// Server-side apply: who owns what.
#include <gmock/gmock.h>

#include "testing/apiserver/api_fixture.h"

namespace kgpu::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ApplyTest : public ApiTest {
 protected:
  static std::string NodeWith(std::string_view labels) {
    return fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n1",
                       "labels":{}}}}})",
                       labels);
  }
  std::shared_ptr<Seen> ApplyLabels(std::string_view manager, std::string_view labels,
                                    std::string_view more = "") {
    return Apply("/api/v1/nodes/n1", manager, NodeWith(labels), more);
  }
  std::string Label(std::string_view name) {
    return std::string(TextAt(Node("n1"), {"metadata", "labels", name}));
  }
  // "kgpu Apply status", …
  std::vector<std::string> Managers() {
    std::vector<std::string> names;
    const auto node = Node("n1");
    for (const auto& item : *ListAt(node, {"metadata", "managedFields"})) {
      names.push_back(fmt::format("{} {} {}", TextAt(item.as_object(), {"manager"}),
                                  TextAt(item.as_object(), {"operation"}),
                                  TextAt(item.as_object(), {"subresource"})));
    }
    return names;
  }
};

TEST_F(ApplyTest, CreatesWhatIsNotThere) {
  EXPECT_EQ(ApplyLabels("kgpu", R"({"a":"1"})")->code, 201);
  EXPECT_EQ(ApplyLabels("kgpu", R"({"a":"1"})")->code, 200);
  EXPECT_THAT(Managers(), ElementsAre("kgpu Apply "));
}

TEST_F(ApplyTest, SameAgainIsNoWrite) {
  ApplyLabels("kgpu", R"({"a":"1"})");
  const std::string version = Version();
  loop_.Advance(std::chrono::hours(1));
  ApplyLabels("kgpu", R"({"a":"1"})");
  EXPECT_EQ(Version(), version);
  EXPECT_EQ(api_.counters().Sum("apply", "nodes").no_ops, 1U);
}

TEST_F(ApplyTest, RemovesWhatIsNoLongerApplied) {
  AddNode("n1", R"({"foreign":"x"})");
  ApplyLabels("kgpu", R"({"a":"1","b":"2"})");
  ApplyLabels("kgpu", R"({"b":"2"})");
  EXPECT_EQ(Label("a"), "");
  EXPECT_EQ(Label("b"), "2");
  EXPECT_EQ(Label("foreign"), "x");
}

TEST_F(ApplyTest, LeavesWhatAnotherOwnsToo) {
  AddNode("n1");
  ApplyLabels("kgpu", R"({"a":"1"})");
  ApplyLabels("nfd", R"({"a":"1"})");
  ApplyLabels("kgpu", "{}");
  EXPECT_EQ(Label("a"), "1");
  ApplyLabels("nfd", "{}");
  EXPECT_EQ(Label("a"), "");
}

TEST_F(ApplyTest, ConflictNamesManagerAndField) {
  AddNode("n1");
  ApplyLabels("nfd", R"({"a":"1"})");
  const auto seen = ApplyLabels("kgpu", R"({"a":"2"})");
  EXPECT_EQ(seen->code, 409);
  const auto body = seen->Json();
  EXPECT_EQ(TextAt(body, {"reason"}), "Conflict");
  const auto& cause = ListAt(body, {"details", "causes"})->front().as_object();
  EXPECT_EQ(TextAt(cause, {"reason"}), "FieldManagerConflict");
  EXPECT_EQ(TextAt(cause, {"field"}), ".metadata.labels.a");
  EXPECT_THAT(std::string(TextAt(cause, {"message"})), HasSubstr("\"nfd\""));
  EXPECT_EQ(Label("a"), "1");
}

TEST_F(ApplyTest, ForceTakesTheField) {
  AddNode("n1");
  ApplyLabels("nfd", R"({"a":"1","b":"1"})");
  EXPECT_EQ(ApplyLabels("kgpu", R"({"a":"2"})", "&force=true")->code, 200);
  EXPECT_EQ(Label("a"), "2");
  // It is no longer the other's to remove.
  ApplyLabels("nfd", R"({"b":"1"})");
  EXPECT_EQ(Label("a"), "2");
  EXPECT_EQ(ApplyLabels("nfd", R"({"a":"1"})")->code, 409);
}

TEST_F(ApplyTest, UpdateTakesTheFieldsItChanges) {
  AddNode("n1");
  ApplyLabels("kgpu", R"({"a":"1"})");
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"a":"9"}}})");
  const auto seen = ApplyLabels("kgpu", R"({"a":"1"})");
  EXPECT_EQ(seen->code, 409);
  EXPECT_THAT(seen->body, HasSubstr("tester"));
  ApplyLabels("kgpu", "{}");
  EXPECT_EQ(Label("a"), "9");
}

TEST_F(ApplyTest, RemovedFieldIsNobodys) {
  AddNode("n1");
  ApplyLabels("kgpu", R"({"a":"1"})");
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"a":null}}})");
  EXPECT_EQ(Label("a"), "");
  EXPECT_EQ(ApplyLabels("nfd", R"({"a":"2"})")->code, 200);
}

TEST_F(ApplyTest, TaintsAreOneWhole) {
  AddNode("n1");
  MergePatch("/api/v1/nodes/n1", R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})");
  const char* applied = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
      "spec":{"taints":[{"key":"b","effect":"NoSchedule"}]}})";
  const auto seen = Apply("/api/v1/nodes/n1", "kgpu", applied);
  EXPECT_EQ(seen->code, 409);
  EXPECT_THAT(seen->body, HasSubstr(".spec.taints"));
  EXPECT_EQ(Apply("/api/v1/nodes/n1", "kgpu", applied, "&force=true")->code, 200);
  const auto node = Node("n1");
  EXPECT_EQ(ListAt(node, {"spec", "taints"})->size(), 1U);
}

TEST_F(ApplyTest, ConditionsAreMergedByTypeOnStatus) {
  AddNode("n1");
  Patch("/api/v1/nodes/n1/status", "strategic-merge-patch+json",
        R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  const auto apply = [&](std::string_view conditions) {
    return Apply("/api/v1/nodes/n1/status", "kgpu-gate",
                 fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n1"}},
                             "status":{{"conditions":{}}}}})",
                             conditions));
  };
  EXPECT_EQ(apply(R"([{"type":"GPUReady","status":"True","reason":"A"}])")->code, 200);
  auto node = Node("n1");
  EXPECT_EQ(ListAt(node, {"status", "conditions"})->size(), 2U);
  EXPECT_THAT(Managers(), UnorderedElementsAre("kgpu-gate Apply status", "tester Update ",
                                               "tester Update status"));
  const auto conflict = apply(R"([{"type":"Ready","status":"False"}])");
  EXPECT_EQ(conflict->code, 409);
  EXPECT_THAT(conflict->body, HasSubstr(R"(.status.conditions[type=\"Ready\"].status)"));
  // What is no longer applied goes, the other's stays.
  EXPECT_EQ(apply("[]")->code, 200);
  node = Node("n1");
  ASSERT_EQ(ListAt(node, {"status", "conditions"})->size(), 1U);
}

TEST_F(ApplyTest, MainAndStatusAreTrackedApart) {
  AddNode("n1");
  ApplyLabels("kgpu", R"({"a":"1"})");
  Apply("/api/v1/nodes/n1/status", "kgpu",
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
            "status":{"capacity":{"a.b/c":"1"}}})");
  ApplyLabels("kgpu", "{}");
  EXPECT_EQ(TextAt(Node("n1"), {"status", "capacity", "a.b/c"}), "1");
}

TEST_F(ApplyTest, ServersOwnFieldsAreNobodys) {
  AddNode("n1");
  ApplyLabels("kgpu", R"({"a":"1"})");
  EXPECT_THAT(Get("/api/v1/nodes/n1")->body, Not(HasSubstr("f:uid")));
}

TEST_F(ApplyTest, BadRequestsAreReported) {
  AddNode("n1");
  EXPECT_EQ(Patch("/api/v1/nodes/n1", "apply-patch+yaml", NodeWith("{}"))->code, 422);
  EXPECT_EQ(Apply("/api/v1/nodes/n1", "kgpu", R"({"metadata":{"name":"n1"}})")->code, 400);
  EXPECT_EQ(Apply("/api/v1/nodes/n1", "kgpu", R"({"apiVersion":"v1","kind":"Node",
      "metadata":{"name":"n1","managedFields":[{"manager":"x"}]}})")
                ->code,
            400);
  EXPECT_EQ(Apply("/api/v1/nodes/n1", "kgpu", R"({"apiVersion":"v1","kind":"Node",
      "metadata":{"name":"n2"}})")
                ->code,
            400);
}

TEST_F(ApplyTest, UidPreventsMakingItAgain) {
  EXPECT_EQ(Apply("/api/v1/nodes/n1", "kgpu", R"({"apiVersion":"v1","kind":"Node",
      "metadata":{"name":"n1","uid":"1-2-3"}})")
                ->code,
            409);
}

TEST_F(ApplyTest, TakesYaml) {
  EXPECT_EQ(Apply("/api/v1/nodes/n1", "kgpu",
                  "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  labels: {a: \"1\"}\n")
                ->code,
            201);
  EXPECT_EQ(Label("a"), "1");
}

TEST_F(ApplyTest, ForceIsForAppliesOnly) {
  AddNode("n1");
  EXPECT_EQ(MergePatch("/api/v1/nodes/n1?force=true", "{}")->code, 422);
}

TEST_F(ApplyTest, EmptyManagedFieldsForgetAllManagers) {
  AddNode("n1");
  ApplyLabels("kgpu", R"({"a":"1"})");
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"managedFields":[{}]}})");
  EXPECT_EQ(FieldAt(Node("n1"), {"metadata", "managedFields"}), nullptr);
}

// As kubectl moves fields from one manager to another.
TEST_F(ApplyTest, AClientMayReplaceTheManagers) {
  AddNode("n1");
  ApplyLabels("nfd", R"({"a":"1"})");
  ApplyLabels("kgpu", R"({"b":"1"})");
  EXPECT_EQ(ApplyLabels("kgpu", R"({"a":"2"})")->code, 409);
  auto node = Node("n1");
  boost::json::array others;
  for (const auto& item : *ListAt(node, {"metadata", "managedFields"})) {
    if (TextAt(item.as_object(), {"manager"}) != "nfd") {
      others.push_back(item);
    }
  }
  const boost::json::array patch = {
      {{"op", "replace"}, {"path", "/metadata/managedFields"}, {"value", others}}};
  EXPECT_EQ(Patch("/api/v1/nodes/n1", "json-patch+json", boost::json::serialize(patch))->code, 200);
  EXPECT_THAT(Managers(), ::testing::Not(::testing::Contains("nfd Apply ")));
  EXPECT_EQ(ApplyLabels("kgpu", R"({"a":"2"})")->code, 200);
}

// An apply owns an atomic value as a whole, with what the server has filled in.
TEST_F(ApplyTest, DefaultsCountInAtomicValues) {
  const std::string space = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/";
  const std::string policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/";
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments/";
  const auto check = [&](const std::string& path, const std::string& sent,
                         const std::string& complete, const char* field) {
    EXPECT_EQ(Apply(path, "first", sent)->code, 201) << path;
    const auto refused = Apply(path, "second", sent);
    EXPECT_EQ(refused->code, 409) << path;
    EXPECT_THAT(refused->body, HasSubstr(field));
    EXPECT_EQ(Apply(path, "second", complete)->code, 200) << path;
  };
  const auto network = [](const char* port) {
    return fmt::format(R"({{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",
        "metadata":{{"name":"n"}},"spec":{{"podSelector":{{}},"ingress":[{{"ports":[{}]}}]}}}})",
                       port);
  };
  check(space + "n", network(R"({"port":80})"), network(R"({"port":80,"protocol":"TCP"})"),
        ".spec.ingress");
  const auto admission = [](const char* more, const char* scope) {
    return fmt::format(R"({{"apiVersion":"admissionregistration.k8s.io/v1",
        "kind":"ValidatingAdmissionPolicy","metadata":{{"name":"p"}},"spec":{{
        "matchConstraints":{{{}"resourceRules":[{{"apiGroups":[""],"apiVersions":["v1"],
        "operations":["*"],"resources":["nodes"]{}}}]}},"validations":[{{"expression":"true"}}]}}}})",
                       more, scope);
  };
  check(policies + "p", admission("", ""),
        admission(R"("matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},)",
                  R"(,"scope":"*")"),
        ".spec.matchConstraints");
  const auto deployment = [](const char* more) {
    return fmt::format(R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d"}},
        "spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":{{"metadata":{{
        "labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c","image":"i:1","env":[
        {{"name":"N","valueFrom":{{"fieldRef":{{{}"fieldPath":"spec.nodeName"}}}}}}]}}]}}}}}}}})",
                       more);
  };
  check(deployments + "d", deployment(""), deployment(R"("apiVersion":"v1",)"), "fieldRef");
  const auto stored = Get(deployments + "d")->Json();
  EXPECT_EQ(NumberAt(stored, {"spec", "replicas"}, 0), 1);
  EXPECT_EQ(TextAt(stored, {"spec", "strategy", "rollingUpdate", "maxSurge"}), "25%");
  EXPECT_EQ(TextAt(stored, {"spec", "template", "spec", "restartPolicy"}), "Always");
}

TEST_F(ApplyTest, ManagedFieldsAreWrittenAsRealOnes) {
  AddNode("n1");
  loop_.Advance(std::chrono::seconds(1));
  ApplyLabels("kgpu", R"({"a.b/c":"1"})");
  const auto node = Node("n1");
  for (const auto& item : *ListAt(node, {"metadata", "managedFields"})) {
    if (TextAt(item.as_object(), {"manager"}) == "kgpu") {
      EXPECT_EQ(boost::json::serialize(item.as_object().at("fieldsV1")),
                R"({"f:metadata":{"f:labels":{"f:a.b/c":{}}}})");
      EXPECT_EQ(TextAt(item.as_object(), {"time"}), "2023-11-14T22:13:21Z");
    }
  }
}

}  // namespace
}  // namespace kgpu::apiserver
