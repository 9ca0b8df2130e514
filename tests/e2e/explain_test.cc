// `kgpu explain` against `kgpu-sim apiserver`, and from files, both as built.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/kube/api/cluster.h"
#include "src/kube/api/run_until_done.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"
#include "testing/kubelet/sample_plugin.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest()
      : server_({ProgramPath("kgpu-sim"), "apiserver", "--kubeconfig-out", Kubeconfig()}) {}

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
    Make("namespaces", R"({"metadata": {"name": "team-a"}})");
    Make("nodes", R"({"metadata": {"name": "node-a"},
      "status": {"allocatable": {"nvidia.com/gpu": "8"}, "capacity": {"nvidia.com/gpu": "8"}}})");
    MakePod("serve", R"("nodeName": "node-a",)", 7);
    MakePod("train", "", 2);
  }

  void Make(const std::string& collection, const std::string& body) {
    MakeAt(fmt::format("/api/v1/{}", collection), body);
  }
  void MakeAt(const std::string& path, const std::string& body) {
    kube::ApiRequest request{
        .method = "POST", .path = path, .content_type = "application/json", .body = body};
    EXPECT_OK(kube::Fetch(*loop_, cluster_->client(), std::move(request)));
  }
  void MakePod(const std::string& name, const std::string& more, int gpus) {
    Make("namespaces/team-a/pods",
         fmt::format(R"({{"metadata": {{"name": "{}"}}, "spec": {{{} "containers": [{{"name":
           "main", "image": "i", "command": ["hidden"], "env": [{{"name": "K", "value": "hidden"}}],
           "resources": {{"limits": {{"nvidia.com/gpu": "{}"}}}}}}]}}}})",
                     name, more, gpus));
  }

  std::string Kubeconfig() const { return dir_.At("kubeconfig"); }
  Result Run(std::vector<std::string> words) {
    std::vector<std::string> argv = {"kgpu", "explain"};
    argv.insert(argv.end(), words.begin(), words.end());
    return RunProgram(std::move(argv));
  }
  Result RunLive(std::vector<std::string> words) {
    words.insert(words.end(), {"--kubeconfig", Kubeconfig()});
    return Run(std::move(words));
  }

  TempDir dir_;
  Background server_;
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<sys::Root> root_;
  Random random_{1};
  std::unique_ptr<kube::Cluster> cluster_;
};

TEST_F(ExplainTest, TellsWhoHasTheGpus) {
  const Result result = RunLive({"pod", "team-a/train"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(StartsWith("team-a/train: pending: waits for a node with 2 free nvidia.com/gpu; node-a "
                       "has 1 free of 8 (gpu-in-use)\n"),
            HasSubstr("team-a/serve (7")));
}

TEST_F(ExplainTest, ASavedClusterIsJudgedAsTheLiveOne) {
  const Result live =
      RunLive({"pod", "train", "-n", "team-a", "--save", dir_.At("d.yaml"), "-o", "json"});
  ASSERT_EQ(live.code, 7) << live.err;
  const Result saved = Run({"pod", "--from", dir_.At("d.yaml"), "-o", "json"});
  EXPECT_EQ(saved.code, 7) << saved.err;
  EXPECT_EQ(saved.out, live.out);
}

TEST_F(ExplainTest, ADumpHoldsNoSecrets) {
  const Result dump = RunLive({"dump", "team-a/train"});
  ASSERT_EQ(dump.code, 0) << dump.err;
  EXPECT_THAT(dump.out, AllOf(HasSubstr("ExplainDump"), Not(HasSubstr("hidden"))));
  dir_.WriteFile("d.json", dump.out);
  EXPECT_THAT(Run({"pod", "--from", dir_.At("d.json")}).out, HasSubstr("gpu-in-use"));
}

// The kubelet of this host tells which devices a pod has that runs here.
TEST_F(ExplainTest, APodOnThisNodeIsReportedWithItsDevices) {
  const std::string kubelet = dir_.At("h/var/lib/kubelet");
  dir_.MakeDir("h/var/lib");
  ASSERT_EQ(RunProgram({"kgpu-sim", "kubelet", "start", kubelet}).code, 0);
  kubelet::SamplePlugin plugin(
      {.socket_path = kubelet + "/device-plugins/gpu.sock",
       .resource = "nvidia.com/gpu",
       .devices = {{.id = "GPU-7", .health = kubelet::kHealthy, .numa_nodes = {0}}}},
      kubelet::SamplePlugin::Behaviour{});
  ASSERT_OK(plugin.Register(kubelet + "/device-plugins/kubelet.sock"));
  RunProgram({"kgpu-sim", "kubelet", "wait", kubelet, "--resource", "nvidia.com/gpu",
              "--allocatable", "1"});
  RunProgram({"kgpu-sim", "kubelet", "pod", kubelet, "here", "--resource", "nvidia.com/gpu=1"});
  ASSERT_EQ(
      RunProgram({"kgpu-sim", "kubelet", "wait", kubelet, "--pod", "here", "--phase", "Running"})
          .code,
      0);
  std::string host(256, '\0');
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  // A server takes no status from who creates a pod, so that it is not called running.
  Make("namespaces/default/pods", fmt::format(R"({{"metadata": {{"name": "here"}}, "spec":
    {{"nodeName": "{}", "containers": [{{"name": "main", "image": "i", "resources": {{"limits":
    {{"nvidia.com/gpu": "1"}}}}}}]}}}})",
                                              ToLower(host.c_str())));
  const Result named = RunLive({"pod", "default/here", "--kubelet-dir", kubelet});
  const Result found = RunLive({"pod", "default/here", "--host-root", dir_.At("h")});
  RunProgram({"kgpu-sim", "kubelet", "stop", kubelet, "--pods"});
  for (const Result& result : {named, found}) {
    EXPECT_EQ(result.code, 7) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("\nhas: nvidia.com/gpu GPU-7, container main\n"));
  }
}

TEST_F(ExplainTest, AClaimIsExplainedFromItsDevices) {
  const std::string api = "/apis/resource.k8s.io/v1/";
  MakeAt(api + "deviceclasses", R"({"metadata": {"name": "gpu.nvidia.com"}, "spec": {"selectors": [
      {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}})");
  MakeAt(api + "resourceslices", R"({"metadata": {"name": "s"}, "spec": {"driver": "gpu.nvidia.com",
      "nodeName": "node-a", "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
      "devices": [{"name": "gpu-0", "attributes": {"model": {"string": "A100"}}}]}})");
  MakeAt(
      api + "namespaces/team-a/resourceclaims",
      R"({"metadata": {"name": "one"}, "spec": {"devices": {"requests": [{"name": "gpu", "exactly":
            {"deviceClassName": "gpu.nvidia.com", "selectors": [{"cel": {"expression":
            "device.attributes['gpu.nvidia.com'].model == 'H100'"}}]}}]}}})");
  const Result live = RunLive({"claim", "team-a/one", "--save", dir_.At("c.json")});
  EXPECT_EQ(live.code, 7) << live.err;
  EXPECT_THAT(live.out,
              AllOf(StartsWith("team-a/one: pending: waits for a node that fits; node-a "
                               "(device-differs)\n"),
                    HasSubstr("gpu: 1 device (gpu-0): the selector of request gpu is false: "),
                    HasSubstr("device.attributes['gpu.nvidia.com'].model is \"A100\"")));
  const Result saved = Run({"claim", "--from", dir_.At("c.json")});
  EXPECT_EQ(saved.code, 7) << saved.err;
  EXPECT_EQ(saved.out, live.out);
  EXPECT_EQ(RunLive({"claim", "team-a/two"}).code, 3);
  EXPECT_EQ(Run({"claim"}).code, 2);
}

TEST_F(ExplainTest, APodThatIsNotThereExitsWithThree) {
  const Result result = RunLive({"pod", "team-a/trai"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, HasSubstr("did you mean team-a/train?"));
}

TEST_F(ExplainTest, WrongWordsAreUsageErrors) {
  EXPECT_EQ(Run({"pod"}).code, 2);
  EXPECT_EQ(Run({"pod", "a/b/c", "--kubeconfig", Kubeconfig()}).code, 2);
  dir_.WriteFile("x.json", "{}");
  const Result empty = Run({"pod", "a/b", "--from", dir_.At("x.json")});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("kubectl get pods,nodes,events -A -o json"));
  EXPECT_EQ(Run({"pod", "a/b", "--from", dir_.At("none")}).code, 2);
  const Result both =
      Run({"pod", "a/b", "--from", dir_.At("x.json"), "--kubeconfig", Kubeconfig()});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--from and --kubeconfig cannot be combined: leave one out"));
  const Result spaces = Run({"pod", "a/b", "-n", "c", "--kubeconfig", Kubeconfig()});
  EXPECT_EQ(spaces.code, 2);
  EXPECT_THAT(spaces.err, HasSubstr("a/b: --namespace is c: leave it out"));
}

TEST_F(ExplainTest, ReasonsPrintsTheTable) {
  const Result table = Run({"reasons"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.out, AllOf(HasSubstr("gpu-in-use "), Not(HasSubstr("|"))));
  const Result page = Run({"reasons", "--output", "markdown"});
  EXPECT_EQ(page.code, 0);
  EXPECT_THAT(page.out, HasSubstr("| `gpu-in-use` | error | other pods use the GPUs | node |"));
}

}  // namespace
}  // namespace kgpu::e2e
