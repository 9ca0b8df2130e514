#include "src/cluster/policy/gpu_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "testing/status_matchers.h"

namespace kgpu::policy {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kWhole = R"(
apiVersion: kgpu.dev/v1alpha1
kind: GpuPolicy
metadata: {name: production, uid: u1, resourceVersion: "7", generation: 3}
spec:
  groups:
    - name: training
      nodeSelector:
        matchLabels: {pool: training}
        matchExpressions: [{key: zone, operator: In, values: [a, b]}]
      driver: {from: package, branch: "550", version: 550.54.15}
      config:
        pools: [{resource: nvidia.com/gpu}]
      labels: {team: ml}
      gate: {taint: true}
    - name: rest
      nodeSelector: {}
  upgrade: {maxUnavailable: 10%, failureBudget: 2, paused: true, waitForJobsSeconds: 0}
  quarantine: {enabled: true, reasons: [RowRemapFailure], maxNodes: 3}
)";

StatusOr<GpuPolicy> Parse(std::string_view text) {
  return ParseGpuPolicy(text, "p.yaml");
}

// The spec's only group, with more fields.
std::string Of(std::string_view group, std::string_view more = "") {
  return fmt::format("spec:\n  groups: [{{name: a, nodeSelector: {{}}, {}}}]\n{}", group, more);
}

TEST(GpuPolicyTest, ReadsEveryField) {
  const StatusOr<GpuPolicy> policy = Parse(kWhole);
  ASSERT_OK(policy);
  EXPECT_EQ(policy->name, "production");
  EXPECT_EQ(policy->generation, 3);
  EXPECT_EQ(policy->version, "7");
  ASSERT_EQ(policy->groups.size(), 2U);
  const Group& group = policy->groups[0];
  EXPECT_TRUE(group.nodes.Matches({{"pool", "training"}, {"zone", "b"}}));
  EXPECT_FALSE(group.nodes.Matches({{"pool", "training"}, {"zone", "c"}}));
  EXPECT_EQ(group.driver.from, DriverSource::kPackage);
  EXPECT_EQ(group.driver.target(), "550.54.15");
  EXPECT_THAT(group.config, AllOf(HasSubstr("kind: NodeConfig"), HasSubstr("nvidia.com/gpu"),
                                  HasSubstr("taint: true")));
  EXPECT_EQ(group.labels, (LabelMap{{"team", "ml"}}));
  EXPECT_EQ(policy->groups[1].config, "");
  EXPECT_EQ(policy->upgrade.max_unavailable, (Amount{.number = 10, .is_percent = true}));
  EXPECT_EQ(policy->upgrade.failure_budget.number, 2U);
  EXPECT_TRUE(policy->upgrade.is_paused);
  EXPECT_EQ(policy->upgrade.job_wait, seconds(0));
  EXPECT_TRUE(policy->quarantine.is_enabled);
  EXPECT_THAT(policy->quarantine.reasons, ElementsAre("RowRemapFailure"));
}

TEST(GpuPolicyTest, HasCautiousDefaults) {
  const StatusOr<GpuPolicy> policy = Parse(Of("driver: {}"));
  ASSERT_OK(policy);
  EXPECT_EQ(policy->groups[0].driver.from, DriverSource::kHost);
  EXPECT_EQ(policy->upgrade, Upgrade{});
  EXPECT_EQ(policy->upgrade.max_unavailable.Of(1'000, true), 1U);
  EXPECT_FALSE(policy->quarantine.is_enabled);
}

TEST(GpuPolicyTest, ErrorsNameTheField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"kind: GpuPolicy", "spec is missing"},
      {"kind: Pod\nspec: {groups: [{name: a, nodeSelector: {}}]}", "kind: \"Pod\" must be"},
      {"spec: {groups: []}", "spec: groups is missing"},
      {"spec: {groups: [{name: A, nodeSelector: {}}]}", "spec.groups[0].name: \"A\" must be"},
      {"spec: {groups: [{nodeSelector: {}}]}", "spec.groups[0]: name is missing"},
      {"spec: {groups: [{name: a}]}", "spec.groups[0]: nodeSelector is missing"},
      {"spec: {groups: [{name: a, nodeSelector: {}}, {name: a, nodeSelector: {}}]}",
       "spec.groups[1]: name: \"a\" is a duplicate"},
      {Of("driver: {from: apt}"), "spec.groups[0].driver.from: "},
      {Of("driver: {from: package}"), "spec.groups[0].driver: branch or version is needed"},
      {Of("driver: {version: \"550\"}"), "spec.groups[0].driver.version: \"550\" must be"},
      {Of("driver: {branch: \"550.54\"}"), "spec.groups[0].driver.branch: "},
      {Of("driver: {branch: \"535\", version: 550.54.15}"), "is not of branch 535"},
      {Of("config: {pools: [{shares: 3}]}"), "spec.groups[0].config:"},
      {Of("config: {pools: [{resource: example.com/gpu}]}"),
       "spec.groups[0]: config: pools: resource \"example.com/gpu\" must begin with nvidia.com/"},
      {Of("config: 3"), "spec.groups[0].config: 3 must be a NodeConfig"},
      {Of("labels: {a b: c}"), "spec.groups[0].labels"},
      {Of("labels: {a: b c}"), "spec.groups[0].labels.a"},
      {"spec: {groups: [{name: a, nodeSelector: {}, labels: {pool: x}}, {name: b, nodeSelector: "
       "{matchExpressions: [{key: pool, operator: Exists}]}}]}",
       "spec.groups[0]: labels: a nodeSelector of this policy looks at \"pool\""},
      {Of("gate: {taint: maybe}"), "spec.groups[0].gate.taint"},
      {"spec: {groups: [{name: a, nodeSelector: {matchExpressions: [{key: a, operator: In}]}}]}",
       "spec.groups[0].nodeSelector.matchExpressions[0]: values: In needs values"},
      {Of("labels: {}", "  upgrade: {maxUnavailable: 0}"), "spec.upgrade.maxUnavailable: "},
      {Of("labels: {}", "  upgrade: {maxUnavailable: 101%}"), "spec.upgrade.maxUnavailable: "},
      {Of("labels: {}", "  upgrade: {failureBudget: -1}"), "spec.upgrade.failureBudget: "},
      {Of("labels: {}", "  upgrade: {installSeconds: 1}"), "spec.upgrade.installSeconds: "},
      {Of("labels: {}", "  quarantine: {reasons: [bad reason]}"), "spec.quarantine.reasons[0]: "},
      {Of("labels: {}", "  upgrade: {pausd: true}"), "spec.upgrade.pausd: unknown field"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(Parse(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr(error))) << text;
  }
}

TEST(GpuPolicyTest, AnObjectMayHaveFieldsOfANewerVersion) {
  const boost::json::value object = {
      {"metadata", {{"name", "p"}}},
      {"spec",
       {{"groups", {{{"name", "a"}, {"nodeSelector", boost::json::object()}, {"color", "red"}}}},
        {"upgrade", {{"window", "22:00"}}}}}};
  const StatusOr<GpuPolicy> policy = ReadGpuPolicy(object);
  ASSERT_OK(policy);
  EXPECT_THAT(policy->unknown_fields, ElementsAre("spec.groups[0].color", "spec.upgrade.window"));
}

TEST(AmountTest, OnlyLimitsRoundUp) {
  constexpr Amount kTenth{.number = 10, .is_percent = true};
  EXPECT_EQ(kTenth.Of(5, true), 1U);
  EXPECT_EQ(kTenth.Of(5, false), 0U);
  EXPECT_EQ(kTenth.Of(1'000, true), 100U);
  EXPECT_EQ((Amount{.number = 3}.Of(1, true)), 3U);
}

TEST(DriverTest, ABranchIsAllOfItsVersions) {
  EXPECT_TRUE(IsDriver("550.54.15", "550"));
  EXPECT_TRUE(IsDriver("550.54.15", "550.54.15"));
  EXPECT_FALSE(IsDriver("550.54.15", "55"));
  EXPECT_FALSE(IsDriver("550.54.15", "550.54.1"));
  EXPECT_FALSE(IsDriver("", "550"));
}

}  // namespace
}  // namespace kgpu::policy
