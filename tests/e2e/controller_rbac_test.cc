// The built controller with the rights that the chart gives it, and nothing else, against the stub
// API server: everything that it asks for is allowed (ClusterFixture checks that after every test),
// and all that it may it needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/cluster_fixture.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPolicies = "/apis/kgpu.dev/v1alpha1/gpupolicies";
constexpr const char* kMaps = "/api/v1/namespaces/kgpu/configmaps";
constexpr const char* kFeatures = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/kgpu/nodefeatures";

class ControllerRbacTest : public ClusterFixture {
 protected:
  void GiveRights() override {
    ApplyChart({});
    WriteKubeconfig("kgpu-controller", "controller-kubeconfig");
  }
  void TearDown() override {
    controller_.reset();
    ClusterFixture::TearDown();
  }

  std::vector<std::string> Command() const {
    return {"kgpu", "cluster", "controller", "--kubeconfig", At("controller-kubeconfig")};
  }
  void StartController() {
    std::vector<std::string> argv = Command();
    argv.front() = ProgramPath("kgpu");
    argv.emplace_back("--http-address=127.0.0.1:0");
    const std::vector<std::string> to_file = {"/bin/sh", "-c", R"(exec "$@" 2>>"$0")",
                                              At("controller-log")};
    argv.insert(argv.begin(), to_file.begin(), to_file.end());
    controller_ = std::make_unique<Background>(argv);
  }

  // As a browser asks for the page of the cluster.
  std::string Live() const {
    constexpr std::string_view kFront = "event=serving address=";
    std::string log;
    if (!WaitForNode([&] {
          log = host_->dir().ReadFile("controller-log");
          return log.find(kFront) != std::string::npos;
        })) {
      return "";
    }
    const size_t at = log.find(kFront) + kFront.size();
    const auto answer =
        http::Fetch(log.substr(at, log.find_first_of(" \n", at) - at), {.target = "/live"});
    return answer.ok() ? answer->body : "";
  }

  // What the agent and the kubelet of the node write.
  void Report(const std::string& driver, bool is_healthy) const {
    Merge("/api/v1/nodes/n1",
          fmt::format(R"({{"metadata":{{"labels":{{"nvidia.com/gpu.present":"true",)"
                      R"("nvidia.com/cuda.driver-version.full":"{}"}}}}}})",
                      driver));
    Merge("/api/v1/nodes/n1/status",
          fmt::format(R"({{"status":{{"allocatable":{{"nvidia.com/gpu":"4"}},"conditions":[
              {{"type":"Ready","status":"True"}},
              {{"type":"GPUReady","status":"True","reason":"AllVerified"}},
              {{"type":"GPUHealthy","status":"{}","reason":"{}"}}]}}}})",
                      is_healthy ? "True" : "False", is_healthy ? "AllHealthy" : "GpuLost"));
  }
  void AddUser() const {
    Ask("POST", "/api/v1/namespaces/default/pods",
        R"({"metadata":{"name":"train","ownerReferences":[
        {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"train","uid":"u"}]},
        "spec":{"nodeName":"n1","containers":[{"name":"main","image":"i",
        "resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})");
    Merge("/api/v1/namespaces/default/pods/train/status", R"({"status":{"phase":"Running"}})");
  }
  // As the agent of a node that is gone had written it.
  void AddFeatureOfAGoneNode() const {
    DefineNfd("nodefeatures", "NodeFeature", "Namespaced");
    Ask("PATCH", fmt::format("{}/kgpu-gone?fieldManager=kgpu", kFeatures),
        R"({"apiVersion":"nfd.k8s-sigs.io/v1alpha1","kind":"NodeFeature","metadata":{
        "name":"kgpu-gone","labels":{"nfd.node.kubernetes.io/node-name":"gone"}}})",
        "application/apply-patch+yaml");
  }
  void PutPolicy(const std::string& taint, bool is_paused, bool quarantines) const {
    const std::string spec = fmt::format(
        R"({{"groups":[{{"name":"g","nodeSelector":{{}},"labels":{{"team":"ml"}},
        "gate":{{"taint":{}}},"driver":{{"from":"package","branch":"550"}}}}],
        "upgrade":{{"paused":{},"waitForJobsSeconds":0}},"quarantine":{{"enabled":{}}}}})",
        taint, is_paused, quarantines);
    if (Has(kPolicies, "\"p\"")) {
      Merge(fmt::format("{}/p", kPolicies), fmt::format(R"({{"spec":{}}})", spec));
    } else {
      Ask("POST", kPolicies,
          fmt::format(R"({{"apiVersion":"kgpu.dev/v1alpha1","kind":"GpuPolicy",)"
                      R"("metadata":{{"name":"p"}},"spec":{}}})",
                      spec));
    }
  }
  bool Has(const std::string& path, const std::string& text) const {
    return Ask("GET", path, "").find(text) != std::string::npos;
  }
  bool IsFenced() const {
    return json::serialize(Node()).find("kgpu.dev/quarantined") != std::string::npos;
  }
  // Once the controller has created its pod of this role, the kubelet reports that it has ended.
  void EndPodOf(const std::string& role) const {
    const std::string list =
        fmt::format("/api/v1/namespaces/kgpu/pods?labelSelector=kgpu.dev/role%3D{}", role);
    std::string name;
    ASSERT_TRUE(WaitForNode([&] {
      const auto pods = doc::Parse(Ask("GET", list, ""), doc::Format::kJson, "pods");
      for (const json::value& pod : pods->at("items").as_array()) {
        name = TextAt(pod, {"metadata", "name"});
      }
      return !name.empty();
    })) << role;
    Merge(fmt::format("/api/v1/namespaces/kgpu/pods/{}/status", name),
          R"({"status":{"phase":"Succeeded"}})");
  }

  std::unique_ptr<Background> controller_;
};

TEST_F(ControllerRbacTest, EveryRuleIsNeeded) {
  AddFeatureOfAGoneNode();
  Ask("POST", "/apis/resource.k8s.io/v1/resourceslices",
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{
          "driver":"gpu.nvidia.com","nodeName":"n1","pool":{"name":"n1","generation":1,
          "resourceSliceCount":1},"devices":[{"name":"gpu-0","attributes":{
          "type":{"string":"gpu"},"kgpu.dev/pool":{"string":"nvidia.com/gpu"}}}]}})");
  Report("535.104.05", true);
  AddUser();
  PutPolicy("true", true, true);
  StartController();
  ASSERT_TRUE(WaitForNode([&] { return Label("team") == "ml"; }));
  EXPECT_TRUE(WaitForNode([&] { return Has(kMaps, "taint: true"); }));
  EXPECT_TRUE(WaitForNode([&] {
    return Live().find(R"("name":"n1","total":)") != std::string::npos;
  })) << Live();
  EXPECT_THAT(Live(), HasSubstr(R"("notRead":[])"));
  EXPECT_TRUE(WaitForNode([&] { return Has(kPolicies, "UpgradePaused"); }));

  // Fenced twice, so that its events become series.
  for (int i = 0; i < 2; ++i) {
    PutPolicy("true", true, true);
    Report("535.104.05", false);
    ASSERT_TRUE(WaitForNode([&] { return IsFenced(); }));
    Report("535.104.05", true);
    PutPolicy("false", true, false);
    ASSERT_TRUE(WaitForNode([&] { return !IsFenced(); }));
  }
  EXPECT_TRUE(WaitForNode([&] { return Has(kMaps, "taint: false"); }));
  EXPECT_TRUE(
      WaitForNode([&] { return Has("/api/v1/namespaces/default/events", "NodeQuarantined"); }));

  PutPolicy("false", false, false);
  EndPodOf("install");
  EXPECT_FALSE(Has("/api/v1/namespaces/default/pods", "\"train\"")) << "evicted before that";
  Report("550.54.15", true);
  EndPodOf("validate");
  EXPECT_TRUE(WaitForNode([&] {
    return TextAt(Node(), {"spec", "unschedulable"}) != "true" &&
           TextAt(Node(), {"metadata", "annotations", "kgpu.dev/upgrade"}).empty();
  }));
  EXPECT_TRUE(WaitForNode([&] { return !Has("/api/v1/namespaces/kgpu/pods", "kgpu-validate-"); }));

  Ask("DELETE", fmt::format("{}/p", kPolicies), "");
  EXPECT_TRUE(WaitForNode([&] { return Label("team").empty(); }));
  EXPECT_TRUE(WaitForNode([&] { return !Has(kMaps, "kgpu-policy"); }));
  EXPECT_TRUE(WaitForNode([&] { return !Has(kFeatures, "kgpu-gone"); }))
      << "half a minute after its start";
  EXPECT_EQ(controller_->Stop().code, 0);
  EXPECT_THAT(UnusedOf("kgpu-controller"), IsEmpty());
}

TEST_F(ControllerRbacTest, APreviewNamesThePodsThatWouldBeEvicted) {
  Report("535.104.05", true);
  AddUser();
  PutPolicy("true", false, true);
  std::vector<std::string> argv = Command();
  argv.emplace_back("--dry-run");
  const Result text = RunProgram(argv);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("default/train"));
  argv.insert(argv.end(), {"--output", "json"});
  const Result result = RunProgram(argv);
  const auto nodes = doc::Parse(result.out, doc::Format::kJson, "preview");
  ASSERT_OK(nodes);
  const json::value& node = nodes->at("nodes").at(0);
  EXPECT_EQ(TextAt(node, {"node"}), "n1");
  EXPECT_EQ(TextAt(node, {"state"}), "outdated");
  EXPECT_EQ(TextAt(node, {"next"}), "starts");
  EXPECT_EQ(TextAt(node, {"evicts"}), R"(["default/train"])");
  EXPECT_NE(TextAt(Node(), {"spec", "unschedulable"}), "true") << "nothing is changed";
  EXPECT_THAT(UnusedOf("kgpu-controller"), Contains(HasSubstr("create pods/eviction")));
}

}  // namespace
}  // namespace kgpu::e2e
