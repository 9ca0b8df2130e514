#include "src/diagnose/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fstream>
#include <sstream>

#include "src/diagnose/explain/test_world.h"
#include "src/diagnose/explain/view.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const Edit kBusy{"serve", "spec: {containers: [{resources: {limits: {nvidia.com/gpu: 7}}}]}"};

TEST(ExplainTest, TheVerdictCountsWhatIsFree) {
  EXPECT_THAT(
      World().Apply({kBusy}).Explain().verdict,
      StartsWith("pending: waits for a node with 2 free nvidia.com/gpu; node-a has 1 free of 8"));
}

TEST(ExplainTest, TheVerdictNamesTheNodeThatFitsAndWhatTheSchedulerSays) {
  EXPECT_EQ(World().Explain().verdict,
            "pending: waits for the scheduler; node-a fits as far as checked");
  const Edit event{"",
                   "kind: Event\ninvolvedObject: {kind: Pod, namespace: team-a, name: train}\n"
                   "reason: FailedScheduling\nmessage: volume node affinity conflict"};
  EXPECT_THAT(
      World().Apply({event}).Explain().verdict,
      HasSubstr("waits for the scheduler, which reported: volume node affinity conflict; node-a"));
}

TEST(ExplainTest, SeveralReasonsOfANodeAreNoLackOfDevices) {
  EXPECT_THAT(
      World().Apply({kBusy, {"node-a", "spec: {unschedulable: true}"}}).Explain().verdict,
      AllOf(HasSubstr("waits for a node that fits"), HasSubstr("node-cordoned, gpu-in-use")));
}

TEST(ExplainTest, TheNearestNodeStandsFirst) {
  const Report report =
      World()
          .Apply({kBusy,
                  {"",
                   "kind: Node\nmetadata: {name: a-far}\nspec: {unschedulable: true}\nstatus: "
                   "{allocatable: {nvidia.com/gpu: 1}}"},
                  {"",
                   "kind: Node\nmetadata: {name: z-fits}\nstatus: {allocatable: "
                   "{nvidia.com/gpu: 4}}"}})
          .Explain();
  ASSERT_EQ(report.nodes.size(), 3U);
  EXPECT_EQ(report.nodes[0].name, "z-fits");
  EXPECT_EQ(report.nodes[1].name, "node-a");
  EXPECT_EQ(report.nodes[2].name, "a-far");
}

TEST(ExplainTest, ARunningPodTellsItsDevices) {
  World world;
  world.Apply({{"train",
                "spec: {nodeName: node-a}\nstatus: {phase: Running, containerStatuses: [{name: "
                "main, state: {running: {}}}]}"}});
  Dump dump = world.ToDump();
  EXPECT_THAT(Explain(FactsOf(dump, "team-a", "train")).not_judged,
              Contains(HasSubstr("the kubelet of node-a")));
  dump.held = {{"main", "nvidia.com/gpu", "GPU-1::0"}};
  const Report report = Explain(FactsOf(dump, "team-a", "train"));
  EXPECT_TRUE(IsHealthy(report));
  EXPECT_EQ(report.verdict,
            "running: has 2 nvidia.com/gpu on node-a: nvidia.com/gpu GPU-1::0 (A100-SXM4-80GB, "
            "0000:07:00.0), container main");
}

TEST(ExplainTest, WhatARunningPodHasIsNotFree) {
  const Edit runs{"train",
                  "spec: {nodeName: node-a}\nstatus: {phase: Running, containerStatuses: [{name: "
                  "main, state: {running: {}}}]}"};
  // The pod has 2 of the 8, team-b/serve 4.
  EXPECT_THAT(ReportText(World().Apply({runs}).Explain(), 10),
              HasSubstr("node-a: nvidia.com/gpu 2 free of 8, 2 used by this pod"));
  EXPECT_THAT(ReportText(World().Apply({runs}).Forget("Pod").Explain(), 10),
              HasSubstr("node-a: nvidia.com/gpu ? free of 8, 2 used by this pod"));
  const Edit ended{"train", "spec: {nodeName: node-a}\nstatus: {phase: Succeeded}"};
  EXPECT_THAT(ReportText(World().Apply({ended}).Explain(), 10),
              HasSubstr("node-a: nvidia.com/gpu 4 free of 8\n"));
}

TEST(ExplainTest, AnUnhealthyDeviceOfARunningPodIsReported) {
  World world;
  world.Apply({{"train",
                "spec: {nodeName: node-a}\nstatus: {phase: Running, containerStatuses: [{name: "
                "main, state: {running: {}}}]}"},
               {"node-a",
                "status: {conditions: [{type: GPUHealthy, status: 'False', reason: Xid48, message: "
                "'GPU 0 (GPU-1): Xid48: double bit error'}]}"}});
  Dump dump = world.ToDump();
  dump.held = {{"main", "nvidia.com/gpu", "GPU-2"}};
  EXPECT_THAT(IdsOf(Explain(FactsOf(dump, "team-a", "train"))), IsEmpty());
  dump.held = {{"main", "nvidia.com/gpu", "GPU-1::0"}};
  EXPECT_THAT(IdsOf(Explain(FactsOf(dump, "team-a", "train"))), ElementsAre("gpu-unhealthy"));
}

TEST(ExplainTest, WithoutNodesNoneIsCalledUnfit) {
  const Report report = World().Forget("Node").Explain();
  EXPECT_THAT(report.verdict, HasSubstr("no nodes were listed"));
  EXPECT_THAT(report.not_judged, Contains("nodes: none were listed"));
}

// Users who may not list nodes.
TEST(ExplainTest, WithoutNodesTheSchedulersMessageIsTheVerdict) {
  const Report report =
      World()
          .Forget("Node")
          .Apply({{"",
                   "kind: Event\nmetadata: {name: e}\ninvolvedObject: {kind: Pod, namespace: "
                   "team-a, name: train, uid: u-1}\nreason: FailedScheduling\nmessage: '0/2 nodes "
                   "are available: 1 Insufficient nvidia.com/gpu.'"}})
          .Explain();
  EXPECT_THAT(report.verdict, HasSubstr("pending: the scheduler reported: 0/2 nodes are available: "
                                        "1 Insufficient nvidia.com/gpu."));
}

TEST(ExplainTest, WhatThePodAsAWholeIsGivenCounts) {
  const Report report =
      World().Apply({{"train", "spec: {resources: {requests: {cpu: 10}}}"}}).Explain();
  EXPECT_EQ(report.wants.at("cpu"), "10");
}

TEST(ExplainTest, APodThatRunsWithoutAskingIsReportedAsSuch) {
  const Report report =
      World()
          .Apply({{"train",
                   "spec: {nodeName: node-a, containers: [{name: main}]}\nstatus: {phase: "
                   "Running, containerStatuses: [{name: main, state: {running: {}}}]}"}})
          .Explain();
  EXPECT_FALSE(IsHealthy(report));
  EXPECT_THAT(report.verdict,
              HasSubstr("running: on node-a without a GPU: no container requests one"));
}

// The controller would set it again.
TEST(ExplainTest, OurQuarantineIsEndedByItsReasonNotByHand) {
  const Report report =
      World()
          .Apply({{"node-a",
                   "spec: {taints: [{key: kgpu.dev/quarantined, effect: NoSchedule}]}\n"
                   "status: {conditions: [{type: GPUHealthy, status: 'False', reason: Xid48, "
                   "message: double bit error}]}"}})
          .Explain();
  ASSERT_FALSE(report.nodes.empty());
  const auto found =
      std::ranges::find(report.nodes[0].reasons, "taint-not-tolerated", &report::Finding::id);
  ASSERT_NE(found, report.nodes[0].reasons.end());
  EXPECT_THAT(found->evidence.front(), AllOf(HasSubstr("quarantine"), HasSubstr("Xid48")));
  EXPECT_THAT(found->fix.commands.front(), HasSubstr("kgpu node status --node node-a"));
  for (const std::string& line : found->fix.commands) {
    EXPECT_THAT(line, Not(HasSubstr("kubectl taint")));
  }
}

TEST(ExplainTest, AnAbsentPodIsExplainedByTheEventsOfItsMaker) {
  const auto verdict = [](const std::string& message) {
    return World()
        .Apply({{"",
                 "kind: Event\ninvolvedObject: {kind: ReplicaSet, namespace: team-a, name: "
                 "serve-6d4f}\nreason: FailedCreate\nmessage: '" +
                     message + "'"}})
        .Explain("serve-6d4f-x2k9p");
  };
  struct Row {
    const char* message;
    const char* id;
  };
  const Row rows[] = {
      {"pods \"serve\" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=2",
       "quota-exceeded"},
      {"maximum nvidia.com/gpu usage per Container is 1, but limit is 2", "limit-range"},
      {"pod rejected: RuntimeClass \"nvidia\" not found", "runtime-class-missing"},
      {"no PriorityClass with name high was found", "priority-class-missing"},
      {"admission webhook said no", "create-refused"},
  };
  for (const Row& row : rows) {
    const Report report = verdict(row.message);
    EXPECT_EQ(report.state, State::kAbsent);
    ASSERT_EQ(report.reasons.size(), 2U) << row.id;
    EXPECT_EQ(report.reasons[1].id, row.id);
    EXPECT_THAT(report.verdict, HasSubstr("ReplicaSet serve-6d4f: "));
  }
}

TEST(ExplainTest, AMistypedNameIsAnsweredWithTheNearest) {
  const Report report = World().Apply({{"serve", "metadata: {namespace: team-a}"}}).Explain("serv");
  ASSERT_EQ(report.reasons.size(), 1U);
  EXPECT_EQ(report.reasons[0].evidence.at(0),
            "not found in namespace team-a; did you mean team-a/serve?");
  EXPECT_EQ(report.verdict, "absent: not found in namespace team-a; did you mean team-a/serve?");
}

TEST(ExplainTest, WhatIsNotJudgedIsReported) {
  const Report report =
      World()
          .Forget("Pod")
          .Forget("RuntimeClass")
          .Apply({{"train",
                   "spec: {runtimeClassName: x, topologySpreadConstraints: [{topologyKey: zone}], "
                   "affinity: {podAntiAffinity: {a: []}}, volumes: [{name: v, "
                   "persistentVolumeClaim: {claimName: c}}, {name: w, ephemeral: {}}]}"}})
          .Explain();
  EXPECT_THAT(report.not_judged,
              ElementsAre("topology spread constraints", "pod anti-affinity",
                          "where its volumes can be attached", HasSubstr("no pods were listed"),
                          "whether RuntimeClass x exists", HasSubstr("nominated"),
                          HasSubstr("the image itself")));
}

TEST(ExplainTest, WhatDraServesIsNotCalledUnknown) {
  const Report report =
      World()
          .Apply({{"",
                   "kind: DeviceClass\nmetadata: {name: big}\nspec: {extendedResourceName: "
                   "example.com/big}"},
                  {"train",
                   "spec: {containers: [{name: main, resources: {limits: "
                   "{example.com/big: 1}}}]}"}})
          .Explain();
  EXPECT_THAT(IdsOf(report), Not(Contains("resource-unknown")));
  EXPECT_THAT(report.not_judged,
              Contains(HasSubstr("example.com/big: DRA's class big provides it if")));
}

TEST(ExplainTest, SaysWhetherWaitingCanHelp) {
  EXPECT_TRUE(MayFitLater(World().Apply({kBusy}).Explain())) << "other pods end some day";
  const Report too_many = World()
                              .Apply({{"train",
                                       "spec: {containers: [{name: main, resources: {limits: "
                                       "{nvidia.com/gpu: 64}}}]}"}})
                              .Explain();
  EXPECT_FALSE(MayFitLater(too_many));
  const Report unknown = World()
                             .Apply({{"train",
                                      "spec: {containers: [{name: main, resources: {limits: "
                                      "{nvidia.com/mig-9g.999gb: 1}}}]}"}})
                             .Explain();
  EXPECT_FALSE(MayFitLater(unknown));
}

TEST(ExplainTest, InitContainersAndSidecarsCountAsTheSchedulerCountsThem) {
  const Report report =
      World()
          .Apply({{"train",
                   "spec: {initContainers: [{name: side, restartPolicy: Always, resources: "
                   "{limits: {nvidia.com/gpu: 1}}}, {name: first, resources: {limits: "
                   "{nvidia.com/gpu: 3}}}], overhead: {cpu: 250m}}"}})
          .Explain();
  EXPECT_EQ(report.wants.at("nvidia.com/gpu"), "4");
  EXPECT_EQ(report.wants.at("cpu"), "4250m");
}

TEST(ExplainTest, TheTextShowsTheNearestNodesAndCountsTheRest) {
  World world;
  world.Apply({kBusy});
  for (int i = 0; i < 5; ++i) {
    world.Apply({{"", fmt::format("kind: Node\nmetadata: {{name: cold-{}}}\nspec: {{unschedulable: "
                                  "true}}\nstatus: {{allocatable: {{nvidia.com/gpu: 8}}}}",
                                  i)}});
  }
  EXPECT_THAT(
      ReportText(world.Explain(), 2),
      AllOf(StartsWith("team-a/train: pending: waits for a node that fits"),
            HasSubstr("requests: cpu 4, nvidia.com/gpu 2\n"),
            HasSubstr("           # when it may take pods again: kubectl uncordon cold-0\n"),
            HasSubstr("… and 4 more nodes, by first reason: 1 gpu-in-use, 3 node-cordoned"),
            HasSubstr("1 node without GPUs is not shown")));
}

TEST(ExplainTest, TheTextNeverWritesToTheTerminal) {
  const std::string text = ReportText(
      World().Apply({{"train", "spec: {schedulingGates: [{name: \"a\\e[31mb\"}]}"}}).Explain(), 5);
  EXPECT_THAT(text, AllOf(HasSubstr("a\\x1b[31mb"), Not(HasSubstr("\x1b"))));
}

TEST(ExplainTest, JsonHasTheFieldsOfThePage) {
  const json::value value = ReportJson(World().Apply({kBusy}).Explain());
  EXPECT_EQ(value.at("pod"), "team-a/train");
  EXPECT_EQ(value.at("state"), "pending");
  EXPECT_EQ(value.at("healthy"), false);
  EXPECT_EQ(value.at("mayFitLater"), true);
  const json::value& node = value.at("nodes").at(0);
  EXPECT_EQ(node.at("fits"), false);
  EXPECT_EQ(node.at("resources").at("nvidia.com/gpu").at("free"), 1);
  EXPECT_EQ(node.at("findings").at(0).at("id"), "gpu-in-use");
}

// Ten nodes, each with a trouble of its own.
TEST(ExplainTest, ASavedClusterIsReportedAsItWasBefore) {
  const std::string folder = "src/diagnose/explain/testdata";
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/" + folder + "/cluster.yaml");
  std::stringstream text;
  text << file.rdbuf();
  const auto dump = ReadDump(text.str(), "cluster.yaml");
  ASSERT_OK(dump);
  for (const char* name : {"train", "typo", "broken"}) {
    ExpectGolden(fmt::format("{}/{}.txt", folder, name),
                 ReportText(Explain(FactsOf(*dump, "team-a", name)), 10));
  }
}

TEST(ExplainTest, ThePageHasTheTableOfReasons) {
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/docs/reference/explain.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(ReasonsMarkdown()))
      << "paste `kgpu explain reasons --output markdown` there";
}

}  // namespace
}  // namespace kgpu::explain
