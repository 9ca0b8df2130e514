#include "src/diagnose/claim/explain_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/diagnose/explain/test_world.h"
#include "src/diagnose/explain/view.h"

namespace kgpu::claim {
namespace {

using explain::Edit;
using explain::EvidenceOf;
using explain::IdsOf;
using explain::Report;
using explain::World;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// `count` GPUs named gpu-0 … on a node, each with `more` fields.
Edit Gpus(int count, const std::string& more = "", const std::string& spec = "nodeName: node-a") {
  std::string devices;
  for (int i = 0; i < count; ++i) {
    devices += fmt::format(
        "{}{{name: gpu-{}, attributes: {{model: {{string: A100}}, uuid: {{string: u-{}}}}}, "
        "capacity: {{memory: {{value: 80Gi}}}}{}}}",
        i == 0 ? "" : ", ", i, i, more);
  }
  return {"", fmt::format("kind: ResourceSlice\nmetadata: {{name: s}}\nspec: {{driver: "
                          "gpu.nvidia.com, {}, pool: {{name: node-a, generation: 1, "
                          "resourceSliceCount: 1}}, devices: [{}]}}",
                          spec, devices)};
}

// team-a/one with other fields of its request.
Edit Claim(const std::string& exactly, const std::string& more = "") {
  return {"", fmt::format("kind: ResourceClaim\nmetadata: {{name: one, namespace: team-a}}\nspec: "
                          "{{devices: {{requests: [{{name: r, exactly: {{deviceClassName: "
                          "gpu.nvidia.com{}}}}}]{}}}}}",
                          exactly, more)};
}

Edit Select(const std::string& expression) {
  return Claim(fmt::format(", selectors: [{{cel: {{expression: '{}'}}}}]", expression));
}

// Another claim with a device.
Edit Holder(const std::string& device, const std::string& more = "") {
  return {"", fmt::format("kind: ResourceClaim\nmetadata: {{name: on-{0}, namespace: team-b}}\n"
                          "status: {{allocation: {{devices: {{results: [{{driver: gpu.nvidia.com, "
                          "pool: node-a, device: {0}{1}}}]}}}}}}",
                          device, more)};
}

Edit TaintRule(const std::string& devices, const std::string& effect) {
  return {"", fmt::format("kind: DeviceTaintRule\nmetadata: {{name: t}}\nspec: {{deviceSelector: "
                          "{{{}}}, taint: {{key: test, effect: {}}}}}",
                          devices, effect)};
}

Report ReportOf(const std::vector<Edit>& edits) {
  std::vector<Edit> all = {{"", explain::kClass}};
  all.insert(all.end(), edits.begin(), edits.end());
  return ExplainClaim(World().Apply(all).ToDump(), "team-a", "one");
}

struct Row {
  std::string id;
  std::vector<Edit> edits;
  std::string evidence;
};

std::vector<Row> SelectorRows() {
  return {
      {"claim-missing", {Gpus(1)}, "ResourceClaim team-a/one not found"},
      {"claim-missing",
       {Gpus(1),
        {"",
         "kind: ResourceClaim\nmetadata: {name: one, namespace: team-a}\nspec: {devices: "
         "{requests: "
         "[{name: r, exactly: {deviceClassName: none}}]}}"}},
       "request r: DeviceClass none not found"},
      {"device-selector-invalid",
       {Gpus(1), Select("device.driver = \"x\"")},
       "selector of request r, \"device.driver = \"x\"\": column 15: unexpected \"=\""},
      {"device-unknown",
       {Gpus(1), Select("device.driver.charAt(0) == \"g\"")},
       "column 15: kgpu cannot evaluate .charAt() with 1 arguments"},
      {"device-selector-fails",
       {Gpus(2), Select("device.attributes[\"gpu.nvidia.com\"].none == \"x\"")},
       "gpu-0: the selector of request r fails: device.attributes[\"gpu.nvidia.com\"].none == "
       "\"x\": "
       "device.attributes[\"gpu.nvidia.com\"].none: no such key"},
      {"device-driver-absent", {Claim("")}, "r: class gpu.nvidia.com is for driver gpu.nvidia.com"},
  };
}

std::vector<Row> UseRows() {
  const std::string counters =
      ", sharedCounters: [{name: set, counters: {slices: {value: \"7\"}}}]";
  return {
      {"device-differs",
       {Gpus(16), Select("device.attributes[\"gpu.nvidia.com\"].model == \"H100\"")},
       "r: 16 devices (gpu-0, gpu-1, gpu-2, and 13 more): the selector of request r is false: "
       "device.attributes[\"gpu.nvidia.com\"].model == \"H100\"; "
       "device.attributes[\"gpu.nvidia.com\"].model is \"A100\""},
      {"device-tainted",
       {Gpus(2, ", taints: [{key: x, value: y, effect: NoExecute}]"), Claim("")},
       "r: 2 devices (gpu-0, gpu-1): taint x=y:NoExecute"},
      {"device-tainted",
       {Gpus(2), TaintRule("driver: gpu.nvidia.com, pool: node-a", "NoSchedule"), Claim("")},
       "r: 2 devices (gpu-0, gpu-1): taint test:NoSchedule"},
      {"device-in-use",
       {Gpus(2), Holder("gpu-0"), Holder("gpu-1"), Claim("")},
       "r: 2 devices (gpu-0, gpu-1): another claim has it; gpu-0: team-b/on-gpu-0; gpu-1: "
       "team-b/on-gpu-1"},
      {"device-capacity-short",
       {Gpus(1, ", allowMultipleAllocations: true"),
        Holder("gpu-0", ", shareID: u, consumedCapacity: {memory: 60Gi}"),
        Claim(", capacity: {requests: {memory: 40Gi}}")},
       "r: 1 device (gpu-0): memory: 20Gi of 80Gi left, 40Gi requested; gpu-0: team-b/on-gpu-0"},
      {"device-counter-short",
       {Gpus(2, ", consumesCounters: [{counterSet: set, counters: {slices: {value: \"4\"}}}]",
             "nodeName: node-a" + counters),
        Holder("gpu-0"),
        Claim(", selectors: [{cel: {expression: "
              "'device.attributes[\"gpu.nvidia.com\"].uuid == \"u-1\"'}}]")},
       "r: 1 device (gpu-1): others use what it is made of; slices of set: 3 of 4 left, used by "
       "gpu-0 (team-b/on-gpu-0)"},
  };
}

std::vector<Row> ShortageRows() {
  return {
      {"device-constraint",
       {Gpus(2), Claim(", count: 2", ", constraints: [{matchAttribute: gpu.nvidia.com/uuid}]")},
       "r: matchAttribute gpu.nvidia.com/uuid: 2 of one value are requested, but there are 1 of "
       "\"u-0\", 1 of \"u-1\""},
      {"device-too-few",
       {Gpus(2), Claim(", count: 4")},
       "r: 2 devices, 4 of gpu.nvidia.com requested"},
      {"device-pool-unusable",
       {Gpus(2), {"s", "spec: {pool: {resourceSliceCount: 3}}"}, Claim("")},
       "pool node-a of gpu.nvidia.com: it has 1 of 3 slices of generation 1"},
      {"device-pool-unusable",
       {Gpus(2), {"s", "spec: {devices: [{name: a}, {name: a}]}"}, Claim("")},
       "pool node-a of gpu.nvidia.com is invalid: two devices are named a"},
      {"device-fits", {Gpus(2), Claim(", count: 2")}, "r: gpu-0, r: gpu-1"},
  };
}

std::vector<Row> AllRows() {
  std::vector<Row> rows = SelectorRows();
  for (const std::vector<Row>& more : {UseRows(), ShortageRows()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

TEST(ExplainClaimTest, EachReasonIsFound) {
  for (const Row& row : AllRows()) {
    const Report report = ReportOf(row.edits);
    EXPECT_THAT(EvidenceOf(report, row.id), HasSubstr(row.evidence)) << row.id;
    for (const std::string& id : IdsOf(report)) {
      const bool belongs = id == "device-differs" && row.id == "device-counter-short";
      EXPECT_TRUE(id == row.id || belongs) << row.id << " brings " << id;
    }
    EXPECT_FALSE(explain::IsHealthy(report));
  }
}

TEST(ExplainClaimTest, EachBlockingReasonHasAFix) {
  for (const Row& row : AllRows()) {
    const Report report = ReportOf(row.edits);
    std::vector<report::Finding> findings = report.reasons;
    for (const explain::NodeVerdict& node : report.nodes) {
      findings.insert(findings.end(), node.reasons.begin(), node.reasons.end());
    }
    for (const report::Finding& finding : findings) {
      EXPECT_TRUE(!explain::IsBlocking(finding) || !finding.fix.commands.empty()) << finding.id;
    }
  }
}

TEST(ExplainClaimTest, EachReasonOfTheTableIsTested) {
  std::vector<std::string> ids;
  for (const Row& row : AllRows()) {
    ids.push_back(row.id);
  }
  for (const report::Kind& kind : explain::ReasonKinds()) {
    if (kind.extra == "claim") {
      EXPECT_THAT(ids, Contains(std::string(kind.id)));
    }
  }
}

TEST(ExplainClaimTest, TheVerdictSaysWhatIsAwaited) {
  EXPECT_EQ(ReportOf({Gpus(2), Holder("gpu-0"), Claim(", count: 2")}).verdict,
            "pending: waits for a node that fits; node-a has 1 free of 2 (device-in-use)");
  EXPECT_EQ(ReportOf({Gpus(1), Claim("")}).verdict,
            "pending: waits for a pod that uses it; node-a has devices for it");
  const Report absent = ReportOf({});
  EXPECT_EQ(absent.state, explain::State::kAbsent);
  EXPECT_EQ(absent.verdict, "absent: ResourceClaim team-a/one not found");
}

TEST(ExplainClaimTest, OnlyWhatPassesMayFitLater) {
  EXPECT_TRUE(explain::MayFitLater(ReportOf({Gpus(1), Holder("gpu-0"), Claim("")})));
  EXPECT_FALSE(explain::MayFitLater(ReportOf({Gpus(1), Claim(", count: 2")})));
}

TEST(ExplainClaimTest, TheVerdictSaysWhatKgpuDoesNotKnow) {
  const Report report = ReportOf({Gpus(1), Select("device.driver.charAt(0) == \"g\"")});
  EXPECT_THAT(report.verdict, HasSubstr("pending: kgpu cannot decide whether devices match: "));
}

TEST(ExplainClaimTest, AClassOfSeveralDriversNeedsOne) {
  const auto ids = [](const std::string& expression) {
    return IdsOf(
        ReportOf({Gpus(1),
                  Claim(""),
                  {"gpu.nvidia.com", fmt::format("spec: {{selectors: [{{cel: {{expression: "
                                                 "'{}'}}}}]}}",
                                                 expression)}}));
  };
  EXPECT_THAT(ids("device.driver == \"other\" || device.driver == \"gpu.nvidia.com\""),
              ElementsAre("device-fits"));
  EXPECT_THAT(ids("device.driver.startsWith(\"nic\") && \"a\" == \"a\""),
              ElementsAre("device-differs"));
}

TEST(ExplainClaimTest, OfSeveralRequestsTheOneWithoutDevicesIsNamed) {
  const std::string other =
      "kind: ResourceClaim\nmetadata: {{name: one, namespace: team-a}}\nspec: {{devices: "
      "{{requests: [{{name: a, exactly: {{deviceClassName: gpu.nvidia.com}}}}, {{name: b, exactly: "
      "{{deviceClassName: gpu.nvidia.com, {}}}}}]}}}}";
  const auto report = [&](const std::string& fields) {
    return ReportOf({Gpus(2), {"", fmt::format(fmt::runtime(other), fields)}});
  };
  EXPECT_THAT(IdsOf(report("selectors: [{cel: {expression: \"false\"}}]")),
              ElementsAre("device-differs"));
  EXPECT_THAT(EvidenceOf(report("count: 2"), "device-constraint"),
              HasSubstr("each device fits, but not all of the claim's devices together"));
}

TEST(ExplainClaimTest, APoolWithoutDevicesDoesNotFit) {
  const Report report = ReportOf({Gpus(0), Claim("")});
  EXPECT_THAT(EvidenceOf(report, "device-too-few"),
              HasSubstr("r: 0 devices, 1 of gpu.nvidia.com requested"));
}

TEST(ExplainClaimTest, AnAllocatedClaimIsReportedWithItsDevicesAndPods) {
  const Report report = ReportOf(
      {Gpus(1),
       Claim(""),
       {"one",
        "status: {allocation: {devices: {results: [{request: r, driver: gpu.nvidia.com, pool: "
        "node-a, device: gpu-0}]}}, reservedFor: [{resource: pods, name: train}]}"}});
  EXPECT_TRUE(explain::IsHealthy(report));
  EXPECT_EQ(report.verdict, "allocated: r: gpu.nvidia.com/node-a/gpu-0; reserved for pods train");
  EXPECT_THAT(report.nodes, IsEmpty());
}

TEST(ExplainClaimTest, NodesAreChosenByTheSlices) {
  const auto nodes = [](const std::string& spec) {
    std::vector<std::string> names;
    for (const explain::NodeVerdict& node : ReportOf({Gpus(1, "", spec), Claim("")}).nodes) {
      names.push_back(node.name);
    }
    return names;
  };
  EXPECT_THAT(nodes("nodeName: node-b"), ElementsAre("node-b"));
  EXPECT_THAT(nodes("allNodes: true"), UnorderedElementsAre("node-a", "node-b"));
  EXPECT_THAT(nodes("nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: "
                    "In, values: [b]}]}]}"),
              ElementsAre("node-b"));
  EXPECT_THAT(nodes("perDeviceNodeSelection: true"), IsEmpty());
}

TEST(ExplainClaimTest, NodesWithDevicesOfOtherDriversAreOnlyCounted) {
  const Report report = ReportOf(
      {Gpus(1),
       Holder("gpu-0"),
       {"",
        "kind: ResourceSlice\nmetadata: {name: n}\nspec: {driver: nic.example.com, nodeName: "
        "node-b, pool: {name: node-b}, devices: [{name: nic-0}]}"},
       Claim("")});
  ASSERT_EQ(report.nodes.size(), 1U);
  EXPECT_EQ(report.other_nodes, 1U);
}

TEST(ExplainClaimTest, DevicesOfOlderServersAreRead) {
  const Report report = ReportOf(
      {{"",
        "kind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: gpu.nvidia.com, nodeName: "
        "node-a, "
        "pool: {name: node-a}, devices: [{name: gpu-0, basic: {attributes: {model: {string: "
        "A100}}}}]}"},
       {"",
        "kind: ResourceClaim\nmetadata: {name: one, namespace: team-a}\nspec: {devices: {requests: "
        "[{name: r, deviceClassName: gpu.nvidia.com, selectors: [{cel: {expression: "
        "'device.attributes[\"gpu.nvidia.com\"].model == \"A100\"'}}]}]}}"}});
  EXPECT_THAT(IdsOf(report), ElementsAre("device-fits"));
}

TEST(ExplainClaimTest, TheViewNamesTheClaim) {
  const Report report = ReportOf({Gpus(16), Holder("gpu-3"), Claim(", count: 16")});
  EXPECT_THAT(
      explain::ReportText(report, 10),
      AllOf(HasSubstr("team-a/one: pending: "), HasSubstr("requests: r 16 of gpu.nvidia.com"),
            HasSubstr("node-a: gpu.nvidia.com 15 free of 16\n"),
            HasSubstr("kubectl describe resourceclaim -n team-b on-gpu-3"),
            Not(HasSubstr("pod team-a"))));
  const boost::json::value json = explain::ReportJson(report);
  EXPECT_EQ(json.at("claim"), "team-a/one");
  EXPECT_EQ(json.at("nodes").at(0).at("resources").at("gpu.nvidia.com").at("free"), 15);
}

}  // namespace
}  // namespace kgpu::claim
