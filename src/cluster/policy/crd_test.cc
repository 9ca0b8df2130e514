// The schema that ships and the reader agree: what one accepts, the other accepts, except for what
// only the reader can see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fstream>
#include <iterator>
#include <string>

#include "src/cluster/policy/gpu_policy.h"
#include "src/node/sharing/kind.h"
#include "src/platform/doc/doc.h"
#include "testing/apiserver/api_fixture.h"
#include "testing/status_matchers.h"

namespace kgpu::policy {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr const char* kFile = KGPU_SOURCE_DIR "/deploy/chart/crds/gpupolicies.yaml";
constexpr const char* kPolicies = "/apis/kgpu.dev/v1alpha1/gpupolicies";

json::value FromYaml(std::string_view text) {
  auto value = doc::Parse(text, doc::Format::kYaml, "test");
  EXPECT_OK(value);
  return value.ok() ? *std::move(value) : json::value();
}

class CrdTest : public apiserver::ApiTest {
 protected:
  void SetUp() override {
    std::ifstream file(kFile);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_OK(
        api_.Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", FromYaml(text)));
  }
  StatusOr<json::object> Create(const json::value& spec) {
    return api_.Do("POST", kPolicies, Object(spec));
  }
  json::object Object(const json::value& spec) {
    return {{"apiVersion", kApiVersion},
            {"kind", kKind},
            {"metadata", {{"name", fmt::format("p{}", ++number_)}}},
            {"spec", spec}};
  }

 private:
  int number_ = 0;
};

TEST_F(CrdTest, SchemaAndReaderAcceptTheSame) {
  for (const std::string_view spec : {
           "groups: [{name: a, nodeSelector: {}}]",
           "groups: [{name: a, nodeSelector: {matchLabels: {x: y}}, driver: {from: host}}]",
           "groups: [{name: a, nodeSelector: {matchExpressions: [{key: x, operator: NotIn, values: "
           "[y]}]}, driver: {from: container, version: 550.54.15}, labels: {team: ml}}]",
           "{groups: [{name: a, nodeSelector: {}, gate: {taint: true, condition: false}, config: "
           "{pools: [{resource: nvidia.com/gpu}]}}], upgrade: {maxUnavailable: 5, failureBudget: "
           "\"5%\", paused: true, abort: false, attempts: 1, waitForJobsSeconds: 0, "
           "evictionSeconds: 60, installSeconds: 60, validationSeconds: 60, evictUnmanaged: true}, "
           "quarantine: {enabled: true, reasons: [RowRemapFailure], maxNodes: 20%}}",
       }) {
    const auto stored = Create(FromYaml(spec));
    ASSERT_OK(stored) << spec;
    const StatusOr<GpuPolicy> policy = ReadGpuPolicy(json::value(*stored));
    ASSERT_OK(policy);
    EXPECT_EQ(policy->generation, 1);
    // Nothing was pruned: the schema knows every field.
    EXPECT_EQ(json::value(stored->at("spec")), FromYaml(spec)) << spec;
  }
}

TEST_F(CrdTest, SchemaAndReaderNameTheSameBadField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"upgrade: {}", "groups"},
      {"groups: [{nodeSelector: {}}]", "spec.groups[0]"},
      {"groups: [{name: a}]", "spec.groups[0]"},
      {"groups: [{name: 3, nodeSelector: {}}]", "spec.groups[0].name"},
      {"groups: [{name: a, nodeSelector: []}]", "spec.groups[0].nodeSelector"},
      {"groups: [{name: a, nodeSelector: {matchExpressions: [{key: k, operator: Gt}]}}]",
       "spec.groups[0].nodeSelector.matchExpressions[0].operator"},
      {"groups: [{name: a, nodeSelector: {}, driver: {from: apt}}]", "spec.groups[0].driver.from"},
      {"groups: [{name: a, nodeSelector: {}, driver: {from: package, branch: 550}}]",
       "spec.groups[0].driver.branch"},
      {"groups: [{name: a, nodeSelector: {}, labels: {a: 1}}]", "spec.groups[0].labels.a"},
      {"groups: [{name: a, nodeSelector: {}, gate: {taint: 1}}]", "spec.groups[0].gate.taint"},
      {"{groups: [{name: a, nodeSelector: {}}], upgrade: {maxUnavailable: [1]}}",
       "spec.upgrade.maxUnavailable"},
      {"{groups: [{name: a, nodeSelector: {}}], upgrade: {maxUnavailable: ten}}",
       "spec.upgrade.maxUnavailable"},
      {"{groups: [{name: a, nodeSelector: {}}], upgrade: {maxUnavailable: 0}}",
       "spec.upgrade.maxUnavailable"},
      {"{groups: [{name: a, nodeSelector: {}}], upgrade: {maxUnavailable: 101%}}",
       "spec.upgrade.maxUnavailable"},
      {"{groups: [{name: a, nodeSelector: {}}], upgrade: {failureBudget: -1}}",
       "spec.upgrade.failureBudget"},
      {"{groups: [{name: a, nodeSelector: {}}], quarantine: {maxNodes: 0%}}",
       "spec.quarantine.maxNodes"},
      {"groups: []", "spec"},
      {"groups: [{name: a, nodeSelector: {}, labels: {a: -b}}]", "spec.groups[0].labels.a"},
      {"groups: [{name: a, nodeSelector: {matchLabels: {a: b c}}}]",
       "spec.groups[0].nodeSelector.matchLabels.a"},
      {"groups: [{name: a, nodeSelector: {}, config: {pools: [{share: {by: tim}}]}}]",
       "spec.groups[0].config"},
      {"{groups: [{name: a, nodeSelector: {}}], quarantine: {reasons: [row-remap]}}",
       "spec.quarantine.reasons[0]"},
      {"{groups: [{name: a, nodeSelector: {}}], upgrade: {attempts: 11}}", "spec.upgrade.attempts"},
      {"{groups: [{name: a, nodeSelector: {}}], upgrade: {paused: \"yes\"}}",
       "spec.upgrade.paused"},
      {"{groups: [{name: a, nodeSelector: {}}], quarantine: {reasons: A}}",
       "spec.quarantine.reasons"},
  };
  for (const auto& [spec, field] : cases) {
    const json::value value = FromYaml(spec);
    const auto created = Create(value);
    EXPECT_FALSE(created.ok()) << spec;
    EXPECT_THAT(std::string(Message(created.status())), HasSubstr(field)) << spec;
    EXPECT_THAT(ReadGpuPolicy(json::value(Object(value))),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(field)))
        << spec;
  }
}

TEST_F(CrdTest, TheSchemaHasEveryWayToShare) {
  for (const sharing::Kind* kind : sharing::Kinds()) {
    const std::string name(kind->traits().name);
    // Whether its other fields are complete is for the reader alone.
    EXPECT_OK(Create(FromYaml(fmt::format(
        "groups: [{{name: a, nodeSelector: {{}}, config: {{pools: [{{share: {{by: {}}}}}]}}}}]",
        name))))
        << name;
  }
}

// An API server evaluates them; this one does not.
TEST_F(CrdTest, DriversHaveRules) {
  std::ifstream file(kFile);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("has(self.branch) || has(self.version)"));
  EXPECT_THAT(text, HasSubstr("self.version.startsWith(self.branch + '.')"));
  for (const std::string_view spec :
       {"groups: [{name: a, nodeSelector: {}, driver: {from: package}}]",
        "groups: [{name: a, nodeSelector: {}, driver: {from: package, branch: '550', version: "
        "535.1.1}}]"}) {
    EXPECT_THAT(ReadGpuPolicy(json::value(Object(FromYaml(spec)))),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("spec.groups[0].driver")));
  }
}

TEST_F(CrdTest, StatusIsASubresource) {
  ASSERT_OK(Create(FromYaml("groups: [{name: a, nodeSelector: {}}]")));
  ASSERT_OK(api_.Do("PATCH", std::string(kPolicies) + "/p1/status",
                    {{"status", {{"nodes", 3}, {"starting", {"n1"}}}}}));
  const json::object object = api_.Find(std::string(kPolicies) + "/p1")->object();
  EXPECT_EQ(json::serialize(object.at("status")), R"({"nodes":3,"starting":["n1"]})");
  EXPECT_EQ(object.at("metadata").at("generation"), 1);
}

}  // namespace
}  // namespace kgpu::policy
