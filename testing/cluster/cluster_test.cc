// The cluster as a whole: nodes, logs, and that equal changes give equal clusters.
#include "testing/cluster/cluster_fixture.h"

#include "testing/apiserver/api_fixture.h"

namespace kgpu::simcluster {
namespace {

using apiserver::Seen;
using apiserver::SeenSink;
using apiserver::TextAt;
using ::testing::ElementsAre;

class WholeClusterTest : public ClusterTest {
 protected:
  std::shared_ptr<Seen> Request(std::string_view target) {
    http::Request request;
    request.method = "GET";
    request.target = target;
    auto seen = std::make_shared<Seen>();
    api_.Handle(request, std::make_shared<SeenSink>(seen));
    return seen;
  }
};

TEST_F(WholeClusterTest, NodeThatAnybodyCreatesIsRun) {
  Create("/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
  Pass();
  const auto node = Get("/api/v1/nodes/n1");
  EXPECT_EQ(TextAt(node, {"status", "allocatable", "pods"}), "110");
  EXPECT_EQ(TextAt(apiserver::ItemsAt(node, {"status", "conditions"})[0].as_object(), {"status"}),
            "True");
  EXPECT_EQ(apiserver::ItemsAt(node, {"status", "addresses"}).size(), 2U);
}

TEST_F(WholeClusterTest, PodsOfANodeThatIsNotReadyDoNotStart) {
  AddGpuNode("n1");
  Pass();
  Patch("/api/v1/nodes/n1/status",
        R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
  CreateGpuPod("p", 1);
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n1 Pending"));
  Patch("/api/v1/nodes/n1/status",
        R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n1 Ready"));
}

TEST_F(WholeClusterTest, PodThatATestEndsBeforeItIsReadyStaysOver) {
  AddGpuNode("n1");
  CreatePod("p", R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","env":[
      {"name":"SIM_START_SECONDS","value":"1"},{"name":"SIM_READY_SECONDS","value":"9"}]}]})");
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n1 Running"));
  Patch("/api/v1/namespaces/default/pods/p/status", R"({"status":{"phase":"Succeeded"}})");
  Pass(std::chrono::minutes(2));
  EXPECT_THAT(Places(), ElementsAre("n1 Succeeded"));
}

TEST_F(WholeClusterTest, LogIsServedAndFollowed) {
  AddGpuNode("n1");
  constexpr const char* kLog = "/api/v1/namespaces/default/pods/p/log";
  CreatePod("p", R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","env":[
      {"name":"SIM_LOG","value":"one"},{"name":"SIM_RUN_SECONDS","value":"60"}]}]})");
  EXPECT_EQ(Request(kLog)->code, 400);
  Pass();
  EXPECT_EQ(Request(kLog)->body, "one\n");
  EXPECT_TRUE(Request(kLog)->is_ended);
  const auto follower = Request(fmt::format("{}?follow=true", kLog));
  api_.logs().Append({"default", "p"}, "two\nthree\n");
  EXPECT_EQ(follower->body, "one\ntwo\nthree\n");
  EXPECT_EQ(Request(fmt::format("{}?tailLines=2", kLog))->body, "two\nthree\n");
  EXPECT_EQ(Request(fmt::format("{}?tailLines=9", kLog))->body, "one\ntwo\nthree\n");
  EXPECT_FALSE(follower->is_ended);
  Pass(std::chrono::minutes(2));
  EXPECT_TRUE(follower->is_ended);
  EXPECT_EQ(Request("/api/v1/namespaces/default/pods/none/log")->code, 404);
}

TEST_F(WholeClusterTest, ServiceGetsAnAddressAndPorts) {
  constexpr const char* kServices = "/api/v1/namespaces/default/services";
  Create(kServices, R"({"metadata":{"name":"a"},"spec":{"type":"NodePort","ports":[
      {"port":80,"nodePort":30061}]}})");
  const auto refused = api_.Do(
      "POST", kServices,
      boost::json::parse(
          R"({"metadata":{"name":"b"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":30061}]}})"));
  EXPECT_THAT(Message(refused.status()), ::testing::HasSubstr("already allocated"));
  Create(kServices,
         R"({"metadata":{"name":"c"},"spec":{"type":"NodePort","ports":[{"port":80}]}})");
  const auto service = Get("/api/v1/namespaces/default/services/c");
  EXPECT_NE(TextAt(service, {"spec", "clusterIP"}), "");
  EXPECT_EQ(apiserver::NumberAt(apiserver::ItemsAt(service, {"spec", "ports"})[0].as_object(),
                                {"nodePort"}, 0),
            30000);
}

TEST(ClusterDeterminismTest, EqualChangesGiveEqualClusters) {
  const auto run = [] {
    FakeLoop loop;
    apiserver::Api api(loop);
    Cluster cluster(loop, api);
    for (int i = 0; i < 5; ++i) {
      EXPECT_OK(cluster.AddNode({.name = fmt::format("n{}", i)}));
    }
    EXPECT_OK(api.Do("POST", "/apis/batch/v1/namespaces/default/jobs", boost::json::parse(R"({
        "metadata":{"name":"j"},"spec":{"completions":7,"parallelism":3,"template":{"spec":{
        "restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})")));
    loop.Advance(std::chrono::minutes(2));
    std::string all;
    for (const auto& [key, pod] : api.store().All("pods")) {
      all += pod->Text();
    }
    return all;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace kgpu::simcluster
