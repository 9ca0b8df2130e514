// One node of a cluster that `kgpu cluster adopt` takes over and hands back: the built agent and a
// stub kubelet on a simulated host, another plugin, and a GPU pod that runs all the time. The stub
// API server's controllers say which pods the node has; the test starts what is in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "testing/kubelet/fake_kubelet.h"
#include "testing/kubelet/sample_plugin.h"
#include "testing/status_matchers.h"
#include "tests/e2e/cluster_fixture.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kGpus = "nvidia.com/gpu";

class AdoptTest : public ClusterFixture {
 protected:
  std::vector<std::string> ServerFlags() const override {
    return {"--controllers", "--pod-stop", "4"};
  }

  // They come with the installation, which this test makes.
  void GiveRights() override {}

  void SetUp() override {
    ClusterFixture::SetUp();
    if (IsSkipped()) {
      return;
    }
    // As on every host.
    host_->dir().MakeDir("host/var/lib");
    kubelet_ = std::make_unique<kubelet::FakeKubelet>(
        kubelet::FakeKubelet::Options{.root = At("kubelet")});
    ASSERT_OK(kubelet_->Start());
    for (const auto& gpu : Gpus()) {
      devices_.push_back({.id = gpu, .health = "Healthy", .numa_nodes = {}});
    }
    Merge("/api/v1/nodes/n1", R"({"metadata":{"labels":{"nvidia.com/gpu.present":"true",)"
                              R"("nvidia.com/gpu.deploy.device-plugin":"true"}}})");
    Ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"gpu-operator"}})");
    Ask("POST", "/apis/apps/v1/namespaces/gpu-operator/daemonsets",
        R"({"metadata":{"name":"nvidia-device-plugin-daemonset","ownerReferences":
            [{"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","name":"p","uid":"u"}]},
          "spec":{"selector":{"matchLabels":{"app":"p"}},"template":{
            "metadata":{"labels":{"app":"p"}},"spec":{
              "nodeSelector":{"nvidia.com/gpu.deploy.device-plugin":"true"},
              "containers":[{"name":"nvidia-device-plugin",
                "image":"nvcr.io/nvidia/k8s-device-plugin:v0.17.1"}]}}}})");
    ASSERT_TRUE(StepUntil([&] { return counted_ == 4; })) << "the other plugin serves the GPUs";
    ASSERT_OK(kubelet_->AddPod(kubelet::SimplePod("train", kGpus, 2)));
    ASSERT_TRUE(kubelet_->WaitForPhase("train", kubelet::PodPhase::kRunning));
  }

  std::vector<std::string> Gpus() const {
    const Result devices = host_->Kgpu({"devices", "--output", "json"});
    std::vector<std::string> uuids;
    const auto tree = doc::Parse(devices.out, doc::Format::kJson, "devices");
    EXPECT_OK(tree);
    for (const json::value& gpu : tree->at("gpus").as_array()) {
      uuids.push_back(TextAt(gpu, {"uuid"}));
    }
    return uuids;
  }

  kubelet::ContainerStatus Train() const {
    return kubelet_->FindPod("train")->status.containers.at(0);
  }

  // The names of the node's pods by their DaemonSet; a pod without one by itself.
  std::map<std::string, json::value> Pods() const {
    std::map<std::string, json::value> pods;
    const auto list = doc::Parse(Ask("GET", "/api/v1/pods", ""), doc::Format::kJson, "pods");
    EXPECT_OK(list);
    for (const json::value& pod : list->at("items").as_array()) {
      const json::value* owners = pod.at("metadata").as_object().if_contains("ownerReferences");
      const bool is_ready = json::serialize(pod).find(R"("phase":"Running")") != std::string::npos;
      if (is_ready && pod.at("metadata").as_object().if_contains("deletionTimestamp") == nullptr) {
        pods[owners == nullptr ? TextAt(pod, {"metadata", "name"})
                               : TextAt(owners->as_array().at(0), {"name"})] = pod;
      }
    }
    return pods;
  }

  // Starts and ends what the node's pods stand for, and reports the kubelet's counts.
  void Step() {
    const auto pods = Pods();
    const bool has_other = pods.contains("nvidia-device-plugin-daemonset");
    if (has_other && !other_) {
      other_ = std::make_unique<kubelet::SamplePlugin>(kubelet::SamplePlugin::Options{
          .socket_path = At("kubelet/device-plugins/nvidia-gpu.sock"),
          .resource = kGpus,
          .devices = devices_});
      ASSERT_OK(other_->Register(At("kubelet/device-plugins/kubelet.sock")));
    } else if (!has_other) {
      other_.reset();
    }
    if (pods.contains("kgpu-agent") && !agent_) {
      StartOurs();
    } else if (!pods.contains("kgpu-agent") && agent_) {
      agent_->Stop();
      agent_.reset();
    }
    for (const auto& [name, pod] : pods) {
      if (json::serialize(pod).find("--host-files") != std::string::npos &&
          cleared_.insert(TextAt(pod, {"metadata", "uid"})).second) {
        ClearHost(pod);
      }
    }
    const auto amount = kubelet_->Allocatable(kGpus);
    if (const int now = static_cast<int>(std::max<int64_t>(amount, 0)); now != counted_) {
      counted_ = now;
      Count(now);
    }
    // The next change of a pod or node, or a moment.
    http::Request watch{.target = "/api/v1/pods?watch=1&timeoutSeconds=1"};
    watch.headers.Add("Authorization", fmt::format("Bearer {}", kAdmin));
    (void)http::Fetch(address_, watch);
  }
  bool StepUntil(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + seconds(120);
    while (!condition() && std::chrono::steady_clock::now() < until && !HasFatalFailure()) {
      Step();
    }
    return condition();
  }

  // Its files are below the host root, as in a DaemonSet's pod.
  void StartOurs() {
    std::vector<std::string> argv = {ProgramPath("kgpu"),
                                     "agent",
                                     "--kubelet-dir",
                                     At("kubelet"),
                                     "--http-address",
                                     "off",
                                     "--kubeconfig",
                                     At("kubeconfig"),
                                     "--node",
                                     "n1"};
    for (const std::string& flag : host_->flags()) {
      argv.push_back(flag);
    }
    agent_ = std::make_unique<Background>(argv);
  }

  // What the pod that clears a host runs; then the pod is over.
  void ClearHost(const json::value& pod) {
    const Result cleared =
        RunProgram({"kgpu", "node", "clear", "--host-files", "--host-root", host_->path()});
    EXPECT_EQ(cleared.code, 0) << cleared.err << cleared.out;
    Merge(fmt::format("/api/v1/namespaces/kgpu/pods/{}/status", TextAt(pod, {"metadata", "name"})),
          R"({"status":{"phase":"Succeeded"}})");
  }

  // `kgpu cluster adopt words…`, while the node lives.
  Result Adopt(std::vector<std::string> words) {
    std::vector<std::string> argv = {"/bin/sh",
                                     "-c",
                                     R"(exec "$@" >"$0" 2>&1)",
                                     At("adopt.log"),
                                     ProgramPath("kgpu"),
                                     "cluster",
                                     "adopt",
                                     "--yes",
                                     "--settle",
                                     "2s",
                                     "--timeout",
                                     "60s",
                                     "--kubeconfig",
                                     At("kubeconfig")};
    argv.insert(argv.end(), words.begin(), words.end());
    Background run(argv);
    EXPECT_TRUE(StepUntil([&] { return !run.RunsFor(std::chrono::milliseconds(0)); }));
    const sys::ExitState end = run.Stop();
    return {.code = end.code.value_or(-1), .out = host_->dir().ReadFile("adopt.log"), .err = ""};
  }

  // The files of the host and the kubelet, without what a kubelet and a driver change themselves.
  std::set<std::string> Tree() const {
    std::set<std::string> paths;
    for (const char* folder : {"host/run", "host/etc", "host/var", "host/usr",
                               "kubelet/device-plugins", "kubelet/plugins_registry"}) {
      std::error_code error;
      for (std::filesystem::recursive_directory_iterator entry(At(folder), error), end;
           !error && entry != end; entry.increment(error)) {
        paths.insert(entry->path().string().substr(At("").size()));
      }
    }
    return paths;
  }

  std::unique_ptr<kubelet::FakeKubelet> kubelet_;
  std::unique_ptr<kubelet::SamplePlugin> other_;
  std::vector<kubelet::Device> devices_;
  std::set<std::string> cleared_;
  int counted_ = -1;
};

TEST_F(AdoptTest, APodKeepsItsContainerAndItsGpusThereAndBack) {
  const kubelet::ContainerStatus before = Train();
  const std::set<std::string> tree = Tree();

  const Result taken = Adopt({});
  ASSERT_EQ(taken.code, 0) << taken.out;
  EXPECT_THAT(taken.out, HasSubstr("taken over"));
  EXPECT_EQ(other_, nullptr);
  EXPECT_EQ(Condition(), "True AllVerified");
  EXPECT_EQ(Train().id, before.id);
  EXPECT_EQ(Train().devices, before.devices);
  // The kubelet knows by the devices' ids which are in use: two are left.
  ASSERT_OK(kubelet_->AddPod(kubelet::SimplePod("second", kGpus, 2)));
  ASSERT_TRUE(kubelet_->WaitForPhase("second", kubelet::PodPhase::kRunning));
  for (const std::string& id :
       kubelet_->FindPod("second")->status.containers.at(0).devices[kGpus]) {
    EXPECT_THAT(before.devices.at(kGpus), Not(Contains(id)));
  }
  ASSERT_OK(kubelet_->RemovePod("second"));

  const Result back = Adopt({"--hand-back"});
  ASSERT_EQ(back.code, 0) << back.out;
  EXPECT_THAT(back.out, HasSubstr("handed back"));
  SCOPED_TRACE(back.out);
  EXPECT_NE(other_, nullptr);
  EXPECT_EQ(agent_, nullptr);
  EXPECT_EQ(Train().id, before.id);
  EXPECT_EQ(Train().devices, before.devices);
  // That the API server's objects are as before is shown in adopt_takeover_test: the stub server
  // does not wait for pods when it deletes their DaemonSet, so this agent outlives the clearing of
  // its node.
  const std::set<std::string> now = Tree();
  std::vector<std::string> added;
  std::ranges::set_difference(now, tree, std::back_inserter(added));
  EXPECT_THAT(added, IsEmpty());
  std::vector<std::string> missing;
  std::ranges::set_difference(tree, now, std::back_inserter(missing));
  EXPECT_THAT(missing, IsEmpty());
}

}  // namespace
}  // namespace kgpu::e2e
