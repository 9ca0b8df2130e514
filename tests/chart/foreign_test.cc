// The chart by tools that are not ours: Go's templates, which helm uses; CEL as an API server has
// it; the models that the official Python client generates from the API's OpenAPI; Python's JSON
// schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "src/cluster/chart/chart.h"
#include "src/cluster/chart/test_value_sets.h"
#include "src/functions/manifests/objects.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/chart/go_program.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using chart::Manifest;
using ::testing::HasSubstr;

const std::string kModels =
    KGPU_SOURCE_DIR "/build/engines/trixie/usr/lib/python3/dist-packages/kubernetes/client/models";

std::vector<Manifest> RenderSet(const chart::ValueSet& set) {
  const auto values = chart::ReadValues(set.request);
  EXPECT_OK(values);
  auto manifests = chart::Render(*values);
  EXPECT_OK(manifests);
  return *std::move(manifests);
}

std::vector<Manifest> RenderByGo(const std::string& folder, const chart::ValueSet& set) {
  const auto values = chart::ReadValues(set.request);
  EXPECT_OK(values);
  const auto texts = RunGo(folder, "render",
                           json::object{{"chart", KGPU_SOURCE_DIR "/deploy/chart"},
                                        {"fields", json::object{{"Values", values->tree},
                                                                {"Release",
                                                                 {{"Namespace", values->name_space},
                                                                  {"Service", "kgpu-cluster"}}}}}});
  EXPECT_OK(texts);
  std::vector<Manifest> all;
  for (const auto& [path, text] : texts->as_object()) {
    auto some = chart::SplitManifests(text.as_string().c_str(), std::string(path));
    EXPECT_OK(some) << text.as_string();
    all.insert(all.end(), some->begin(), some->end());
  }
  chart::SortForApply(all);
  return all;
}

json::value Sorted(const json::value& value) {
  if (const json::array* items = value.if_array()) {
    json::array sorted;
    for (const json::value& item : *items) {
      sorted.push_back(Sorted(item));
    }
    return sorted;
  }
  if (const json::object* fields = value.if_object()) {
    std::map<std::string, json::value> sorted;
    for (const auto& [key, field] : *fields) {
      sorted.emplace(key, Sorted(field));
    }
    return json::object(sorted.begin(), sorted.end());
  }
  return value;
}

// As one line. Text that toYaml printed into a text counts by what it means.
std::string Meaning(const Manifest& manifest) {
  json::object object = manifest.object;
  json::value* data = object.if_contains("data");
  json::value* config = data == nullptr ? nullptr : data->as_object().if_contains("config.yaml");
  if (config != nullptr) {
    const auto parsed = doc::Parse(config->as_string().c_str(), doc::Format::kYaml, "config.yaml");
    EXPECT_OK(parsed);
    *config = *parsed;
  }
  // Go's maps have an order of their own.
  return json::serialize(Sorted(object));
}

TEST(ForeignTest, GoRendersTheSameObjects) {
  if (const std::string reason = WhyNoGo(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const TempDir dir;
  for (const chart::ValueSet& set : chart::TestValueSets(KGPU_SOURCE_DIR)) {
    std::vector<Manifest> ours = RenderSet(set);
    std::erase_if(ours, [](const Manifest& one) { return one.source.starts_with("crds/"); });
    const std::vector<Manifest> theirs = RenderByGo(dir.path(), set);
    ASSERT_EQ(ours.size(), theirs.size()) << set.name;
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(Meaning(ours[i]), Meaning(theirs[i])) << set.name;
    }
  }
}

// A request to change an object, and what the policy should say of it.
struct Change {
  const char* resource;
  const char* object;  // "null": it is deleted
  const char* old;     // "null": it is created
  const char* decision;
  const char* node = "n1";  // in the token; "": it names none
  const char* user = "system:serviceaccount:kgpu:kgpu-agent";
};

json::object RequestOf(const Change& change) {
  const json::value object = json::parse(change.object);
  const json::value old = json::parse(change.old);
  const char* operation = object.is_null() ? "DELETE" : old.is_null() ? "CREATE" : "UPDATE";
  json::object user = {{"username", change.user}};
  if (*change.node != '\0') {
    user["extra"] = {{"authentication.kubernetes.io/node-name", json::array{change.node}}};
  }
  return {{"request",
           {{"operation", operation},
            {"resource", {{"group", ""}, {"version", "v1"}, {"resource", change.resource}}},
            {"userInfo", std::move(user)}}},
          {"object", object},
          {"oldObject", old}};
}

constexpr const char* kOwnNodeOnly = "an agent of kgpu may change its own node only";
constexpr const char* kSpec =
    "an agent of kgpu may change labels, annotations, taints and status of a node only";
constexpr const char* kAddresses = "an agent of kgpu may not change the addresses of a node";
constexpr const char* kLabels =
    "an agent of kgpu may set labels of nvidia.com, kgpu.dev, feature.node.kubernetes.io, "
    "profile.node.kubernetes.io and the chart's admissionPolicy.labelNamespaces only";
constexpr const char* kRoles =
    "an agent of kgpu may not set labels of node-restriction.kubernetes.io and "
    "node-role.kubernetes.io";
constexpr const char* kFeatures = "an agent of kgpu may change NodeFeatures of its own node only";
constexpr const char* kSlices = "an agent of kgpu may change ResourceSlices of its own node only";
constexpr const char* kOwn = R"({"metadata":{"labels":{"nfd.node.kubernetes.io/node-name":"n1"}}})";
constexpr const char* kOther =
    R"({"metadata":{"labels":{"nfd.node.kubernetes.io/node-name":"n2"}}})";

const std::vector<Change>& Changes() {
  static const std::vector<Change> kChanges = {
      {"nodes",
       R"({"metadata":{"name":"n1","labels":{"nvidia.com/a":"b","kgpu.dev/a":"b",
           "feature.node.kubernetes.io/a":"b","x.profile.node.kubernetes.io/a":"b",
           "vendor.io/a":"b","zone":"z"}},"spec":{}})",
       R"({"metadata":{"name":"n1","labels":{"zone":"z","nvidia.com/old":"c"}},"spec":{}})",
       "allowed"},
      {"nodes", R"({"metadata":{"name":"n1","labels":{"pool":"secure"}}})",
       R"({"metadata":{"name":"n1"}})", kLabels},
      {"nodes", R"({"metadata":{"name":"n1","labels":{"pool":"secure"}}})",
       R"({"metadata":{"name":"n1","labels":{"pool":"open"}}})", kLabels},
      {"nodes", R"({"metadata":{"name":"n1"}})",
       R"({"metadata":{"name":"n1","labels":{"topology.kubernetes.io/zone":"z"}}})", kLabels},
      {"nodes",
       R"({"metadata":{"name":"n1","labels":{"node-role.kubernetes.io/control-plane":""}}})",
       R"({"metadata":{"name":"n1"}})", kRoles},
      {"nodes",
       R"({"metadata":{"name":"n1","labels":{"a.node-restriction.kubernetes.io/pci":"true"}}})",
       R"({"metadata":{"name":"n1"}})", kRoles},
      {"nodes",
       R"({"metadata":{"name":"n1","labels":{"node-role.kubernetes.io/worker":"","kgpu.dev/a":"b"}}})",
       R"({"metadata":{"name":"n1","labels":{"node-role.kubernetes.io/worker":""}}})", "allowed"},
      {"nodes",
       R"({"metadata":{"name":"n1"},"spec":{"podCIDR":"10.0.0.0/24","taints":[{"key":"a"}]}})",
       R"({"metadata":{"name":"n1"},"spec":{"podCIDR":"10.0.0.0/24"}})", "allowed"},
      {"nodes", R"({"metadata":{"name":"n1"},"status":{"conditions":[{"type":"GPUReady"}]}})",
       R"({"metadata":{"name":"n1"},"status":{}})", "allowed"},
      {"nodes", R"({"metadata":{"name":"n2"}})", R"({"metadata":{"name":"n2"}})", kOwnNodeOnly},
      {"nodes", R"({"metadata":{"name":"n2"}})", R"({"metadata":{"name":"n2"}})", "not matched",
       "n1", "system:serviceaccount:kgpu:other"},
      {"nodes", R"({"metadata":{"name":"n1"}})", R"({"metadata":{"name":"n1"}})",
       "the agent's token names no node; Kubernetes 1.30 puts it into the tokens of pods", ""},
      {"nodes", R"({"metadata":{"name":"n1"}})", "null", kOwnNodeOnly},
      {"nodes", "null", R"({"metadata":{"name":"n1"}})", kOwnNodeOnly},
      {"nodes", R"({"metadata":{"name":"n1"},"spec":{"unschedulable":true}})",
       R"({"metadata":{"name":"n1"},"spec":{}})", kSpec},
      {"nodes", R"({"metadata":{"name":"n1"},"spec":{}})",
       R"({"metadata":{"name":"n1"},"spec":{"providerID":"a"}})", kSpec},
      {"nodes", R"({"metadata":{"name":"n1","ownerReferences":[{"name":"a"}]}})",
       R"({"metadata":{"name":"n1"}})", kSpec},
      {"nodes", R"({"metadata":{"name":"n1","finalizers":["a"]}})", R"({"metadata":{"name":"n1"}})",
       kSpec},
      {"nodes", R"({"metadata":{"name":"n1"},"status":{"addresses":[{"address":"10.0.0.9"}]}})",
       R"({"metadata":{"name":"n1"},"status":{"addresses":[]}})", kAddresses},
      {"nodes",
       R"({"metadata":{"name":"n1"},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":1}}}})",
       R"({"metadata":{"name":"n1"},"status":{}})", kAddresses},
      {"nodefeatures", kOwn, "null", "allowed"},
      {"nodefeatures", kOwn, kOwn, "allowed"},
      {"nodefeatures", "null", kOwn, "allowed"},
      {"nodefeatures", kOther, "null", kFeatures},
      {"nodefeatures", kOwn, kOther, kFeatures},
      {"nodefeatures", kOther, kOwn, kFeatures},
      {"nodefeatures", "null", kOther, kFeatures},
      {"nodefeatures", "null", R"({"metadata":{"name":"a"}})", kFeatures},
      {"resourceslices", R"({"spec":{"nodeName":"n1"}})", "null", "allowed"},
      {"resourceslices", R"({"spec":{"nodeName":"n2"}})", "null", kSlices},
      {"resourceslices", R"({"spec":{"allNodes":true}})", "null", kSlices},
      {"resourceslices", "null", R"({"spec":{"nodeName":"n2"}})", kSlices},
  };
  return kChanges;
}

TEST(ForeignTest, CelDecidesAsThePolicyPromises) {
  if (const std::string reason = WhyNoGo(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  json::object input;
  for (const Manifest& manifest : RenderSet({.name = "default", .request = {}})) {
    if (chart::KindOf(manifest) == "ValidatingAdmissionPolicy" &&
        chart::NameOf(manifest) == "kgpu-agent") {
      input["policy"] = manifest.object;
    }
  }
  json::array requests;
  for (const Change& change : Changes()) {
    requests.push_back(RequestOf(change));
  }
  input["requests"] = std::move(requests);
  const TempDir dir;
  const auto decisions = RunGo(dir.path(), "admission", input);
  ASSERT_OK(decisions);
  ASSERT_EQ(decisions->as_array().size(), Changes().size());
  for (size_t i = 0; i < Changes().size(); ++i) {
    const Change& change = Changes()[i];
    EXPECT_EQ(decisions->at(i).as_string(), change.decision)
        << change.resource << " " << change.old << " → " << change.object;
  }
}

TEST(ForeignTest, CelDecidesAboutParametersOfClaims) {
  if (const std::string reason = WhyNoGo(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const std::string head = R"("apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig")";
  constexpr const char* kFields = "GpuConfig and MigDeviceConfig have no fields but sharing";
  constexpr const char* kKinds =
      "parameters for gpu.nvidia.com have apiVersion resource.nvidia.com/v1beta1 and kind "
      "GpuConfig, MigDeviceConfig or VfioDeviceConfig";
  constexpr const char* kSharing =
      "sharing has the fields strategy (TimeSlicing or MPS), timeSlicingConfig and mpsConfig";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {fmt::format("{{{}}}", head), "allowed"},
      {fmt::format(R"({{{},"sharing":{{"strategy":"TimeSlicing"}}}})", head), "allowed"},
      {fmt::format(
           R"({{{},"sharing":{{"strategy":"TimeSlicing","timeSlicingConfig":{{"interval":"Long"}}}}}})",
           head),
       "allowed"},
      {fmt::format(
           R"({{{},"sharing":{{"strategy":"MPS","mpsConfig":{{"defaultActiveThreadPercentage":50,
               "defaultPerDevicePinnedMemoryLimit":{{"0":"10Gi"}}}}}}}})",
           head),
       "allowed"},
      {R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"VfioDeviceConfig","iommu":true})",
       "allowed"},
      {R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfg"})", kKinds},
      {R"({"apiVersion":"resource.nvidia.com/v1","kind":"GpuConfig"})", kKinds},
      {"{}", kKinds},
      {fmt::format(R"({{{},"shraing":{{}}}})", head), kFields},
      {fmt::format(R"({{{},"sharing":{{"strategy":"mps"}}}})", head), kSharing},
      {fmt::format(R"({{{},"sharing":{{}}}})", head), kSharing},
      {fmt::format(R"({{{},"sharing":{{"strategy":"MPS","mps":{{}}}}}})", head), kSharing},
      {fmt::format(
           R"({{{},"sharing":{{"strategy":"TimeSlicing","timeSlicingConfig":{{"interval":"Huge"}}}}}})",
           head),
       "timeSlicingConfig has the field interval, which is Default, Short, Medium or Long"},
      {fmt::format(R"({{{},"sharing":{{"strategy":"MPS","mpsConfig":{{"threads":50}}}}}})", head),
       "mpsConfig has the fields defaultActiveThreadPercentage, defaultPinnedDeviceMemoryLimit and "
       "defaultPerDevicePinnedMemoryLimit"},
  };
  json::object input;
  for (const Manifest& manifest : RenderSet({.name = "default", .request = {}})) {
    if (chart::KindOf(manifest) == "ValidatingAdmissionPolicy" &&
        chart::NameOf(manifest) == "kgpu-claims") {
      input["policy"] = manifest.object;
    }
  }
  json::array requests;
  const auto add = [&](const char* kind, const json::value& spec) {
    requests.push_back({{"request", {{"kind", {{"kind", kind}}}}},
                        {"object", {{"spec", spec}}},
                        {"oldObject", nullptr}});
  };
  const auto spec_with = [](const char* driver, const json::value& parameters) {
    return json::value{
        {"devices",
         {{"requests", json::array()},
          {"config",
           json::array{{{"opaque", {{"driver", driver}, {"parameters", parameters}}}}}}}}};
  };
  for (const auto& [parameters, decision] : cases) {
    add("ResourceClaim", spec_with("gpu.nvidia.com", json::parse(parameters)));
    add("ResourceClaimTemplate", {{"spec", spec_with("gpu.nvidia.com", json::parse(parameters))}});
  }
  // Claims of others, and without parameters.
  add("ResourceClaim", spec_with("gpu.example.com", json::parse(R"({"any": 1})")));
  add("ResourceClaim", {{"devices", {{"requests", json::array()}}}});
  add("ResourceClaim", json::object());
  input["requests"] = std::move(requests);
  const TempDir dir;
  const auto decisions = RunGo(dir.path(), "admission", input);
  ASSERT_OK(decisions);
  ASSERT_EQ(decisions->as_array().size(), 2 * cases.size() + 3);
  for (size_t i = 0; i < 2 * cases.size(); ++i) {
    EXPECT_EQ(decisions->at(i).as_string(), cases[i / 2].second) << cases[i / 2].first;
  }
  for (size_t i = 2 * cases.size(); i < decisions->as_array().size(); ++i) {
    EXPECT_EQ(decisions->at(i).as_string(), "allowed") << i;
  }
}

// The rules of GpuPolicy's drivers, as validations of an object.
json::value DriverRules() {
  std::string text;
  for (const Manifest& manifest : RenderSet({.name = "default", .request = {}})) {
    if (chart::KindOf(manifest) == "CustomResourceDefinition") {
      text = json::serialize(manifest.object);
    }
  }
  const json::value definition = json::parse(text);
  json::array rules = definition
                          .at_pointer(
                              "/spec/versions/0/schema/openAPIV3Schema/properties/spec/"
                              "properties/groups/items/properties/driver/"
                              "x-kubernetes-validations")
                          .as_array();
  for (json::value& rule : rules) {
    std::string expression(rule.at("rule").as_string());
    for (size_t at = expression.find("self."); at != std::string::npos;
         at = expression.find("self.", at)) {
      expression.replace(at, 5, "object.");
    }
    rule = json::object{{"expression", expression}, {"message", rule.at("message")}};
  }
  return json::object{{"spec", {{"validations", std::move(rules)}}}};
}

TEST(ForeignTest, CelDecidesAboutDriversAsTheReaderDoes) {
  if (const std::string reason = WhyNoGo(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({})", "allowed"},
      {R"({"from":"host"})", "allowed"},
      {R"({"from":"package","branch":"550"})", "allowed"},
      {R"({"from":"container","version":"550.54.15","branch":"550"})", "allowed"},
      {R"({"from":"package"})",
       "branch or version is needed with from: package and from: container"},
      {R"({"from":"package","version":"535.1.1","branch":"550"})",
       "version is not of branch: remove one of them"},
      {R"({"version":"5501.1","branch":"550"})", "version is not of branch: remove one of them"},
  };
  json::array requests;
  for (const auto& [driver, decision] : cases) {
    requests.push_back(json::object{{"object", json::parse(driver)}});
  }
  const TempDir dir;
  const auto decisions =
      RunGo(dir.path(), "admission",
            json::object{{"policy", DriverRules()}, {"requests", std::move(requests)}});
  ASSERT_OK(decisions);
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(decisions->at(i).as_string(), cases[i].second) << cases[i].first;
  }
}

class ModelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kModels)) {
      GTEST_SKIP() << "no python3-kubernetes here: run tests/engines/fetch_suites.sh";
    }
  }
  Result Check(const std::string& list) {
    dir_.WriteFile("list.json", list);
    return RunProgram({"/usr/bin/env", "python3", KGPU_SOURCE_DIR "/tests/chart/check_models.py",
                       kModels, dir_.At("list.json")});
  }
  TempDir dir_;
};

TEST_F(ModelsTest, EveryObjectFitsTheApi) {
  for (const chart::ValueSet& set : chart::TestValueSets(KGPU_SOURCE_DIR)) {
    const Result result = Check(chart::PrintJson(RenderSet(set)));
    EXPECT_EQ(result.code, 0) << set.name << ": " << result.out << result.err;
  }
}

TEST_F(ModelsTest, EveryObjectOfAFunctionFitsTheApi) {
  functions::Function function{.name = "hello",
                               .image = "registry.example/hello:1",
                               .environment = {{"A", "b"}},
                               .secrets = {"registry", "token"},
                               .constraints = {"disk=nvme"},
                               .labels = {{"team", "a"}},
                               .annotations = {{"example.com/a", "b"}}};
  function.limits = {.memory = int64_t{1} << 30, .cpu_millis = 1'500};
  function.requests = {.memory = int64_t{1} << 20, .cpu_millis = 500};
  function.gpu = {.count = 1, .models = {"H100-SXM5-80GB", "A100-SXM4-80GB"}};
  function.has_read_only_root = true;
  function.network = functions::NetworkAccess::kNone;
  function.scaling.by = functions::ScaledBy::kHpa;
  const auto objects = functions::ObjectsOf(function, {.space = "fn",
                                                       .deployed_at = "2026-01-02T03:04:05Z",
                                                       .replaced_at = "2026-01-02T03:04:05Z",
                                                       .pull_secrets = {"registry"},
                                                       .mounted_secrets = {"token"},
                                                       .mesh_url = "kgpu-gateway.kgpu:31113",
                                                       .cluster_models = {"T4"}});
  ASSERT_OK(objects);
  const json::object list = {
      {"apiVersion", "v1"},
      {"kind", "List"},
      {"items",
       {objects->deployment, objects->service, objects->scaler.value_or(json::object()),
        objects->network_policy.value_or(json::object())}}};
  const Result result = Check(json::serialize(list));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(ModelsTest, WhatDoesNotFitIsFound) {
  const std::string list = chart::PrintJson(RenderSet({.name = "default", .request = {}}));
  struct Planted {
    std::string from;
    std::string to;
    std::string problem;
  };
  for (const Planted& planted : std::initializer_list<Planted>{
           {"\"hostPID\"", "\"hostPDI\"", "spec.template.spec.hostPDI: unknown field of V1PodSpec"},
           {"\"hostPID\": true", "\"hostPID\": \"true\"", "hostPID: \"true\" must be bool"},
           {"\"containerPort\": 9401", "\"containerPort\": \"9401\"",
            "ports[0].containerPort: \"9401\" must be int"},
           {"\"policyTypes\"", "\"policyType\"", "NetworkPolicy/kgpu.spec.policyType: unknown"},
           {"\"containers\"", "\"containerz\"", "spec.template.spec.containers: must be set"},
           {"\"expression\"", "\"expresion\"", "expresion: unknown field of V1MatchCondition"}}) {
    std::string wrong = list;
    ASSERT_NE(wrong.find(planted.from), std::string::npos);
    wrong.replace(wrong.find(planted.from), planted.from.size(), planted.to);
    const Result result = Check(wrong);
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_THAT(result.out, HasSubstr(planted.problem));
  }
}

// GpuPolicies against the schema of their own definition.
class PolicySchemaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (RunProgram({"/usr/bin/env", "python3", "-c", "import jsonschema"}).code != 0) {
      GTEST_SKIP() << "no python3-jsonschema here: run scripts/setup.sh --test";
    }
    for (const Manifest& manifest : RenderSet({.name = "default", .request = {}})) {
      if (chart::KindOf(manifest) == "CustomResourceDefinition") {
        dir_.WriteFile("definition.json", json::serialize(manifest.object));
      }
    }
  }
  Result Check(const json::value& policy) {
    dir_.WriteFile("list.json", json::serialize(json::object{{"items", json::array{policy}}}));
    return RunProgram({"/usr/bin/env", "python3", KGPU_SOURCE_DIR "/tests/chart/check_policies.py",
                       dir_.At("definition.json"), dir_.At("list.json")});
  }
  TempDir dir_;
};

// Every block of YAML of a page that is a GpuPolicy.
std::vector<json::value> PoliciesIn(const std::string& page) {
  std::ifstream file(KGPU_SOURCE_DIR "/" + page);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view kBegin = "```yaml\n";
  std::vector<json::value> policies;
  for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    const std::string block = text.substr(at, text.find("```", at) - at);
    if (block.find("kind: GpuPolicy") != std::string::npos) {
      const auto parsed = doc::Parse(block, doc::Format::kYaml, page);
      EXPECT_OK(parsed);
      policies.push_back(parsed.ok() ? *parsed : json::value());
    }
  }
  return policies;
}

TEST_F(PolicySchemaTest, PoliciesOfTheDocumentationFit) {
  for (const char* page : {"docs/reference/gpu-policy.md", "docs/guides/upgrade-drivers.md"}) {
    const std::vector<json::value> policies = PoliciesIn(page);
    EXPECT_FALSE(policies.empty()) << page;
    for (const json::value& policy : policies) {
      const Result result = Check(policy);
      EXPECT_EQ(result.code, 0) << page << ": " << result.out << result.err;
    }
  }
}

TEST_F(PolicySchemaTest, WhatDoesNotFitIsFound) {
  const std::vector<json::value> policies = PoliciesIn("docs/reference/gpu-policy.md");
  ASSERT_FALSE(policies.empty());
  const std::string good = json::serialize(policies.front());
  struct Planted {
    std::string from;
    std::string to;
    std::string problem;
  };
  for (const Planted& planted : std::initializer_list<Planted>{
           {"\"kind\":\"GpuPolicy\"", "\"kind\":\"GPUPolicy\"", "the definition has no"},
           {"kgpu.dev/v1alpha1", "kgpu.dev/v1", "the definition has no"},
           {"\"groups\"", "\"group\"", ".spec: 'groups' is a required property"},
           {"\"training\",", "\"Training\",", ".spec.groups[0].name: 'Training' does not match"},
           {"\"package\"", "\"apt\"", ".spec.groups[0].driver.from: 'apt' is not one of"},
           {"\"550\"", "550", ".spec.groups[0].driver.branch: 550 is not of type 'string'"},
           {"\"taint\"", "\"taints\"", ".spec.groups[0].gate: Additional properties"},
           {"\"10%\"", "[10]", ".spec.upgrade.maxUnavailable: [10] is not of type"}}) {
    std::string wrong = good;
    const size_t at = wrong.find(planted.from);
    ASSERT_NE(at, std::string::npos) << planted.from << good;
    wrong.replace(at, planted.from.size(), planted.to);
    const Result result = Check(json::parse(wrong));
    EXPECT_EQ(result.code, 1) << planted.to << result.err;
    EXPECT_THAT(result.out, HasSubstr(planted.problem));
  }
}

}  // namespace
}  // namespace kgpu::e2e
