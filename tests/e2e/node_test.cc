// `kgpu node …` against `kgpu-sim apiserver`, both as built.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/kube/api/cluster.h"
#include "src/kube/api/run_until_done.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/tcp_socket.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/terminal.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kNodeObject[] = R"({
  "apiVersion": "v1", "kind": "Node",
  "metadata": {"name": "gpu-1", "labels": {"zone": "a"}},
  "spec": {"taints": [
    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
    {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}]}})";

class NodeTest : public ::testing::Test {
 protected:
  NodeTest() : server_({ProgramPath("kgpu-sim"), "apiserver", "--kubeconfig-out", Kubeconfig()}) {}

  void SetUp() override {
    ASSERT_TRUE(server_.WaitFor("serving on"));
    auto loop = EpollLoop::Create();
    ASSERT_OK(loop);
    loop_ = *std::move(loop);
    auto root = sys::Root::Open("/");
    ASSERT_OK(root);
    root_ = std::make_unique<sys::Root>(*std::move(root));
    auto cluster =
        kube::Cluster::Open(*loop_, random_, *root_, {.sources = {.kubeconfig = Kubeconfig()}});
    ASSERT_OK(cluster);
    cluster_ = *std::move(cluster);
    Ask("POST", "/api/v1/nodes", kNodeObject, "application/json");
  }

  std::string Kubeconfig() const { return dir_.At("kubeconfig"); }
  json::value Ask(const std::string& method, const std::string& path, const std::string& body = "",
                  const std::string& type = "", const std::string& manager = "") {
    kube::ApiRequest request{.method = method, .path = path, .content_type = type, .body = body};
    if (!manager.empty()) {
      request.query = {{"fieldManager", manager}, {"force", "true"}};
    }
    auto answer = kube::Fetch(*loop_, cluster_->client(), std::move(request));
    EXPECT_OK(answer);
    return answer.ok() ? *answer : json::value();
  }
  json::value Node() { return Ask("GET", "/api/v1/nodes/gpu-1"); }
  std::string Label(std::string_view key) {
    const json::value node = Node();
    const json::object& labels = node.at("metadata").at("labels").as_object();
    return labels.contains(key) ? labels.at(key).as_string().c_str() : "(none)";
  }
  Result Run(std::vector<std::string> words) {
    std::vector<std::string> argv = {"kgpu", "node"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--node", "gpu-1", "--kubeconfig", Kubeconfig()});
    return RunProgram(std::move(argv));
  }

  TempDir dir_;
  Background server_;
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<sys::Root> root_;
  Random random_{1};
  std::unique_ptr<kube::Cluster> cluster_;
};

TEST_F(NodeTest, LabelSetsAndRemoves) {
  const Result result = Run({"label", "gpu=true", "zone-"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "gpu-1: label + gpu=true\ngpu-1: label - zone\n");
  EXPECT_EQ(Label("gpu"), "true");
  EXPECT_EQ(Label("zone"), "(none)");
  EXPECT_EQ(Run({"label", "gpu=true"}).out, "gpu-1: no changes\n");
}

TEST_F(NodeTest, LabelOverwritesOnlyWhenAsked) {
  const Result refused = Run({"label", "zone=b"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("zone=a: replace it with --overwrite"));
  EXPECT_EQ(Run({"label", "zone=b", "--overwrite"}).code, 0);
  EXPECT_EQ(Label("zone"), "b");
}

TEST_F(NodeTest, ADryRunWritesNothing) {
  const Result result = Run({"label", "gpu=true", "--dry-run"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("label + gpu=true (dry run)"));
  EXPECT_EQ(Label("gpu"), "(none)");
}

TEST_F(NodeTest, AWrongWordIsAUsageErrorBeforeTheServerIsAsked) {
  const Result result = RunProgram({"kgpu", "node", "label", "gpu", "--kubeconfig", "/none"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("KEY=VALUE"));
}

TEST_F(NodeTest, AKubeconfigThatDoesNotExistIsAWrongFlag) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"node", "label", "gpu=true"},
        {"cluster", "status"},
        {"run", "list"},
        {"cluster", "controller"}}) {
    std::vector<std::string> line = words;
    line.insert(line.begin(), "kgpu");
    line.insert(line.end(), {"--kubeconfig", "/none"});
    const Result result = RunProgram(line);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr("--kubeconfig: /none: no such file"));
  }
}

TEST_F(NodeTest, UntaintKeepsTheOtherTaints) {
  const Result result = Run({"untaint", "node-role.kubernetes.io/control-plane"});
  EXPECT_EQ(result.code, 0) << result.err;
  const json::value node = Node();
  ASSERT_EQ(node.at("spec").at("taints").as_array().size(), 1U);
  EXPECT_EQ(node.at("spec").at("taints").at(0).at("key").as_string(), "maintenance");
  EXPECT_EQ(Run({"untaint", "node-role.kubernetes.io/control-plane"}).code, 3);
}

TEST_F(NodeTest, TaintSetsAndPrintsJson) {
  const Result result = Run({"taint", "gpu=yes:NoExecute", "--output", "json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out).at("changes").at(0).as_string(), "taint + gpu=yes:NoExecute");
  EXPECT_EQ(Node().at("spec").at("taints").as_array().size(), 3U);
  EXPECT_EQ(Run({"taint", "gpu-"}).code, 0);
  EXPECT_EQ(Node().at("spec").at("taints").as_array().size(), 2U);
}

TEST_F(NodeTest, StatusOfANodeWithoutAnAgentIsWhatItsConditionSays) {
  Result result = Run({"status"});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out, AllOf(StartsWith("node gpu-1: not ready: "),
                                HasSubstr("check that an agent runs on it")));
  Ask("PATCH", "/api/v1/nodes/gpu-1/status",
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-1"},"status":{"conditions":[
          {"type":"GPUReady","status":"True","reason":"AllVerified","message":"",
           "lastTransitionTime":"2026-01-02T03:04:05Z"}]}})",
      "application/apply-patch+yaml", "kgpu-gate");
  result = Run({"status", "--output", "json"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_TRUE(json::parse(result.out).at("ready").as_bool());
}

TEST_F(NodeTest, StatusSaysWhyTheAgentIsNotAsked) {
  const Result other = Run({"status"});
  EXPECT_THAT(other.out, HasSubstr("run kgpu node status on gpu-1"));
  const Result own = RunProgram({"kgpu", "node", "status", "--kubeconfig", Kubeconfig()});
  EXPECT_THAT(own.out, AllOf(HasSubstr("not asked: --kubeconfig asks the API server"),
                             Not(HasSubstr("another"))));
}

TEST_F(NodeTest, ANodeThatIsNotThereIsNamed) {
  const Result result =
      RunProgram({"kgpu", "node", "label", "a=b", "--node", "gpu-9", "--kubeconfig", Kubeconfig()});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("node gpu-9: not found"));
}

TEST_F(NodeTest, AdoptRecordsTheDecisionAndNamesTheOthersRemoval) {
  Ask("POST", "/api/v1/namespaces/default/pods",
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"w","namespace":"default","labels":
          {"app.kubernetes.io/name":"node-feature-discovery","role":"worker",
           "app.kubernetes.io/instance":"nfd"}},
          "spec":{"nodeName":"gpu-1","containers":[{"name":"worker","image":"nfd:1"}]}})",
      "application/json");
  const Result result = Run({"adopt"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("annotation + kgpu.dev/adopted=nfd"));
  EXPECT_THAT(result.err, HasSubstr("helm -n default uninstall nfd"));
  EXPECT_THAT(Run({"release", "--from", "nfd"}).out,
              AllOf(HasSubstr("annotation - kgpu.dev/adopted"),
                    HasSubstr("annotation + kgpu.dev/released=nfd")));
  EXPECT_THAT(Run({"release", "--forget"}).out, HasSubstr("annotation - kgpu.dev/released"));
  EXPECT_EQ(Run({"adopt", "--from", "operator"}).code, 2);
}

TEST_F(NodeTest, ClearTakesWhatIsOursAndLeavesTheRest) {
  Ask("PATCH", "/api/v1/nodes/gpu-1",
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-1",
          "labels":{"nvidia.com/gpu.count":"8"},
          "annotations":{"kgpu.dev/taints":"maintenance:NoSchedule"}}})",
      "application/apply-patch+yaml", "kgpu");
  Ask("PATCH", "/api/v1/nodes/gpu-1/status",
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-1"},"status":{"conditions":[
          {"type":"GPUReady","status":"False","reason":"DriverMissing","message":""}]}})",
      "application/apply-patch+yaml", "kgpu-gate");
  const Result plan = Run({"clear", "--dry-run"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
  const Result result = Run({"clear"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("label - nvidia.com/gpu.count"),
                                HasSubstr("taint - maintenance=yes:NoSchedule"),
                                HasSubstr("condition - GPUReady")));
  EXPECT_EQ(Label("zone"), "a");
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "(none)");
  const std::string node = json::serialize(Node());
  EXPECT_THAT(node, AllOf(Not(HasSubstr("GPUReady")), Not(HasSubstr("kgpu.dev/taints")),
                          HasSubstr("control-plane")));
  EXPECT_EQ(Run({"clear"}).out, "gpu-1: no changes\n");
}

TEST_F(NodeTest, ClearOfThisNodeTakesItsNodeFeatureAndFileToo) {
  Ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
          "metadata":{"name":"nodefeatures.nfd.k8s-sigs.io"},
          "spec":{"group":"nfd.k8s-sigs.io","scope":"Namespaced",
            "names":{"plural":"nodefeatures","singular":"nodefeature","kind":"NodeFeature",
                     "listKind":"NodeFeatureList"},
            "versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{
              "openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})",
      "application/json");
  const std::string objects = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/default/nodefeatures";
  for (const auto& [name, annotations] :
       {std::pair("kgpu-gpu-1", R"({"kgpu.dev/digest":"1"})"), std::pair("gpu-1", "{}")}) {
    Ask("POST", objects,
        fmt::format(R"({{"apiVersion":"nfd.k8s-sigs.io/v1alpha1","kind":"NodeFeature","metadata":
                    {{"name":"{}","namespace":"default","annotations":{},
                      "labels":{{"nfd.node.kubernetes.io/node-name":"gpu-1"}}}}}})",
                    name, annotations),
        "application/json");
  }
  const std::string file = "host/etc/kubernetes/node-feature-discovery/features.d/kgpu";
  dir_.WriteFile(file,
                 "# Written by kgpu, which overwrites this file.\n"
                 "a=b\n");
  const Result result = RunProgram({"/usr/bin/env", "NODE_NAME=gpu-1", ProgramPath("kgpu"), "node",
                                    "clear", "--kubeconfig", Kubeconfig(), "--host-root",
                                    dir_.At("host"), "--run-dir", dir_.At("run")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("NodeFeature - default/kgpu-gpu-1\n"),
                    HasSubstr("file - /etc/kubernetes/node-feature-discovery/features.d/kgpu\n"),
                    Not(HasSubstr("default/gpu-1\n"))));
  EXPECT_EQ(Ask("GET", objects).at("items").as_array().size(), 1U);
  EXPECT_EQ(dir_.ReadFile(file), "");
}

// A server that takes connections and never answers.
TEST(NodeProgressTest, AtATerminalASlowServerIsNamedAfterASecond) {
  const auto silent = sys::TcpListener::Listen(sys::TcpAddress::Parse("127.0.0.1:0").value());
  ASSERT_OK(silent);
  const TempDir dir;
  dir.WriteFile("kubeconfig",
                fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                            "clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n"
                            "users: [{{name: u, user: {{}}}}]\n"
                            "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n",
                            silent->address()));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"label", "a=b"}, {"adopt"}, {"status"}}) {
    std::vector<std::string> argv = {"/usr/bin/env", "TERM=xterm", ProgramPath("kgpu"), "node"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--node", "n", "--kubeconfig", dir.At("kubeconfig")});
    AtTerminal person(argv);
    if (!person.has_terminal()) {
      GTEST_SKIP() << "no terminals here";
    }
    EXPECT_TRUE(person.WaitFor("asking the API server … ")) << words.front() << person.shown();
  }
}

}  // namespace
}  // namespace kgpu::e2e
