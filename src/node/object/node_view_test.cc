#include "src/node/object/node_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/object/test_facts.h"

namespace kgpu::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

SeenNode& Seen(NodeReport& report) {
  return report.seen ? *report.seen : report.seen.emplace();
}

NodeReport ReadyReport() {
  NodeReport report;
  report.node = "n1";
  report.chain = CheckChain(ReadyFacts());
  report.is_ready = true;
  report.desired = DesiredGate{ConditionText{true, "AllVerified", ""}, DesiredTaint::kLift};
  SeenNode& node = report.seen.emplace();
  node.name = "n1";
  node.gpu_ready =
      SeenCondition{"True", "AllVerified", "", WallTime(std::chrono::seconds(1'767'323'045))};
  report.writer.is_settled = true;
  return report;
}

TEST(NodeViewTest, AReadyNodeIsReadyInOneLine) {
  const std::string table = NodeTable(ReadyReport());
  EXPECT_THAT(table, StartsWith("node n1: ready\n"));
  EXPECT_THAT(table, HasSubstr("GPUReady=True AllVerified since 2026-01-02T03:04:05Z"));
  EXPECT_THAT(table, HasSubstr("taint      none"));
  EXPECT_TRUE(IsHealthy(ReadyReport()));
}

TEST(NodeViewTest, RemarksOfTheAgentStandBelowAndChangeNothing) {
  NodeReport report = ReadyReport();
  report.remarks = {"the pod does not share the host's process namespace"};
  EXPECT_THAT(NodeTable(report),
              AllOf(StartsWith("node n1: ready\n"),
                    HasSubstr("\n\nthe pod does not share the host's process namespace\n")));
  EXPECT_THAT(boost::json::serialize(NodeJson(report)), HasSubstr(R"("remarks":["the pod)"));
  EXPECT_TRUE(IsHealthy(report));
}

TEST(NodeViewTest, ShowsTheConditionAboutHealthBesideTheGate) {
  NodeReport report = ReadyReport();
  EXPECT_THAT(NodeTable(report), HasSubstr("health     none\n"));
  Seen(report).gpu_healthy =
      SeenCondition{"False", "Xid79", "", WallTime(std::chrono::seconds(1'767'323'045))};
  EXPECT_THAT(NodeTable(report),
              HasSubstr("health     GPUHealthy=False Xid79 since 2026-01-02T03:04:05Z\n"));
  EXPECT_EQ(NodeJson(report).at("healthCondition").at("reason").as_string(), "Xid79");
  EXPECT_TRUE(IsHealthy(report)) << "one unhealthy GPU does not close the gate";
}

TEST(NodeViewTest, ShowsTheConditionAboutTheConfigurationWhereThereIsOne) {
  NodeReport report = ReadyReport();
  EXPECT_THAT(NodeTable(report), Not(HasSubstr("\nconfig ")));
  EXPECT_TRUE(NodeJson(report).at("configCondition").is_null());
  Seen(report).gpu_configured =
      SeenCondition{"False", "ConfigUnknown", "", WallTime(std::chrono::seconds(1'767'323'045))};
  EXPECT_THAT(
      NodeTable(report),
      HasSubstr("config     GPUConfigured=False ConfigUnknown since 2026-01-02T03:04:05Z\n"));
}

TEST(NodeViewTest, TheFirstThingWrongStandsFirst) {
  NodeReport report = ReadyReport();
  ChainFacts facts = ReadyFacts();
  facts.cdi_problem = "/var/run/cdi: read-only file system";
  facts.handles = 0;
  report.chain = CheckChain(facts);
  report.is_ready = false;
  EXPECT_THAT(NodeTable(report),
              StartsWith("node n1: not ready: cdi: /var/run/cdi: read-only file system\n"));
  const boost::json::value json = NodeJson(report);
  EXPECT_FALSE(json.at("ready").as_bool());
  EXPECT_EQ(json.at("chain").as_array().size(), 6U);
  EXPECT_EQ(json.at("chain").at(2).at("state").as_string(), "bad");
}

TEST(NodeViewTest, WithoutAnAgentTheConditionSpeaks) {
  NodeReport report = ReadyReport();
  report.chain.reset();
  report.agent_problem = "no agent answers";
  EXPECT_TRUE(IsHealthy(report));
  EXPECT_THAT(NodeTable(report), HasSubstr("agent      no agent answers"));
  Seen(report).gpu_ready = SeenCondition{"False", "DriverMissing", "", {}};
  EXPECT_FALSE(IsHealthy(report));
  Seen(report).gpu_ready.reset();
  EXPECT_THAT(Obstacle(report), HasSubstr("check that an agent runs"));
  report.seen.reset();
  report.api_problem = "nothing answers";
  EXPECT_THAT(NodeTable(report),
              AllOf(StartsWith("node n1: not ready: nothing answers"), HasSubstr("unknown"),
                    HasSubstr("API        no answer, as said above\n")));
}

TEST(NodeViewTest, ANodeWithoutGpusIsHealthyWhereNobodyExpectsOne) {
  NodeReport report = ReadyReport();
  report.chain = Chain{.has_gpus = false, .links = {}};
  report.is_ready = false;
  Seen(report).gpu_ready.reset();
  EXPECT_TRUE(IsHealthy(report));
  EXPECT_THAT(NodeTable(report), StartsWith("node n1: has no GPU\n"));
  Seen(report).taints = {{{"kgpu.dev/not-ready", "", "NoSchedule"}, "{}"}};
  EXPECT_FALSE(IsHealthy(report));
}

TEST(NodeViewTest, NamesOtherOwnersAndSingleKeysLeftToThem) {
  NodeReport report = ReadyReport();
  report.owners.found = {{.owner = Owner::kNfd,
                          .is_running = true,
                          .marks = {"pod nfd/worker"},
                          .removal = "helm uninstall nfd"}};
  report.writer.skipped = {
      {"label", "feature.node.kubernetes.io/x", "1", "2", "Node Feature Discovery"},
      {"label", "nvidia.com/gpu.present", "true", "no", "kubectl-label"}};
  const std::string table = NodeTable(report);
  EXPECT_THAT(table, AllOf(HasSubstr("Node Feature Discovery runs here (pod nfd/worker): kgpu does "
                                     "not set it; to take over: `kgpu node adopt --from nfd`"),
                           HasSubstr("nvidia.com/gpu.present is left to kubectl-label"),
                           Not(HasSubstr("feature.node.kubernetes.io/x"))));
}

}  // namespace
}  // namespace kgpu::node
