// The built agent serves pools by DRA: a stub kubelet that prepares claims, the stub API server,
// and the test as the scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/platform/base/strings.h"
#include "testing/allocator/allocator.h"
#include "testing/kubelet/fake_kubelet.h"
#include "testing/shell.h"
#include "tests/e2e/cluster_fixture.h"
#include "tests/integration/kubelet_times.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using kubelet::FakeKubelet;
using kubelet::PodPhase;
using kubelet::PodSpec;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kClaimsPath[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr char kSlicesPath[] = "/apis/resource.k8s.io/v1/resourceslices";
constexpr std::chrono::seconds kPatience{30};
// No runtime is there that could say it.
constexpr char kByClaims[] = "serve: {by: dra}\nplugin: {deviceListStrategy: cdi-cri}\n";

// How often a test kills the agent: more at night.
int KillRounds(int usual) {
  const char* rounds = std::getenv("KGPU_KILL_ROUNDS");  // NOLINT(concurrency-mt-unsafe): no setenv
  return rounds == nullptr
             ? usual
             : static_cast<int>(ParseUint(rounds).value_or(static_cast<unsigned>(usual)));
}

// The claims as the kubelet sees them.
class Claims final : public kubelet::ClaimSource {
 public:
  StatusOr<std::string> GetClaim(const std::string& /*space*/, const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto found = claims_.find(name);
    return found == claims_.end() ? StatusOr<std::string>(NotFound("no claim {}", name))
                                  : found->second;
  }
  void WipeSlices(const std::string& /*driver*/) override {
    if (wipe) {
      wipe();
    }
  }
  void Put(const std::string& name, std::string text) {
    const std::lock_guard lock(mutex_);
    claims_[name] = std::move(text);
  }

  std::function<void()> wipe{};  // set before the kubelet starts

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> claims_;
};

class ClaimsTest : public ClusterFixture {
 protected:
  void StartKubelet() {
    kubelet::Constants constants = integration::ShortTimes();
    constants.health_timeout = std::chrono::seconds(30);  // the agent repeats it every ten
    constants.wipe_delay = std::chrono::seconds(30);      // longer than a restart takes
    claims_.wipe = [this] { Ask("DELETE", kSlicesPath, ""); };
    kubelet_ = std::make_unique<FakeKubelet>(
        FakeKubelet::Options{.root = At("kubelet"), .constants = constants, .claims = &claims_});
    ASSERT_OK(kubelet_->Start());
  }
  // Names of the devices that are published.
  std::vector<std::string> Devices() const {
    std::vector<std::string> names;
    const auto list = doc::Parse(Ask("GET", kSlicesPath, ""), doc::Format::kJson, "slices");
    for (const json::value& slice : list->at("items").as_array()) {
      const json::value* devices = slice.at("spec").as_object().if_contains("devices");
      for (const json::value& device : devices == nullptr ? json::array() : devices->as_array()) {
        names.push_back(TextAt(device, {"name"}));
      }
    }
    return names;
  }
  bool WaitForDevices(size_t count) const {
    return WaitForNode([&] { return Devices().size() == count; });
  }
  // As the scheduler does: makes a claim and gives it devices, for pods "a,b". Returns its UID.
  std::string Allocate(const std::string& name, const std::string& pod,
                       const std::vector<std::string>& devices, const std::string& memory = "",
                       const std::string& sharing = "") {
    const auto made =
        doc::Parse(Ask("POST", kClaimsPath,
                       fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
                "metadata":{{"name":"{}","namespace":"default"}},"spec":{{"devices":{{"requests":[
                {{"name":"gpu","exactly":{{"deviceClassName":"gpu.nvidia.com"}}}}]}}}}}})",
                                   name)),
                   doc::Format::kJson, "claim");
    json::object claim = made->as_object();
    json::array results;
    for (const std::string& device : devices) {
      json::object result = {
          {"request", "gpu"}, {"driver", "gpu.nvidia.com"}, {"pool", "n1"}, {"device", device}};
      if (!memory.empty()) {
        result["shareID"] = fmt::format("00000000-0000-4000-8000-{:012}", ++shares_);
        result["consumedCapacity"] = {{"memory", memory}};
      }
      results.push_back(std::move(result));
    }
    json::array reserved;
    for (const std::string_view each : Split(pod, ',')) {
      reserved.push_back(
          {{"resource", "pods"}, {"name", std::string(each)}, {"uid", std::string(each)}});
    }
    json::object given = {{"results", std::move(results)}};
    if (!sharing.empty()) {
      const json::value parameters = {
          {"apiVersion", "resource.nvidia.com/v1beta1"},
          {"kind", devices[0].find("-mig-") == std::string::npos ? "GpuConfig" : "MigDeviceConfig"},
          {"sharing", json::parse(sharing)}};
      given["config"] =
          json::array{{{"source", "FromClaim"},
                       {"opaque", {{"driver", "gpu.nvidia.com"}, {"parameters", parameters}}}}};
    }
    claim["status"] = {{"allocation", {{"devices", std::move(given)}}},
                       {"reservedFor", std::move(reserved)}};
    claims_.Put(name,
                Ask("PUT", fmt::format("{}/{}/status", kClaimsPath, name), json::serialize(claim)));
    return TextAt(claim, {"metadata", "uid"});
  }
  std::vector<json::value> List(const char* path) const {
    const auto list = doc::Parse(Ask("GET", path, ""), doc::Format::kJson, path);
    const json::array& items = list->at("items").as_array();
    return {items.begin(), items.end()};
  }
  // Makes a claim for so much memory, and gives it what the scheduler would choose, for the pod.
  kgpu::Status Schedule(const std::string& name, const std::string& pod,
                        const std::string& memory) {
    const auto gpus = doc::Parse(R"({"metadata": {"name": "gpu.nvidia.com"}, "spec": {"selectors": [
        {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}})",
                                 doc::Format::kJson, "class");
    const auto made =
        doc::Parse(Ask("POST", kClaimsPath,
                       fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
                "metadata":{{"name":"{}","namespace":"default"}},"spec":{{"devices":{{"requests":[
                {{"name":"gpu","exactly":{{"deviceClassName":"gpu.nvidia.com",
                "capacity":{{"requests":{{"memory":"{}"}}}}}}}}]}}}}}})",
                                   name, memory)),
                   doc::Format::kJson, "claim");
    auto allocation = allocator::Allocate(
        *made, {.classes = {*gpus}, .slices = List(kSlicesPath), .claims = List(kClaimsPath)},
        "n1");
    if (!allocation.ok()) {
      return allocation.status();
    }
    json::object claim = made->as_object();
    claim["status"] = {
        {"allocation", *std::move(allocation)},
        {"reservedFor", json::array{{{"resource", "pods"}, {"name", pod}, {"uid", pod}}}}};
    claims_.Put(name,
                Ask("PUT", fmt::format("{}/{}/status", kClaimsPath, name), json::serialize(claim)));
    return OkStatus();
  }
  // Until the series of GPUs have the pod.
  bool WaitForUseBy(const std::string& pod) const {
    return WaitForNode([&] {
      return http::Fetch(At("run/agent.sock"), {.target = "/metrics"})
                 ->body.find(fmt::format("pod=\"{}\"", pod)) != std::string::npos;
    });
  }
  static PodSpec PodWith(const std::string& name, const std::string& claim) {
    PodSpec pod{.name = name, .uid = name};
    pod.claims = {{.name = "gpu", .claim = claim}};
    pod.containers = {{.name = "main", .claim_references = {{.claim = "gpu"}}}};
    return pod;
  }
  std::vector<std::string> CdiOf(const std::string& pod) const {
    const auto found = kubelet_->FindPod(pod);
    return found && !found->status.containers.empty()
               ? found->status.containers[0].options.cdi_devices
               : std::vector<std::string>();
  }
  std::string Spec(const std::string& uid) const {
    return host_->dir().ReadFile(fmt::format("host/var/run/cdi/kgpu-claim-{}.json", uid));
  }
  json::value Status() const {
    const Result result =
        RunProgram({"kgpu", "status", "--run-dir", At("run"), "--output", "json"});
    auto status = doc::Parse(result.out, doc::Format::kJson, "status");
    return status.ok() ? *std::move(status) : json::value(json::object());
  }
  size_t Prepared() const {
    const json::value status = Status();
    const json::value* claims = status.as_object().if_contains("claims");
    return claims == nullptr ? 0 : claims->at("prepared").as_array().size();
  }
  void TearDown() override {
    ClusterFixture::TearDown();
    kubelet_.reset();
  }

  Claims claims_;
  std::unique_ptr<FakeKubelet> kubelet_;
  int shares_ = 0;
};

TEST_F(ClaimsTest, APodGetsTheGpuOfItsClaim) {
  StartKubelet();
  StartAgent(kByClaims);
  ASSERT_TRUE(WaitForDevices(4));
  ASSERT_TRUE(WaitForNode([&] { return Condition() == "True AllVerified"; })) << NodeStatus().out;
  EXPECT_EQ(kubelet_->Capacity("nvidia.com/gpu"), -1) << "the plugin must not give it, too";

  const std::string uid = Allocate("c", "p", {"gpu-1"});
  ASSERT_OK(kubelet_->AddPod(PodWith("p", "c")));
  ASSERT_TRUE(kubelet_->WaitForPhase("p", PodPhase::kRunning, kPatience));
  EXPECT_THAT(CdiOf("p"), Contains(fmt::format("kgpu.dev/claim={}-gpu-1", uid)));
  EXPECT_THAT(Spec(uid), HasSubstr("/dev/nvidia1"));
  EXPECT_EQ(Prepared(), 1U);
  EXPECT_TRUE(WaitForUseBy("p"));

  ASSERT_OK(kubelet_->RemovePod("p"));
  EXPECT_TRUE(WaitForNode([&] { return Prepared() == 0; }));
  EXPECT_EQ(Spec(uid), "");
}

TEST_F(ClaimsTest, TwoPodsHaveSharesOfOneGpu) {
  StartKubelet();
  StartAgent(std::string(kByClaims) + "pools: [{share: {by: memory, size: 4Gi}}]\n");
  ASSERT_TRUE(WaitForDevices(4));
  const std::string first = Allocate("a", "pa", {"gpu-0-4gi"}, "4Gi");
  const std::string second = Allocate("b", "pb", {"gpu-0-4gi"}, "8Gi");
  ASSERT_OK(kubelet_->AddPod(PodWith("pa", "a")));
  ASSERT_OK(kubelet_->AddPod(PodWith("pb", "b")));
  ASSERT_TRUE(kubelet_->WaitForPhase("pa", PodPhase::kRunning, kPatience));
  ASSERT_TRUE(kubelet_->WaitForPhase("pb", PodPhase::kRunning, kPatience));
  EXPECT_NE(Spec(first), "");
  EXPECT_NE(Spec(second), "");
  EXPECT_TRUE(WaitForUseBy("pa"));
  EXPECT_TRUE(WaitForUseBy("pb"));
  // The last GB cannot be given twice.
  (void)Allocate("c", "pc", {"gpu-0-4gi"}, "4Gi");
  ASSERT_OK(kubelet_->AddPod(PodWith("pc", "c")));
  EXPECT_TRUE(kubelet_->WaitFor(
      [&] {
        const auto pod = kubelet_->FindPod("pc");
        return pod && !pod->status.events.empty() &&
               pod->status.events[0].message.find("0 of 3 free shares") != std::string::npos;
      },
      kPatience));
  ASSERT_OK(kubelet_->RemovePod("pa"));
  EXPECT_TRUE(kubelet_->WaitForPhase("pc", PodPhase::kRunning, kPatience));
}

TEST_F(ClaimsTest, TheSchedulersSharesArePrepared) {
  StartKubelet();
  StartAgent(std::string(kByClaims) + "pools: [{share: {by: memory, size: 4Gi}}]\n");
  ASSERT_TRUE(WaitForDevices(4));
  for (int i = 0; i < 4; ++i) {
    const std::string name = fmt::format("c{}", i);
    ASSERT_OK(Schedule(name, "p" + name, "7Gi"));
    ASSERT_OK(kubelet_->AddPod(PodWith("p" + name, name)));
    ASSERT_TRUE(kubelet_->WaitForPhase("p" + name, PodPhase::kRunning, kPatience)) << name;
  }
  EXPECT_EQ(Prepared(), 4U);
  EXPECT_THAT(Schedule("c4", "pc4", "7Gi"),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("memory: 4Gi of 12Gi left, 8Gi requested")));
}

// Killed at any instant, it gives nothing twice and loses nothing.
TEST_F(ClaimsTest, AKilledAgentGoesOn) {
  StartKubelet();
  StartAgent(kByClaims);
  ASSERT_TRUE(WaitForDevices(4));
  for (int round = 0; round < KillRounds(12); ++round) {
    const std::string name = fmt::format("c{}", round);
    const std::string uid = Allocate(name, "p" + name, {fmt::format("gpu-{}", round % 4)});
    const uint64_t calls = kubelet_->CallCount("NodePrepareResources");
    ASSERT_OK(kubelet_->AddPod(PodWith("p" + name, name)));
    if (round % 3 == 1) {  // during the call, or after it
      ASSERT_TRUE(kubelet_->WaitForCalls("NodePrepareResources", calls + 1, kPatience));
    } else if (round % 3 == 2) {
      ASSERT_TRUE(kubelet_->WaitForPhase("p" + name, PodPhase::kRunning, kPatience));
    }
    agent_.reset();  // SIGKILL
    StartAgent(kByClaims);
    ASSERT_TRUE(kubelet_->WaitForPhase("p" + name, PodPhase::kRunning, kPatience)) << round;
    EXPECT_THAT(Spec(uid), HasSubstr(fmt::format("/dev/nvidia{}", round % 4)));
    ASSERT_OK(kubelet_->RemovePod("p" + name));
    if (round % 2 == 0) {
      agent_.reset();
      StartAgent(kByClaims);
    }
    ASSERT_TRUE(WaitForNode([&] { return Prepared() == 0 && Spec(uid).empty(); })) << round;
  }
  EXPECT_THAT(Devices(), SizeIs(4));
}

TEST_F(ClaimsTest, ADeviceChangesItsWayOnceNoPodHasIt) {
  StartKubelet();
  StartAgent("plugin: {deviceListStrategy: cdi-cri}\n");
  ASSERT_TRUE(
      kubelet_->WaitForResource("nvidia.com/gpu", {.capacity = 4, .allocatable = 4}, kPatience));
  PodSpec old{.name = "old", .uid = "old"};
  old.containers = {{.name = "main", .limits = {{"nvidia.com/gpu", 1}}}};
  ASSERT_OK(kubelet_->AddPod(old));
  ASSERT_TRUE(kubelet_->WaitForPhase("old", PodPhase::kRunning, kPatience));

  host_->dir().WriteFile("config.yaml",
                         fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\n{}", kByClaims));
  ASSERT_TRUE(WaitForDevices(3)) << "all but the one in use";
  EXPECT_EQ(kubelet_->FindPod("old")->status.phase, PodPhase::kRunning);
  EXPECT_EQ(kubelet_->Allocatable("nvidia.com/gpu"), 0);
  const std::vector<std::string> free = Devices();
  (void)Allocate("c", "p", {free[0]});
  ASSERT_OK(kubelet_->AddPod(PodWith("p", "c")));
  ASSERT_TRUE(kubelet_->WaitForPhase("p", PodPhase::kRunning, kPatience));
  ASSERT_OK(kubelet_->RemovePod("old"));
  ASSERT_TRUE(WaitForDevices(4));

  // And back: the claim's GPU stays its own.
  host_->dir().WriteFile("config.yaml",
                         "apiVersion: kgpu.dev/v1\nkind: NodeConfig\nplugin: {deviceListStrategy: "
                         "cdi-cri}\n");
  ASSERT_TRUE(
      kubelet_->WaitForResource("nvidia.com/gpu", {.capacity = 3, .allocatable = 3}, kPatience));
  EXPECT_THAT(Devices(), IsEmpty());
  ASSERT_OK(kubelet_->RemovePod("p"));
  EXPECT_TRUE(
      kubelet_->WaitForResource("nvidia.com/gpu", {.capacity = 4, .allocatable = 4}, kPatience));
}

TEST_F(ClaimsTest, AFaultIsATaintAndTheHealthOfThePod) {
  StartKubelet();
  StartAgent(kByClaims);
  ASSERT_TRUE(WaitForDevices(4));
  (void)Allocate("c", "p", {"gpu-1"});
  ASSERT_OK(kubelet_->AddPod(PodWith("p", "c")));
  ASSERT_TRUE(kubelet_->WaitForPhase("p", PodPhase::kRunning, kPatience));
  const auto health = [&] {
    const auto pod = kubelet_->FindPod("p");
    return pod && !pod->status.containers[0].health.empty()
               ? pod->status.containers[0].health[0].health
               : std::string();
  };
  EXPECT_TRUE(kubelet_->WaitFor([&] { return health() == "Healthy"; }, kPatience));
  host_->Inject("xid", {"1", "48"});
  EXPECT_TRUE(WaitForNode(
      [&] { return Ask("GET", kSlicesPath, "").find("gpu.nvidia.com/xid") != std::string::npos; }));
  EXPECT_TRUE(kubelet_->WaitFor([&] { return health() == "Unhealthy"; }, kPatience));
  EXPECT_EQ(kubelet_->FindPod("p")->status.phase, PodPhase::kRunning) << "pods stay";
}

// It removes the slices of its node, and its pods go on.
TEST_F(ClaimsTest, AKubeletThatStartsAgainFindsAllAgain) {
  StartKubelet();
  StartAgent(kByClaims);
  ASSERT_TRUE(WaitForDevices(4));
  (void)Allocate("a", "pa", {"gpu-0"});
  const std::string gone = Allocate("b", "pb", {"gpu-1"});
  for (const char* name : {"a", "b"}) {
    ASSERT_OK(kubelet_->AddPod(PodWith(fmt::format("p{}", name), name)));
    ASSERT_TRUE(kubelet_->WaitForPhase(fmt::format("p{}", name), PodPhase::kRunning, kPatience));
  }
  kubelet_->Stop();
  ASSERT_OK(kubelet_->RemovePod("pb", /*is_forced=*/true));
  ASSERT_OK(kubelet_->Restart());
  ASSERT_TRUE(WaitForDevices(4)) << "they were wiped";
  EXPECT_TRUE(WaitForNode([&] { return Prepared() == 1 && Spec(gone).empty(); }))
      << "the pod went while no kubelet ran";
  EXPECT_EQ(kubelet_->FindPod("pa")->status.phase, PodPhase::kRunning);
  (void)Allocate("c", "pc", {"gpu-1"});
  ASSERT_OK(kubelet_->AddPod(PodWith("pc", "c")));
  EXPECT_TRUE(kubelet_->WaitForPhase("pc", PodPhase::kRunning, kPatience));
}

// An answer of the driver's registration gets lost: the kubelet asks again.
TEST_F(ClaimsTest, ARegistrationThatBreaksOffIsRepeated) {
  const auto is_registered = [this] {
    const auto plugins = kubelet_->WatchedPlugins();
    return !plugins.empty() && plugins.front().info.name == "gpu.nvidia.com";
  };
  StartKubelet();
  for (const auto& [point, method] :
       {std::pair(kubelet::kGetInfoPoint, "GetInfo"),
        std::pair(kubelet::kNotifyPoint, "NotifyRegistrationStatus")}) {
    kubelet_->ClearCalls();
    kubelet_->Inject(point, {.kind = kubelet::FaultKind::kError, .text = "lost", .times = 2});
    StartAgent(kByClaims);
    ASSERT_TRUE(kubelet_->WaitForCalls(method, 3, kPatience)) << point;
    ASSERT_TRUE(kubelet_->WaitFor(is_registered, kPatience)) << point;
    ASSERT_TRUE(WaitForDevices(4));
    const std::string name(point);
    (void)Allocate(name, "p" + name, {"gpu-1"});
    ASSERT_OK(kubelet_->AddPod(PodWith("p" + name, name)));
    EXPECT_TRUE(kubelet_->WaitForPhase("p" + name, PodPhase::kRunning, kPatience)) << point;
    ASSERT_OK(kubelet_->RemovePod("p" + name));
    ASSERT_TRUE(WaitForNode([&] { return Prepared() == 0; }));
    EXPECT_TRUE(WaitForNode([&] { return Condition() == "True AllVerified"; })) << NodeStatus().out;
    agent_.reset();
  }
}

TEST_F(ClaimsTest, ARestartOfTheAgentChangesNoSlice) {
  StartKubelet();
  StartAgent(kByClaims);
  ASSERT_TRUE(WaitForDevices(4));
  (void)Allocate("a", "pa", {"gpu-0"});
  ASSERT_OK(kubelet_->AddPod(PodWith("pa", "a")));
  ASSERT_TRUE(kubelet_->WaitForPhase("pa", PodPhase::kRunning, kPatience));
  const auto health = [&] {
    const auto pod = kubelet_->FindPod("pa");
    return pod && !pod->status.containers[0].health.empty()
               ? pod->status.containers[0].health[0].health
               : std::string();
  };
  ASSERT_TRUE(kubelet_->WaitFor([&] { return health() == "Healthy"; }, kPatience));
  const std::string slices = Ask("GET", kSlicesPath, "");
  const Result second =
      RunProgram({"kgpu", "agent", "--kubelet-dir", At("kubelet"), "--run-dir", At("run"),
                  "--state-dir", At("state"), "--http-address", "off", "--host-root", At("host"),
                  "--kubeconfig", At("agent-kubeconfig"), "--node", "n1"});
  EXPECT_NE(second.code, 0) << "an update that starts the new agent first";
  EXPECT_THAT(second.err, HasSubstr("another agent is running"));
  EXPECT_EQ(health(), "Healthy") << "the first one goes on";
  agent_.reset();
  EXPECT_TRUE(kubelet_->WaitFor([&] { return health() == "Unknown"; }, kPatience));
  StartAgent(kByClaims);
  ASSERT_TRUE(WaitForNode([&] { return Condition() == "True AllVerified"; })) << NodeStatus().out;
  EXPECT_TRUE(kubelet_->WaitFor([&] { return health() == "Healthy"; }, kPatience));
  const auto items = [](const std::string& list) {
    return json::serialize(doc::Parse(list, doc::Format::kJson, "slices")->at("items"));
  };
  EXPECT_EQ(items(Ask("GET", kSlicesPath, "")), items(slices)) << "not even their versions";
  EXPECT_EQ(Prepared(), 1U);
}

TEST_F(ClaimsTest, ManyPodsShareOneClaim) {
  StartKubelet();
  StartAgent(kByClaims);
  ASSERT_TRUE(WaitForDevices(4));
  constexpr int kPods = 30;
  std::string pods = "p0";
  for (int i = 1; i < kPods; ++i) {
    pods += fmt::format(",p{}", i);
  }
  const std::string uid = Allocate("all", pods, {"gpu-2"});
  for (int i = 0; i < kPods; ++i) {
    ASSERT_OK(kubelet_->AddPod(PodWith(fmt::format("p{}", i), "all")));
  }
  for (int i = 0; i < kPods; ++i) {
    const std::string pod = fmt::format("p{}", i);
    ASSERT_TRUE(kubelet_->WaitForPhase(pod, PodPhase::kRunning, kPatience)) << pod;
    EXPECT_THAT(CdiOf(pod), Contains(fmt::format("kgpu.dev/claim={}-gpu-2", uid)));
  }
  EXPECT_EQ(Prepared(), 1U);
  for (int i = 0; i < kPods; ++i) {
    EXPECT_EQ(Prepared(), 1U) << "while one is left";
    ASSERT_OK(kubelet_->RemovePod(fmt::format("p{}", i)));
  }
  EXPECT_TRUE(WaitForNode([&] { return Prepared() == 0; }));
}

// MIG devices are made for claims.
class PartitionsTest : public ClaimsTest {
 protected:
  std::string Profile() const override { return "8xH100-SXM5-80GB"; }
  void Start() {
    StartKubelet();
    StartAgent(kDynamic);
    ASSERT_TRUE(WaitForDevices(kDevices)) << Devices().size();
  }
  // "0 on: 3g.40gb 1g.10gb" for each GPU in MIG mode, as the driver shows it.
  std::vector<std::string> Layouts() const {
    const Result result =
        RunProgram({"kgpu", "devices", "--host-root", At("host"), "--output", "json"});
    const auto devices = doc::Parse(result.out, doc::Format::kJson, "devices");
    std::vector<std::string> layouts;
    for (const json::value& gpu : devices.ok() ? devices->at("gpus").as_array() : json::array()) {
      std::string text;
      const json::value* mig = gpu.as_object().if_contains("migDevices");
      for (const json::value& device : mig == nullptr ? json::array() : mig->as_array()) {
        text += " " + TextAt(device, {"profile"});
      }
      if (!text.empty()) {
        layouts.push_back(fmt::format("{}:{}", TextAt(gpu, {"index"}), text));
      }
    }
    return layouts;
  }
  // Until the pod with the claim runs, and ends.
  void RunPod(const std::string& pod, const std::string& claim) {
    ASSERT_OK(kubelet_->AddPod(PodWith(pod, claim)));
    ASSERT_TRUE(kubelet_->WaitForPhase(pod, PodPhase::kRunning, kPatience)) << Status();
  }

  static constexpr char kDynamic[] =
      "serve: {by: dra}\nplugin: {deviceListStrategy: cdi-cri}\npools: [{mig: dynamic}]\n";
  static constexpr size_t kDevices = size_t{8} * 26;  // whole, and every placement
};

TEST_F(PartitionsTest, ClaimsShareAGpuByMigAndThenOneHasItWhole) {
  Start();
  const std::string half = Allocate("half", "ph", {"gpu-0-mig-3g40gb-9-4"});
  const std::string small = Allocate("small", "ps", {"gpu-0-mig-1g10gb-19-0"});
  RunPod("ph", "half");
  RunPod("ps", "small");
  EXPECT_THAT(Spec(half), HasSubstr("/dev/nvidia-caps/nvidia-cap"));
  EXPECT_NE(Spec(half), Spec(small));
  EXPECT_THAT(Layouts(), ElementsAre("0: 3g.40gb 1g.10gb"));
  EXPECT_THAT(Devices(), SizeIs(kDevices)) << "the scheduler counts, and needs no new slices";
  EXPECT_TRUE(WaitForUseBy("ph"));

  ASSERT_OK(kubelet_->RemovePod("ph"));
  ASSERT_OK(kubelet_->RemovePod("ps"));
  ASSERT_TRUE(WaitForNode([&] { return Prepared() == 0; }));
  EXPECT_THAT(Layouts(), IsEmpty());
  const std::string whole = Allocate("whole", "pw", {"gpu-0"});
  RunPod("pw", "whole");
  EXPECT_THAT(Spec(whole), HasSubstr("/dev/nvidia0"));
  const Result mig = RunProgram({"kgpu", "mig", "list", "--host-root", At("host")});
  EXPECT_THAT(mig.out, HasSubstr("GPU 0  H100-SXM5-80GB  MIG off"));
}

// As NVIDIA's example gpu-test5 has it: the containers of one claim share its GPU.
TEST_F(PartitionsTest, AClaimHasMpsOfItsOwn) {
  Start();
  const std::string mps =
      Allocate("mps", "pm", {"gpu-1"}, "",
               R"({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 50}})");
  RunPod("pm", "mps");
  EXPECT_THAT(Spec(mps), HasSubstr("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50"));
  // This host's nvidia-smi does not run.
  (void)Allocate("slow", "pt", {"gpu-2"}, "",
                 R"({"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}})");
  ASSERT_OK(kubelet_->AddPod(PodWith("pt", "slow")));
  EXPECT_TRUE(kubelet_->WaitFor(
      [&] {
        const auto pod = kubelet_->FindPod("pt");
        return pod && !pod->status.events.empty() &&
               pod->status.events[0].message.find("nvidia-smi compute-policy") != std::string::npos;
      },
      kPatience));
  ASSERT_OK(kubelet_->RemovePod("pm"));
  ASSERT_OK(kubelet_->RemovePod("pt"));
  EXPECT_TRUE(WaitForNode([&] { return Prepared() == 0; }));
  // The brackets keep the shell itself from matching.
  const std::string daemon = "pgrep -f " + At("host") + "/.*nvidia-cuda-mps-contro[l]";
  EXPECT_TRUE(WaitForNode([&] { return Shell(daemon).code == 1; })) << Shell("ps -ef").text;
}

// Its daemon ends before the device is removed.
TEST_F(PartitionsTest, AMigDeviceHasMpsOfItsOwn) {
  Start();
  const std::string mps = Allocate("mps", "pm", {"gpu-1-mig-3g40gb-9-0"}, "",
                                   R"({"strategy": "MPS", "mpsConfig":
                                       {"defaultPinnedDeviceMemoryLimit": "8Gi"}})");
  RunPod("pm", "mps");
  EXPECT_THAT(Spec(mps), HasSubstr("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8192M"));
  EXPECT_THAT(Spec(mps), HasSubstr("/MIG-"));
  EXPECT_THAT(Layouts(), ElementsAre("1: 3g.40gb"));
  ASSERT_OK(kubelet_->RemovePod("pm"));
  EXPECT_TRUE(WaitForNode([&] { return Prepared() == 0; })) << json::serialize(Status());
  EXPECT_THAT(Layouts(), IsEmpty());
}

// Killed after each step, it makes nothing twice and leaves nothing behind.
TEST_F(PartitionsTest, AKillLeavesNoMigDevice) {
  Start();
  const auto record = [&] { return host_->dir().ReadFile("state/claims.json"); };
  for (int round = 0; round < KillRounds(10); ++round) {
    const std::string name = fmt::format("c{}", round);
    const std::string uid = Allocate(name, "p" + name, {"gpu-3-mig-3g40gb-9-0"});
    const uint64_t prepares = kubelet_->CallCount("NodePrepareResources");
    ASSERT_OK(kubelet_->AddPod(PodWith("p" + name, name)));
    const std::vector<std::function<bool()>> begun = {
        [] { return true; }, [&] { return kubelet_->CallCount("NodePrepareResources") > prepares; },
        [&] { return record().find(uid) != std::string::npos; }, [&] { return !Layouts().empty(); },
        [&] { return !Spec(uid).empty(); }};
    ASSERT_TRUE(WaitForNode(begun[static_cast<size_t>(round) % begun.size()])) << round;
    agent_.reset();  // SIGKILL
    StartAgent(kDynamic);
    ASSERT_TRUE(kubelet_->WaitForPhase("p" + name, PodPhase::kRunning, kPatience)) << round;
    EXPECT_THAT(Layouts(), ElementsAre("3: 3g.40gb")) << round;
    const uint64_t unprepares = kubelet_->CallCount("NodeUnprepareResources");
    ASSERT_OK(kubelet_->RemovePod("p" + name));
    const std::vector<std::function<bool()>> ended = {
        [] { return true; },
        [&] { return kubelet_->CallCount("NodeUnprepareResources") > unprepares; },
        [&] { return Spec(uid).empty(); }, [&] { return Layouts().empty(); }};
    ASSERT_TRUE(WaitForNode(ended[static_cast<size_t>(round) % ended.size()])) << round;
    agent_.reset();
    StartAgent(kDynamic);
    ASSERT_TRUE(WaitForNode([&] { return Prepared() == 0 && Layouts().empty(); }))
        << round << json::serialize(Status());
  }
}

// Of an admin, say. It has no claim, and stays.
TEST_F(PartitionsTest, AMigDeviceOfNobodyIsOfferedAndKept) {
  const Result made = RunProgram({"kgpu", "mig", "apply", "--host-root", At("host"), "--gpu", "2",
                                  "--layout", "4g.40gb", "--yes"});
  ASSERT_EQ(made.code, 0) << made.err;
  StartKubelet();
  StartAgent(kDynamic);
  ASSERT_TRUE(WaitForNode([&] { return Devices().size() > size_t{7} * 26; }));
  EXPECT_THAT(Devices(), Not(Contains("gpu-2")));
  EXPECT_THAT(Devices(), Contains("gpu-2-mig-3g40gb-9-4"));
  (void)Allocate("a", "pa", {"gpu-2-mig-4g40gb-5-0"});
  RunPod("pa", "a");
  ASSERT_OK(kubelet_->RemovePod("pa"));
  ASSERT_TRUE(WaitForNode([&] { return Prepared() == 0; }));
  EXPECT_THAT(Layouts(), ElementsAre("2: 4g.40gb"));
}

TEST_F(PartitionsTest, AMigDeviceOfNobodyGoesWhereThePoolSaysSo) {
  const auto make = [this](const char* gpu) {
    const Result made = RunProgram({"kgpu", "mig", "apply", "--host-root", At("host"), "--gpu", gpu,
                                    "--layout", "4g.40gb", "--yes"});
    ASSERT_EQ(made.code, 0) << made.err;
  };
  make("2");
  make("3");
  StartKubelet();
  StartAgent(kDynamic);
  (void)Allocate("a", "pa", {"gpu-2-mig-4g40gb-5-0"});
  RunPod("pa", "a");
  agent_.reset();
  StartAgent(
      "serve: {by: dra}\nplugin: {deviceListStrategy: cdi-cri}\n"
      "pools: [{mig: dynamic, removeUnclaimed: true}]\n");
  EXPECT_TRUE(WaitForNode([&] { return Layouts() == std::vector<std::string>{"2: 4g.40gb"}; }));
  EXPECT_THAT(Devices(), Not(Contains("gpu-2-mig-4g40gb-5-0"))) << "given to nobody else";
  ASSERT_OK(kubelet_->RemovePod("pa"));
  EXPECT_TRUE(WaitForNode([&] { return Layouts().empty(); }));
  EXPECT_TRUE(WaitForNode([&] { return Devices().size() == kDevices; }));
}

}  // namespace
}  // namespace kgpu::e2e
