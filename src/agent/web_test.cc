#include "src/agent/web.h"
#include "src/node/part/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include "src/agent/own_metrics.h"
#include "src/agent/status_view.h"
#include "src/agent/test_state.h"
#include "src/platform/doc/doc.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

http::Request Get(std::string target) {
  http::Request request;
  request.target = std::move(target);
  EXPECT_OK(http::SplitTarget(request));
  return request;
}

const auto kNoParts = [] { return node::StatusPage(); };

std::string OwnMetrics(const AgentState& state, const ProcessUse& use) {
  metrics::Exposition page;
  WriteOwnMetrics(state, use, "0.1.0", page);
  return page.Take();
}

TEST(WebTest, IsHealthyWhileTheLoopTurns) {
  EXPECT_EQ(AnswerPublic(Get("/healthz"), AgentState()).code, 200);
  EXPECT_EQ(AnswerPublic(Get("/health"), AgentState()).code, 200);
}

TEST(WebTest, TheTableSaysOnceWhatIsWrongWithTheDriver) {
  AgentState state = TestState();
  auto snapshot = std::make_shared<device::Snapshot>(*state.snapshot);
  snapshot->driver.state = device::DriverState::kNotLoaded;
  snapshot->driver.reason = "Driver 535.104.05 is installed, but its module is not loaded.";
  for (pools::Slot& slot : state.assignment.resources[0].slots) {
    slot.health = {false, "DriverNotReady", snapshot->driver.reason};
  }
  const std::string reason = snapshot->driver.reason;
  state.snapshot = std::move(snapshot);
  const std::string table = StatusTable(state, {}, "0.1.0");
  EXPECT_THAT(table, HasSubstr("kgpu 0.1.0: not ready: " + reason + "\n"));
  EXPECT_EQ(table.find(reason), table.rfind(reason)) << table;
  EXPECT_THAT(table, HasSubstr("DriverNotReady: as above"));
}

TEST(WebTest, RendersOnlyTheRequestedFormat) {
  int tables = 0;
  int trees = 0;
  for (const report::OutputFormat format :
       {report::OutputFormat::kTable, report::OutputFormat::kJson, report::OutputFormat::kYaml}) {
    const auto json = [&]() -> boost::json::value {
      ++trees;
      return "tree";
    };
    const auto table = [&] {
      ++tables;
      return std::string("table");
    };
    const http::Response response = node::Shown(format, json, table, true);
    EXPECT_THAT(response.body,
                HasSubstr(format == report::OutputFormat::kTable ? "table" : "tree"));
  }
  EXPECT_EQ(tables, 1);
  EXPECT_EQ(trees, 2);
}

TEST(WebTest, IsReadyWhenPodsCanGetGpus) {
  EXPECT_EQ(AnswerPublic(Get("/readyz"), TestState()).code, 200);
}

struct Obstacle {
  const char* name;
  void (*put)(AgentState&);
  const char* text;
};

class WebReadyTest : public ::testing::TestWithParam<Obstacle> {};

TEST_P(WebReadyTest, NamesTheObstacle) {
  AgentState state = TestState();
  GetParam().put(state);
  const http::Response response = AnswerPublic(Get("/readyz"), state);
  EXPECT_EQ(response.code, 503);
  EXPECT_THAT(response.body, HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    All, WebReadyTest,
    ::testing::Values(Obstacle{"Config",
                               [](AgentState& state) {
                                 state.has_config = false;
                                 state.config_problem = "config.yaml:3:1: unknown key";
                               },
                               "config.yaml:3:1"},
                      Obstacle{"NoAnswerYet",
                               [](AgentState& state) {
                                 state.snapshot = std::make_shared<const device::Snapshot>();
                               },
                               "not answered yet"},
                      Obstacle{"Driver",
                               [](AgentState& state) {
                                 auto snapshot =
                                     std::make_shared<device::Snapshot>(*state.snapshot);
                                 snapshot->driver.state = device::DriverState::kNouveau;
                                 snapshot->driver.reason = "nouveau uses the GPUs";
                                 state.snapshot = std::move(snapshot);
                               },
                               "nouveau uses"},
                      Obstacle{"Injection",
                               [](AgentState& state) { state.injection_problem = "no libraries"; },
                               "no libraries"},
                      Obstacle{"Kubelet",
                               [](AgentState& state) {
                                 state.endpoints[0].state = plugin::EndpointState::kWaiting;
                                 state.endpoints[0].reason = "kubelet.sock is not there";
                               },
                               "kubelet.sock is not there"}),
    [](const auto& obstacle) { return std::string(obstacle.param.name); });

TEST(WebTest, ShowsMetrics) {
  const ProcessUse use{
      .cpu_seconds = 1.5, .resident_bytes = 1 << 20, .open_fds = 12, .max_fds = 1024};
  ExpectGolden("src/agent/testdata/metrics.txt", OwnMetrics(TestState(), use));
}

TEST(WebTest, SaysThatARestartLosesItsState) {
  AgentState state = TestState();
  state.memory_problem = "no room";
  EXPECT_THAT(OwnMetrics(state, {}), HasSubstr("\nkgpu_agent_memory_ok 0\n"));
  EXPECT_THAT(StatusTable(state, {}, "0.1.0"), HasSubstr("\nstate     no room\n"));
}

TEST(WebTest, ShowsWhatThePartsAdd) {
  node::StatusPage parts;
  parts.AddLine("kernel", "no module");
  parts.AddLine("loans", "");
  parts.tables = "\nPARTS\n";
  parts.fields["kernelProblem"] = "no module";
  parts.holders[TestState().snapshot->gpus[0].uuid.str()] = "fn/hello/1";
  const std::string table = StatusTable(TestState(), parts, "0.1.0");
  EXPECT_THAT(table, HasSubstr("enabled by default\nkernel    no module\nmetrics "));
  EXPECT_THAT(table, HasSubstr("Registered  5\n\nPARTS\n\nGPU-"));
  EXPECT_EQ(StatusJson(TestState(), parts, "1").at("kernelProblem").as_string(), "no module");
  EXPECT_THAT(AnswerLocal(
                  Get("/v1/devices?output=table"), TestState(), [&] { return parts; }, "1")
                  .body,
              HasSubstr("fn/hello/1"));
}

TEST(WebTest, ShowsTheStatusInEveryForm) {
  ExpectGolden("src/agent/testdata/status.txt", StatusTable(TestState(), {}, "0.1.0"));
  ExpectGolden("src/agent/testdata/status.json",
               doc::Print(StatusJson(TestState(), {}, "0.1.0"), doc::Format::kJson));
  const http::Response table =
      AnswerLocal(Get("/v1/status?output=table"), TestState(), kNoParts, "0.1.0");
  EXPECT_EQ(table.body, StatusTable(TestState(), {}, "0.1.0"));
  EXPECT_THAT(table.headers.Find(node::kExitCodeHeader), Optional(std::string_view("0")));
}

TEST(WebTest, TellsCommandsOfUnhealthyDevices) {
  const http::Response response = AnswerLocal(Get("/v1/devices"), TestState(), kNoParts, "1");
  EXPECT_EQ(response.code, 200);
  EXPECT_THAT(response.headers.Find(node::kExitCodeHeader), Optional(std::string_view("7")));
}

TEST(WebTest, TellsOfTheNode) {
  AgentState state = TestState();
  state.node.node = "n1";
  state.node.chain = node::Chain{.links = {{.name = "driver",
                                            .state = node::LinkState::kBad,
                                            .reason = "DriverMissing",
                                            .message = "install it"}}};
  const http::Response response = AnswerLocal(Get("/v1/node?output=table"), state, kNoParts, "1");
  EXPECT_EQ(response.code, 200);
  EXPECT_EQ(response.body, node::NodeTable(state.node));
  EXPECT_THAT(response.headers.Find(node::kExitCodeHeader), Optional(std::string_view("7")));
}

TEST(WebTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(AnswerPublic(Get("/v1/status"), TestState()).code, 404);
  EXPECT_EQ(AnswerLocal(Get("/v2"), TestState(), kNoParts, "1").code, 404);
  EXPECT_EQ(AnswerLocal(Get("/v1/status?output=xml"), TestState(), kNoParts, "1").code, 400);
  http::Request post = Get("/metrics");
  post.method = "POST";
  EXPECT_EQ(AnswerPublic(post, TestState()).code, 405);
}

}  // namespace
}  // namespace kgpu::agent
