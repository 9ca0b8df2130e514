#include "src/diagnose/collect/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <set>
#include <vector>

#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::collect {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class CollectClusterTest : public ::testing::Test {
 protected:
  void Create(const std::string& path, const std::string& object) {
    EXPECT_OK(cluster_.client.Send(
        {.method = "POST", .path = path, .content_type = "application/json", .body = object}));
  }
  void CreatePod(const std::string& name, const std::string& ports) {
    Create("/api/v1/namespaces/kgpu/pods", R"({"metadata":{"name":")" + name +
                                               R"("},"spec":{"nodeName":"n1","containers":[{
             "name":"main","image":"i","ports":[)" +
                                               ports + R"(],
             "env":[{"name":"HF_TOKEN","value":"s3cr3t"}]}]}})");
  }
  Bundle Run() {
    return CollectCluster(
        {.ask =
             [this](kube::ApiRequest request) { return cluster_.client.Send(std::move(request)); },
         .read_text = [this](const kube::ApiRequest& request, size_t) -> StatusOr<std::string> {
           asked_.insert(request.path);
           return text_;
         }});
  }
  static std::string TextOf(const Bundle& bundle, const std::string& path) {
    for (const compress::TarFile& file : bundle.files) {
      if (file.path == path) {
        return file.text;
      }
    }
    return "none";
  }

  kube::TestCluster cluster_;
  std::set<std::string> asked_;
  StatusOr<std::string> text_ = std::string("token: s3cr3t\nstarted\n");
};

TEST_F(CollectClusterTest, ObjectsLogsAndDocumentsAreThere) {
  Create("/api/v1/namespaces", R"({"metadata":{"name":"kgpu"}})");
  Create("/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
  CreatePod("agent-x", R"({"name":"metrics","containerPort":9401})");
  CreatePod("other", "");
  const Bundle bundle = Run();
  EXPECT_EQ(boost::json::parse(TextOf(bundle, "nodes.json")).at(0).at("metadata").at("name"), "n1");
  EXPECT_THAT(TextOf(bundle, "nodes.json"), Not(HasSubstr("managedFields")));
  EXPECT_THAT(TextOf(bundle, "pods.json"), AllOf(HasSubstr("HF_TOKEN"), Not(HasSubstr("s3cr3t"))));
  EXPECT_THAT(TextOf(bundle, "logs/other.log"),
              AllOf(HasSubstr("started"), Not(HasSubstr("s3cr3t"))));
  EXPECT_THAT(TextOf(bundle, "live/agent-x.json"), HasSubstr("started"));
  const std::string pods = "/api/v1/namespaces/kgpu/pods/";
  EXPECT_THAT(asked_, UnorderedElementsAre(pods + "agent-x/log", pods + "other/log",
                                           pods + "agent-x:9401/proxy/live",
                                           pods + "agent-x:9401/proxy/metrics"));
}

TEST_F(CollectClusterTest, ANodeThatCannotBeReachedIsAProblem) {
  Create("/api/v1/namespaces", R"({"metadata":{"name":"kgpu"}})");
  CreatePod("agent-x", R"({"name":"metrics","containerPort":9401})");
  text_ = Unavailable("no route to the node");
  const Bundle bundle = Run();
  EXPECT_THAT(bundle.problems, Contains("live/agent-x.json: no route to the node"));
  EXPECT_NE(TextOf(bundle, "pods.json"), "none");
}

TEST_F(CollectClusterTest, AServerThatIsAwayGivesNothing) {
  cluster_.client.BeforeSend([](const auto&) { return Unavailable("no answer"); });
  const Bundle bundle = Run();
  EXPECT_THAT(bundle.files, IsEmpty());
  EXPECT_THAT(bundle.problems, Contains("nodes.json: no answer"));
}

}  // namespace
}  // namespace kgpu::collect
