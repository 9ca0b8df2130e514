// Takeovers of a simulated cluster: controllers and kubelets of testing/cluster, and agents as far
// as they show on nodes.
#include "src/cluster/adopt/takeover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/cluster/adopt/changes.h"
#include "src/cluster/adopt/test_cluster.h"
#include "src/cluster/adopt/values.h"
#include "src/cluster/chart/chart.h"
#include "src/cluster/install/installer.h"
#include "src/cluster/install/leftovers.h"
#include "src/cluster/install/uninstaller.h"
#include "src/kube/api/json.h"
#include "src/kube/api/writes.h"
#include "src/kube/objects/test_cluster.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "testing/apiserver/api_fixture.h"
#include "testing/cluster/cluster.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::array<const char*, 2> kNodeNames = {"n1", "n2"};

// What agents, NVIDIA's plugin and kubelets show on Node objects: who serves the GPUs.
class Served {
 public:
  Served(FakeLoop& loop, apiserver::Api& api) : loop_(loop), api_(api) { Tick(); }
  ~Served() { loop_.CancelTimer(timer_); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  void Break(const std::string& node) { broken_.insert(node); }
  // "n1: two plugins"; two of them would displace each other.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  bool HasPod(const std::string& node, const std::string& set) const {
    return std::ranges::any_of(api_.store().All("pods"), [&](const auto& entry) {
      const SeenPod pod = ReadPod(json::value(entry.second->object()));
      return pod.node == node && pod.daemon_set == set && pod.is_ready;
    });
  }
  static bool Names(const SeenNode& node, const std::string& annotation) {
    const auto found = node.annotations.find(annotation);
    return found != node.annotations.end() && found->second.find("plugin") != std::string::npos;
  }

  void Look(const std::string& name) {
    const auto stored = api_.Find("/api/v1/nodes/" + name);
    const SeenNode node = ReadNode(json::value(stored->object()));
    const bool has_other = HasPod(name, "nvidia-device-plugin-daemonset");
    const bool has_agent = HasPod(name, "kgpu-agent");
    const bool is_ours =
        has_agent && !Names(node, "kgpu.dev/released") &&
        (Names(node, "kgpu.dev/adopted") || (!has_other && !has_served_.contains(name)));
    if (has_other) {
      has_served_.insert(name);  // an agent takes minutes to notice that it left
    }
    if (is_ours && has_other) {
      problems_.push_back(name + ": two plugins");
    }
    const bool works = (is_ours && !broken_.contains(name)) || has_other;
    // The kubelet reports every 10 s.
    if (ticks_ % 10 == 0) {
      const std::string count = works ? "8" : "0";
      if (node.gpus != std::map<std::string, int64_t>{{"nvidia.com/gpu", works ? 8 : 0}}) {
        Patch(name, json::object{{"allocatable", {{"nvidia.com/gpu", count}}}});
      }
    }
    if (has_agent && node.is_ready != works) {
      SetCondition(name, works);
    }
  }

  // As the agent does: a server-side apply of its own condition.
  void SetCondition(const std::string& name, bool works) {
    http::Request request;
    request.method = "PATCH";
    request.target = fmt::format("/api/v1/nodes/{}/status?fieldManager=kgpu-gate&force=true", name);
    request.headers.Add("Content-Type", "application/apply-patch+yaml");
    request.body = fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}},"status":{{"conditions":[
            {{"type":"GPUReady","status":"{}","reason":"{}","message":"as simulated"}}]}}}})",
        name, works ? "True" : "False", works ? "AllVerified" : "NothingAllocatable");
    const auto seen = std::make_shared<apiserver::Seen>();
    api_.Handle(request, std::make_shared<apiserver::SeenSink>(seen));
    EXPECT_EQ(seen->code, 200) << seen->body;
  }

  void Patch(const std::string& name, json::object status) {
    EXPECT_OK(api_.Do("PATCH", fmt::format("/api/v1/nodes/{}/status", name),
                      json::object{{"status", std::move(status)}}));
  }

  void Tick() {
    ++ticks_;
    for (const char* name : kNodeNames) {
      if (api_.Find(fmt::format("/api/v1/nodes/{}", name)) != nullptr) {
        Look(name);
      }
    }
    timer_ = loop_.After(seconds(1), [this] { Tick(); });
  }

  FakeLoop& loop_;
  apiserver::Api& api_;
  TimerId timer_ = TimerId::kNone;
  uint64_t ticks_ = 0;
  std::set<std::string> broken_;
  std::set<std::string> has_served_;
  std::vector<std::string> problems_;
};

// With the GPU operator's operands, or with plain DaemonSets.
enum class Installed { kOperator, kPlain };

class Simulation {
 public:
  // `is_whole`: kgpu is installed from its chart and uninstalled; otherwise it is a DaemonSet.
  explicit Simulation(Installed installed, bool is_whole = false) : is_whole_(is_whole) {
    cluster_.SetScript([](const json::object& pod) {
      simcluster::PodPlan plan = simcluster::PlanFromEnvironment(pod);
      if (json::serialize(pod).find("--host-files") != std::string::npos) {
        plan.run_time = seconds(1);
      }
      return plan;
    });
    for (const char* space : {"gpu-operator", "monitoring", "team-a"}) {
      Create("/api/v1/namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", space));
    }
    for (const char* name : kNodeNames) {
      EXPECT_OK(cluster_.AddNode({.name = name,
                                  .labels = {{"nvidia.com/gpu.present", "true"},
                                             {"nvidia.com/gpu.deploy.device-plugin", "true"},
                                             {"nvidia.com/gpu.deploy.dcgm-exporter", "true"}},
                                  .resources = {{"nvidia.com/gpu", "8"}}}));
    }
    if (installed == Installed::kOperator) {
      CreateSet(OperandPlugin());
      CreateSet(OperandOf("nvidia-driver-daemonset", "nvidia-driver-ctr", "driver:550"));
    } else {
      CreateSet(StaticPlugin());
      CreateSet(PlainExporter());
    }
    Pass(seconds(5));
    Create("/api/v1/namespaces/team-a/pods", R"({"metadata":{"name":"train"},
        "spec":{"nodeName":"n1","containers":[{"name":"main","image":"cuda",
          "resources":{"limits":{"nvidia.com/gpu":"2"}}}]}})");
    Pass(seconds(30));
  }
  ~Simulation() { EXPECT_THAT(cluster_.problems(), IsEmpty()); }

  kube::TestCluster& base() { return base_; }
  Served& served() { return served_; }
  void Pass(seconds time) { base_.loop.Advance(time); }
  SteadyTime Now() const { return base_.loop.clock().Now(); }

  Plan MakePlanNow() {
    const auto world = ReadWorld(deps_.ask, "kgpu");
    EXPECT_OK(world);
    return world.ok() ? MakePlan(*world) : Plan();
  }
  Outcome Adopt() {
    const auto world = ReadWorld(deps_.ask, "kgpu");
    if (!world.ok()) {
      return {.status = world.status()};
    }
    return Takeover(deps_, options_).Adopt(MakePlan(*world));
  }
  Outcome HandBack() { return Takeover(deps_, options_).HandBack(); }
  Outcome Finish() { return Takeover(deps_, options_).Finish(MakePlanNow()); }

  // From the `at`-th request on, none arrives: as if the command was killed.
  void KillAt(int at) {
    requests_ = 0;
    base_.client.BeforeSend([this, at](const kube::ApiRequest&) -> Status {
      return ++requests_ >= at ? Unavailable("killed") : OkStatus();
    });
  }
  void Revive() { base_.client.BeforeSend({}); }
  int requests() const { return requests_; }

  SeenNode Node(const std::string& name) const {
    return ReadNode(base_.At("/api/v1/nodes/" + name));
  }
  SeenPod GpuPodNow() const { return ReadPod(base_.At("/api/v1/namespaces/team-a/pods/train")); }
  // "n1 kgpu-agent"; those that are ready.
  std::vector<std::string> DaemonPods() const {
    std::vector<std::string> texts;
    for (const auto& [key, stored] : base_.api.store().All("pods")) {
      const SeenPod pod = ReadPod(json::value(stored->object()));
      if (!pod.daemon_set.empty() && pod.is_ready) {
        texts.push_back(fmt::format("{} {}", pod.node, pod.daemon_set));
      }
    }
    std::ranges::sort(texts);
    return texts;
  }
  // Every object but for what the server counts. Pods of DaemonSets come and go: of them only where
  // they run, and what.
  std::string Dump() const {
    std::string text;
    for (const char* kind :
         {"namespaces", "nodes", "daemonsets.apps", "deployments.apps", "configmaps", "secrets",
          "serviceaccounts", "customresourcedefinitions.apiextensions.k8s.io",
          "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
          "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
          "networkpolicies.networking.k8s.io",
          "validatingadmissionpolicies.admissionregistration.k8s.io",
          "validatingadmissionpolicybindings.admissionregistration.k8s.io"}) {
      for (const auto& [key, stored] : base_.api.store().All(kind)) {
        text += fmt::format("{} {}/{} {}\n", kind, key.name_space, key.name,
                            json::serialize(Plain(stored->object())));
      }
    }
    for (const std::string& pod : DaemonPods()) {
      text += pod + "\n";
    }
    return text + json::serialize(Plain(base_.At("/api/v1/namespaces/team-a/pods/train")));
  }

 private:
  // In the order of keys, which means nothing.
  static json::value Sorted(const json::value& value) {
    if (value.is_array()) {
      json::array list;
      for (const json::value& item : value.get_array()) {
        list.push_back(Sorted(item));
      }
      return list;
    }
    if (!value.is_object()) {
      return value;
    }
    std::map<std::string, json::value> fields;
    for (const auto& [key, field] : value.get_object()) {
      fields.emplace(key, Sorted(field));
    }
    json::object object;
    for (const auto& [key, field] : fields) {
      object[key] = field;
    }
    return object;
  }
  static json::value Plain(json::value object) {
    if (object.is_object()) {
      json::object& metadata = object.at("metadata").get_object();
      metadata.erase("resourceVersion");
      metadata.erase("managedFields");
      metadata.erase("generation");
      if (const json::value* notes = metadata.if_contains("annotations");
          notes != nullptr && notes->get_object().empty()) {
        metadata.erase("annotations");
      }
      if (json::value* status = object.get_object().if_contains("status")) {
        status->get_object().erase("observedGeneration");
      }
    }
    return Sorted(object);
  }
  void Create(const std::string& path, const std::string& text) {
    EXPECT_OK(base_.api.Do("POST", path, Json(text)));
  }
  void CreateSet(json::value set) {
    EXPECT_OK(base_.api.Do(
        "POST", fmt::format("/apis/apps/v1/namespaces/{}/daemonsets", kube::NamespaceOf(set)),
        set));
  }

  Status InstallWhole(const Carried& carried) {
    ASSIGN_OR_RETURN(const chart::Values values,
                     chart::ReadValues(
                         {.files = {{.name = "settings taken over",
                                     .text = doc::Print(ValuesOf(carried), doc::Format::kYaml)}}}));
    ASSIGN_OR_RETURN(const std::vector<chart::Manifest> manifests, chart::Render(values));
    install::InstallRequest request;
    for (const chart::Manifest& manifest : manifests) {
      request.objects.emplace_back(manifest.object);
    }
    install::InstallReport report;
    return install::Install(base_.client, kinds_, request, report);
  }
  Status Install(const Carried& carried) {
    installed_with_ = carried;
    if (is_whole_) {
      return InstallWhole(carried);
    }
    const json::value agent = DaemonSet(
        {.space = "kgpu", .name = "kgpu-agent", .container = "agent", .image = "localhost/kgpu"});
    const Status made =
        base_.client.Send(kube::CreateRequest("/apis/apps/v1/namespaces/kgpu/daemonsets", agent))
            .status();
    return made.code() == StatusCode::kAlreadyExists ? OkStatus() : made;
  }
  StatusOr<std::vector<std::string>> FindOthers() {
    if (!is_whole_) {
      return std::vector<std::string>();
    }
    ASSIGN_OR_RETURN(const install::SpaceContents contents,
                     install::LookIntoSpace(base_.client, kinds_, "kgpu"));
    std::vector<std::string> others;
    for (const kube::ObjectRef& ref : contents.foreign) {
      others.push_back(kube::TextOf(ref));
    }
    return others;
  }
  static install::UninstallRequest UninstallRequestFor(bool is_dry_run) {
    return {.is_dry_run = is_dry_run, .forces = true, .hands_back = true};
  }
  Status CheckUninstall() {
    if (!is_whole_) {
      return OkStatus();
    }
    install::UninstallReport report;
    const Status status =
        install::Uninstall(base_.client, kinds_, UninstallRequestFor(true), report);
    return status.code() == StatusCode::kNotFound ? OkStatus() : status;
  }
  Status Uninstall() {
    if (is_whole_) {
      install::UninstallReport report;
      const Status status =
          install::Uninstall(base_.client, kinds_, UninstallRequestFor(false), report);
      return status.code() == StatusCode::kNotFound ? OkStatus() : status;
    }
    const Status gone =
        base_.client
            .Send(kube::DeleteRequest("/apis/apps/v1/namespaces/kgpu/daemonsets/kgpu-agent"))
            .status();
    RETURN_IF_ERROR(gone.code() == StatusCode::kNotFound ? OkStatus() : gone);
    base_.client.Wait(seconds(5));
    for (const char* name : kNodeNames) {
      const json::value node = base_.At(fmt::format("/api/v1/nodes/{}", name));
      json::array conditions;
      if (const json::value* list = kube::FindField(node, {"status", "conditions"})) {
        for (const json::value& one : list->as_array()) {
          if (kube::TextField(one, {"type"}) != "GPUReady") {
            conditions.push_back(one);
          }
        }
      }
      RETURN_IF_ERROR(base_.client
                          .Send(kube::PatchRequest(
                              fmt::format("/api/v1/nodes/{}/status", name), kube::PatchType::kMerge,
                              json::object{{"status", {{"conditions", std::move(conditions)}}}}))
                          .status());
    }
    return OkStatus();
  }

 public:
  Carried installed_with_{};
  Status check_answer_{};

 private:
  bool is_whole_;
  int requests_ = 0;
  kube::TestCluster base_;
  kube::Kinds kinds_{base_.client};
  simcluster::Cluster cluster_{base_.loop, base_.api};
  Served served_{base_.loop, base_.api};
  // Fewer requests, each of which is a test of its own.
  TakeoverOptions options_{.poll = seconds(5)};
  Deps deps_{
      .clock = base_.loop.clock(),
      .ask = [this](kube::ApiRequest request) { return base_.client.Send(std::move(request)); },
      .pause = [this](seconds time) { base_.client.Wait(time); },
      .say = [](const std::string&) {},
      .check = [this](bool) { return check_answer_; },
      .install = [this](const Carried& carried) { return Install(carried); },
      .uninstall = [this] { return Uninstall(); },
      .check_uninstall = [this] { return CheckUninstall(); },
      .find_others = [this] { return FindOthers(); }};
};

class TakeoverTest : public ::testing::TestWithParam<Installed> {
 protected:
  Simulation sim_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Both, TakeoverTest,
                         ::testing::Values(Installed::kOperator, Installed::kPlain),
                         [](const auto& one) {
                           return one.param == Installed::kOperator ? "Operator" : "Plain";
                         });

TEST_P(TakeoverTest, KgpuServesEveryNodeAndPodsKeepRunning) {
  const SeenPod before = sim_.GpuPodNow();
  ASSERT_FALSE(before.ids.empty());
  const Outcome outcome = sim_.Adopt();
  ASSERT_OK(outcome.status);
  EXPECT_THAT(
      outcome.nodes,
      ElementsAre(AllOf(Field(&NodeOutcome::name, "n2"), Field(&NodeOutcome::is_done, true)),
                  AllOf(Field(&NodeOutcome::name, "n1"), Field(&NodeOutcome::is_done, true))))
      << "the node with fewer GPU pods first";
  EXPECT_EQ(sim_.GpuPodNow(), before) << "the same container id";
  EXPECT_THAT(sim_.DaemonPods(), Not(Contains(HasSubstr("nvidia-device-plugin"))));
  EXPECT_THAT(sim_.DaemonPods(), Contains("n1 kgpu-agent"));
  for (const char* name : kNodeNames) {
    EXPECT_EQ(sim_.Node(name).gpus.at("nvidia.com/gpu"), 8) << name;
    EXPECT_TRUE(sim_.Node(name).is_ready) << name;
  }
  EXPECT_THAT(sim_.served().problems(), IsEmpty()) << "never two plugins at a time";
  EXPECT_THAT(sim_.installed_with_.config.plugin.strategies,
              Contains(config::DeviceListStrategy::kEnvvar));
}

TEST_P(TakeoverTest, HandingBackRestoresEverything) {
  const std::string before = sim_.Dump();
  ASSERT_OK(sim_.Adopt().status);
  ASSERT_NE(sim_.Dump(), before);
  ASSERT_OK(sim_.HandBack().status);
  sim_.Pass(seconds(60));
  EXPECT_EQ(sim_.Dump(), before);
  EXPECT_THAT(sim_.served().problems(), IsEmpty());
  // Once more changes nothing.
  ASSERT_OK(sim_.HandBack().status);
  EXPECT_EQ(sim_.Dump(), before);
}

TEST_P(TakeoverTest, WhatMustHoldIsCheckedBeforeAnythingChanges) {
  const std::string before = sim_.Dump();
  sim_.check_answer_ = PermissionDenied("may not patch nodes");
  const Outcome outcome = sim_.Adopt();
  EXPECT_THAT(outcome.status, StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(outcome.nodes, IsEmpty());
  EXPECT_EQ(sim_.Dump(), before);
}

TEST_P(TakeoverTest, ASecondRunChangesNothing) {
  ASSERT_OK(sim_.Adopt().status);
  const std::string taken = sim_.Dump();
  ASSERT_OK(sim_.Adopt().status);
  EXPECT_EQ(sim_.Dump(), taken);
}

TEST_P(TakeoverTest, WhatCannotServeIsHandedBackAndStops) {
  sim_.served().Break("n2");
  const SeenPod before = sim_.GpuPodNow();
  const Outcome outcome = sim_.Adopt();
  EXPECT_THAT(outcome.status,
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("node n2"), HasSubstr("0 of 8 nvidia.com/gpu"))));
  EXPECT_THAT(sim_.DaemonPods(), Contains("n2 nvidia-device-plugin-daemonset"));
  EXPECT_THAT(sim_.DaemonPods(), Contains("n1 nvidia-device-plugin-daemonset"));
  EXPECT_EQ(sim_.Node("n2").gpus.at("nvidia.com/gpu"), 8);
  EXPECT_FALSE(IsTaken(sim_.Node("n1"))) << "nothing happens after the first that fails";
  EXPECT_EQ(sim_.GpuPodNow(), before);
}

TEST_P(TakeoverTest, ASlowServerDoesNotProlongTheWaitForANode) {
  sim_.served().Break("n1");
  const SteadyTime start = sim_.Now();
  sim_.base().client.BeforeSend([&](const kube::ApiRequest&) {
    sim_.Pass(seconds(20));
    return OkStatus();
  });
  EXPECT_THAT(sim_.Adopt().status, StatusIs(StatusCode::kFailedPrecondition, HasSubstr("node n1")));
  // One wait that ends at its limit, and some 60 requests around it.
  EXPECT_LT(sim_.Now() - start, std::chrono::minutes(35));
}

TEST_P(TakeoverTest, ANodeWhoseContainersRestartIsHandedBack) {
  bool is_done = false;
  sim_.base().client.BeforeSend([&](const kube::ApiRequest& request) {
    const bool serves = request.method == "PATCH" && request.path == "/api/v1/nodes/n1" &&
                        request.body.find("kgpu.dev/adopted") != std::string::npos;
    if (serves && !std::exchange(is_done, true)) {
      EXPECT_OK(sim_.base().api.Do("PATCH", "/api/v1/namespaces/team-a/pods/train/status",
                                   Json(R"({"status":{"containerStatuses":[{"name":"main",
                  "image":"cuda","imageID":"x","ready":true,"restartCount":1,
                  "containerID":"containerd://another"}]}})")));
    }
    return OkStatus();
  });
  const Outcome outcome = sim_.Adopt();
  EXPECT_TRUE(is_done);
  EXPECT_THAT(outcome.status, StatusIs(StatusCode::kFailedPrecondition,
                                       HasSubstr("GPU pods were restarted: team-a/train")));
  EXPECT_THAT(sim_.DaemonPods(), Contains("n1 nvidia-device-plugin-daemonset"));
  EXPECT_THAT(sim_.DaemonPods(), Not(Contains("n2 nvidia-device-plugin-daemonset")))
      << "it stays with kgpu";
  EXPECT_OK(sim_.HandBack().status) << "a restart does not block the way back";
  EXPECT_THAT(sim_.DaemonPods(), Contains("n2 nvidia-device-plugin-daemonset"));
}

TEST_P(TakeoverTest, FinishWantsTheOthersToBeRemoved) {
  ASSERT_OK(sim_.Adopt().status);
  EXPECT_THAT(sim_.Finish().status, StatusIs(StatusCode::kFailedPrecondition,
                                             HasSubstr("nvidia-device-plugin-daemonset: kubectl")));
  const std::string space = GetParam() == Installed::kOperator ? "gpu-operator" : "kube-system";
  ASSERT_OK(sim_.base().api.Do(
      "DELETE",
      fmt::format("/apis/apps/v1/namespaces/{}/daemonsets/nvidia-device-plugin-daemonset", space),
      json::object()));
  if (GetParam() == Installed::kPlain) {
    ASSERT_OK(sim_.base().api.Do(
        "DELETE", "/apis/apps/v1/namespaces/monitoring/daemonsets/dcgm-exporter", json::object()));
  }
  ASSERT_OK(sim_.Finish().status);
  EXPECT_FALSE(IsTaken(sim_.Node("n1")));
  EXPECT_THAT(sim_.Node("n1").annotations.at("kgpu.dev/adopted"), HasSubstr("plugin"));
  EXPECT_EQ(sim_.base().At("/api/v1/namespaces/kgpu/configmaps/kgpu-adopt"), json::value());
  EXPECT_THAT(sim_.DaemonPods(), Contains("n1 kgpu-agent"));
}

TEST_P(TakeoverTest, KgpuItselfIsRemovedToo) {
  Simulation sim(GetParam(), true);
  const std::string before = sim.Dump();
  ASSERT_OK(sim.Adopt().status);
  EXPECT_THAT(sim.DaemonPods(), Contains("n1 kgpu-agent"));
  EXPECT_NE(sim.base().At("/api/v1/namespaces/kgpu/configmaps/kgpu-agent"), json::value());
  ASSERT_OK(sim.HandBack().status);
  sim.Pass(seconds(60));
  EXPECT_EQ(sim.Dump(), before);
  EXPECT_THAT(sim.served().problems(), IsEmpty());
}

TEST_P(TakeoverTest, WhatKeepsKgpuIsNamedBeforeTheFirstNodeIsHandedBack) {
  Simulation sim(GetParam(), true);
  ASSERT_OK(sim.Adopt().status);
  ASSERT_OK(sim.base().api.Do(
      "POST", "/apis/kgpu.dev/v1alpha1/gpupolicies",
      {{"apiVersion", "kgpu.dev/v1alpha1"},
       {"kind", "GpuPolicy"},
       {"metadata", {{"name", "all"}}},
       {"spec",
        {{"groups",
          json::array{json::object{{"name", "g"}, {"nodeSelector", json::object()}}}}}}}));
  const std::string before = sim.Dump();
  const Outcome outcome = sim.HandBack();
  EXPECT_THAT(outcome.status,
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("(all)"), HasSubstr("nothing was changed"))));
  EXPECT_THAT(outcome.nodes, IsEmpty());
  EXPECT_EQ(sim.Dump(), before);
}

TEST_P(TakeoverTest, ANamespaceWithOthersObjectsStays) {
  Simulation sim(GetParam(), true);
  ASSERT_OK(sim.Adopt().status);
  ASSERT_OK(sim.base().api.Do("POST", "/api/v1/namespaces/kgpu/configmaps",
                              {{"metadata", {{"name", "mine"}}}}));
  ASSERT_OK(sim.HandBack().status);
  sim.Pass(seconds(60));
  EXPECT_NE(sim.base().At("/api/v1/namespaces/kgpu/configmaps/mine"), json::value());
}

// Kills at every request.

class KilledTakeoverTest : public ::testing::TestWithParam<Installed> {};

INSTANTIATE_TEST_SUITE_P(Both, KilledTakeoverTest,
                         ::testing::Values(Installed::kOperator, Installed::kPlain),
                         [](const auto& one) {
                           return one.param == Installed::kOperator ? "Operator" : "Plain";
                         });

// Does `what` with a kill at each of its requests, then `then`. Long waits repeat the same two
// requests: most of those kills are left out.
template <typename What, typename Then>
void KillEverywhere(Installed installed, const What& what, const Then& then) {
  for (int at = 1;; at += kMomentStep) {
    Simulation sim(installed);
    const std::string before = sim.Dump();
    what(sim, [&sim, at] { sim.KillAt(at); });
    const bool was_killed = sim.requests() >= at;
    sim.Revive();
    SCOPED_TRACE(fmt::format("killed at request {}", at));
    then(sim, before);
    EXPECT_THAT(sim.served().problems(), IsEmpty());
    if (!was_killed || ::testing::Test::HasFailure()) {
      EXPECT_GT(at, 10);
      return;
    }
  }
}

TEST_P(KilledTakeoverTest, IsContinuedByTheNextRun) {
  Simulation whole(GetParam());
  ASSERT_OK(whole.Adopt().status);
  const std::vector<std::string> pods = whole.DaemonPods();
  KillEverywhere(
      GetParam(),
      [](Simulation& sim, const auto& kill) {
        kill();
        (void)sim.Adopt();
      },
      [&](Simulation& sim, const std::string&) {
        const SeenPod before = sim.GpuPodNow();
        ASSERT_OK(sim.Adopt().status);
        EXPECT_EQ(sim.DaemonPods(), pods);
        EXPECT_EQ(sim.GpuPodNow(), before);
        EXPECT_EQ(sim.Node("n1").annotations.at("kgpu.dev/adopted"),
                  whole.Node("n1").annotations.at("kgpu.dev/adopted"));
      });
}

TEST_P(KilledTakeoverTest, IsHandedBackFromAnywhere) {
  KillEverywhere(
      GetParam(),
      [](Simulation& sim, const auto& kill) {
        kill();
        (void)sim.Adopt();
      },
      [](Simulation& sim, const std::string& before) {
        ASSERT_OK(sim.HandBack().status);
        sim.Pass(seconds(60));
        EXPECT_EQ(sim.Dump(), before);
      });
}

TEST_P(KilledTakeoverTest, HandingBackIsContinuedToo) {
  KillEverywhere(
      GetParam(),
      [](Simulation& sim, const auto& kill) {
        ASSERT_OK(sim.Adopt().status);
        kill();
        (void)sim.HandBack();
      },
      [](Simulation& sim, const std::string& before) {
        ASSERT_OK(sim.HandBack().status);
        sim.Pass(seconds(60));
        EXPECT_EQ(sim.Dump(), before);
      });
}

}  // namespace
}  // namespace kgpu::adopt
