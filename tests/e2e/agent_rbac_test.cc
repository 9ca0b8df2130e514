// The rights that the chart gives to the agent: what it asks for is allowed (ClusterFixture checks
// that after every test), and nothing else is.
#include <dra_v1.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/unix_socket.h"
#include "tests/e2e/cluster_fixture.h"

namespace kgpu::e2e {
namespace {

using ::testing::IsEmpty;

class AgentRbacTest : public ClusterFixture {
 protected:
  std::vector<std::string> Unused() const { return UnusedOf("kgpu-agent"); }
  void UseConfig(const std::string& text) const {
    host_->dir().WriteFile("config.yaml", "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n" + text);
  }
  // As the scheduler and the kubelet do.
  void PrepareAClaim() const {
    constexpr const char* kPath = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    auto made = doc::Parse(
        Ask("POST", kPath,
            R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c",
                "namespace":"default"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":
                {"deviceClassName":"gpu.nvidia.com"}}]}}})"),
        doc::Format::kJson, "claim");
    ASSERT_OK(made);
    made->as_object()["status"] = boost::json::parse(
        R"({"allocation":{"devices":{"results":[{"request":"gpu","driver":"gpu.nvidia.com",
            "pool":"n1","device":"gpu-0"}]}}})");
    Ask("PUT", fmt::format("{}/c/status", kPath), boost::json::serialize(*made));
    const std::string uid = TextAt(*made, {"metadata", "uid"});
    namespace v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
    StatusOr<UniqueFd> fd =
        sys::ConnectUnix(At("kubelet/plugins_registry/kgpu-gpu.nvidia.com.sock"));
    ASSERT_OK(fd);
    const auto stub = v1::DRAPlugin::NewStub(rpc::ChannelOver(*std::move(fd)));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::NodePrepareResourcesRequest request;
    auto* claim = request.add_claims();
    claim->set_namespace_("default");
    claim->set_name("c");
    claim->set_uid(uid);
    v1::NodePrepareResourcesResponse response;
    EXPECT_TRUE(stub->NodePrepareResources(&context, request, &response).ok());
    EXPECT_EQ(response.claims().at(uid).error(), "");
  }
  bool WaitUntilUsed(const std::string& what) const {
    return WaitForNode([&] {
      for (const std::string& line : Unused()) {
        if (line.ends_with(" " + what)) {
          return false;
        }
      }
      return true;
    });
  }
};

TEST_F(AgentRbacTest, EveryRuleIsNeeded) {
  DefineNfd("nodefeatures", "NodeFeature", "Namespaced");
  DefineNfd("nodefeaturerules", "NodeFeatureRule", "Cluster");
  // A sign of another owner: the agent looks for its pod.
  Merge("/api/v1/nodes/n1", R"({"metadata":{"labels":{"nvidia.com/gfd.timestamp":"1"}}})");
  StartKubelet();
  StartAgent("labels: {to: nodeFeature}\nhealth: {holdDown: 1s}\nmetrics: {every: 1s}\n");
  EXPECT_TRUE(WaitUntilUsed("list pods"));
  EXPECT_TRUE(WaitUntilUsed("create nodefeatures.nfd.k8s-sigs.io"));

  // A pod uses the GPUs, of which one fails, twice.
  Ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ml"}})");
  Ask("POST", "/api/v1/namespaces/ml/pods",
      R"({"metadata":{"name":"train"},"spec":{"nodeName":"n1","containers":[{"name":"main","image":"i"}]}})");
  ASSERT_EQ(RunProgram({"kgpu-sim", "kubelet", "wait", At("kubelet"), "--resource",
                        "nvidia.com/gpu", "--allocatable", "4"})
                .code,
            0);
  ASSERT_EQ(RunProgram({"kgpu-sim", "kubelet", "pod", At("kubelet"), "ml/train", "--resource",
                        "nvidia.com/gpu=4"})
                .code,
            0);
  ASSERT_TRUE(WaitForNode([&] {
    return http::Fetch(At("run/agent.sock"), {.target = "/metrics"})->body.find("pod=\"train\"") !=
           std::string::npos;
  }));
  ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "True AllHealthy"; }));
  for (int i = 0; i < 2; ++i) {
    host_->Inject("xid", {"1", "79"});
    ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "False Xid79"; }));
    ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "True AllHealthy"; }));
  }
  EXPECT_TRUE(WaitUntilUsed("get pods"));
  EXPECT_TRUE(WaitUntilUsed("create events.events.k8s.io"));
  EXPECT_TRUE(WaitUntilUsed("patch events.events.k8s.io"));

  // Labels of the node instead of the object; somebody else changes the node meanwhile.
  Ask("POST", "/stub/faults",
      R"({"kind":"answer","verb":"apply","resource":"nodes","code":409,"count":1})");
  host_->dir().WriteFile("config.yaml",
                         "apiVersion: kgpu.dev/v1\nkind: NodeConfig\nlabels: {to: node}\n");
  EXPECT_TRUE(WaitUntilUsed("delete nodefeatures.nfd.k8s-sigs.io"));
  EXPECT_TRUE(WaitForNode([&] {
    return Ask("GET", "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/kgpu/nodefeatures", "")
               .find("kgpu-n1") == std::string::npos;
  })) << "an object that is no longer wanted stays away";
  EXPECT_TRUE(WaitUntilUsed("get nodes"));
  EXPECT_TRUE(WaitUntilUsed("patch nodes"));

  // Claims, and back: the GPUs change their way once no pod has them.
  ASSERT_EQ(RunProgram({"kgpu-sim", "kubelet", "delete", At("kubelet"), "ml/train"}).code, 0);
  UseConfig("serve: {by: dra}\n");
  EXPECT_TRUE(WaitUntilUsed("patch resourceslices.resource.k8s.io"));
  ASSERT_TRUE(WaitForNode([&] {
    return Ask("GET", "/apis/resource.k8s.io/v1/resourceslices", "").find("\"gpu-0\"") !=
           std::string::npos;
  }));
  PrepareAClaim();
  EXPECT_TRUE(WaitUntilUsed("associated-node:patch resourceclaims/driver.resource.k8s.io"));
  UseConfig("");
  EXPECT_TRUE(WaitUntilUsed("delete resourceslices.resource.k8s.io"));
  EXPECT_THAT(Unused(), IsEmpty());
}

TEST_F(AgentRbacTest, ARightThatIsMissingIsNamed) {
  Ask("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kgpu-agent", "");
  StartAgent();
  ASSERT_TRUE(WaitForNode([&] {
    return NodeStatus().out.find("cannot list resource \"nodes\"") != std::string::npos;
  })) << NodeStatus().out;
  EXPECT_FALSE(Access("denied").empty());
  Ask("POST", "/stub/rbac/reset", "");
}

}  // namespace
}  // namespace kgpu::e2e
