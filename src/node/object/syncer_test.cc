#include "src/node/object/syncer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <boost/json.hpp>
#include <memory>

#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "src/node/object/test_facts.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::node {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kNodePath[] = "/api/v1/nodes/n1";

// A syncer with a client of its own on the stub API server, in simulated time.
class SyncerTest : public ::testing::Test {
 protected:
  SyncerTest() {
    Do("POST", "/api/v1/nodes",
       {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "n1"}}}});
    Kubelet("8");
    claims_.labels = {{"nvidia.com/gpu.count", "8"},
                      {"feature.node.kubernetes.io/cpu-model.id", "85"}};
    claims_.annotations = {{"kgpu.dev/gpu-uuids", "GPU-1"}};
  }

  void Do(std::string_view method, std::string_view target, const json::value& body) {
    const auto done = api_.Do(method, target, body);
    ASSERT_TRUE(done.ok()) << done.status();
  }
  // What the kubelet reports of the plugin's devices.
  void Kubelet(const std::string& count) {
    Do("PATCH", "/api/v1/nodes/n1/status",
       {{"status",
         {{"capacity", {{"nvidia.com/gpu", count}}},
          {"allocatable", {{"nvidia.com/gpu", count}}}}}});
  }
  void Start(const std::set<Owner>& reported = {}) {
    SyncerOptions options;
    options.reported = reported;
    options.node = "n1";
    options.gate = {.sets_taint = true, .booted = loop_.clock().WallNow()};
    syncer_ = std::make_unique<Syncer>(
        loop_, client_, random_, options,
        Syncer::Handlers{
            .notify = [this](const NodeEvent& event) { reported_.push_back(event.reason); },
            .changed = [] {}});
    syncer_->SetFacts(ReadyFacts());
    syncer_->SetClaims(claims_);
  }
  void Settle() {
    Start();
    loop_.Advance(minutes(1));
  }
  json::object Node() const {
    const apiserver::StoredPtr stored = api_.Find(kNodePath);
    return stored == nullptr ? json::object() : stored->object();
  }
  std::string Label(std::string_view key) const {
    const json::object node = Node();
    const json::value* labels = node.at("metadata").as_object().if_contains("labels");
    if (labels == nullptr || !labels->as_object().contains(key)) {
      return "";
    }
    return labels->as_object().at(key).as_string().c_str();
  }
  std::string Seen() const {
    const auto node = ReadNode(Node());
    const std::optional<SeenCondition> condition = node.ok() ? node->gpu_ready : std::nullopt;
    return condition ? condition->status : "none";
  }
  std::string Health() const {
    const auto node = ReadNode(Node());
    const std::optional<SeenCondition> condition = node.ok() ? node->gpu_healthy : std::nullopt;
    return condition ? condition->status + "/" + condition->reason : "none";
  }
  bool HasTaint(std::string_view key) const {
    const auto node = ReadNode(Node());
    return node.ok() && std::ranges::any_of(node->taints, [key](const SeenTaint& seen) {
             return seen.taint.key == key;
           });
  }
  uint64_t Writes() {
    return api_.counters().Sum("patch").requests + api_.counters().Sum("apply").requests;
  }
  void LabelByHand(const std::string& key, const json::value& value,
                   const std::string& manager = "kubectl-label") {
    Do("PATCH", fmt::format("{}?fieldManager={}", kNodePath, manager),
       {{"metadata", {{"labels", {{key, value}}}}}});
  }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_};
  kube::TestAuthenticator authenticator_;
  Random random_{7};
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
  labels::NodeClaims claims_;
  std::vector<std::string> reported_;
  std::unique_ptr<Syncer> syncer_;
};

TEST_F(SyncerTest, BringsTheNodeToWhatItShouldBe) {
  Do("PATCH", kNodePath,
     {{"spec",
       {{"taints",
         {{{"key", "kgpu.dev/not-ready"}, {"effect", "NoSchedule"}},
          {{"key", "maintenance"}, {"effect", "NoExecute"}}}}}}});
  Settle();
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
  EXPECT_EQ(Seen(), "True");
  EXPECT_FALSE(HasTaint("kgpu.dev/not-ready"));
  EXPECT_TRUE(HasTaint("maintenance"));
  EXPECT_THAT(reported_, Contains("GPUReady"));
}

TEST_F(SyncerTest, SaysThatAGpuIsUnhealthyBesideThatTheNodeIsReady) {
  Settle();
  device::Snapshot snapshot;
  snapshot.version = 1;
  snapshot.driver.state = device::DriverState::kReady;
  snapshot.gpus.emplace_back().health = {false, "Xid79", "Restart the host."};
  syncer_->SetSnapshot(std::make_shared<const device::Snapshot>(snapshot));
  loop_.Advance(seconds(1));
  EXPECT_EQ(Health(), "False/Xid79");
  EXPECT_EQ(Seen(), "True");
  const uint64_t writes = Writes();
  snapshot.gpus[0].health = {};
  syncer_->SetSnapshot(std::make_shared<const device::Snapshot>(snapshot));
  loop_.Advance(minutes(10));
  EXPECT_EQ(Health(), "True/AllHealthy");
  EXPECT_EQ(Writes(), writes + 1);
}

TEST_F(SyncerTest, WritesNothingInAQuietDay) {
  Settle();
  api_.counters().Reset();
  loop_.Advance(hours(24));
  EXPECT_EQ(Writes(), 0U);
  // The watch is opened again every 5 to 10 minutes, and nothing else is asked.
  EXPECT_LE(api_.counters().Sum().requests, 24U * 12);
}

TEST_F(SyncerTest, ARestartWritesNothing) {
  Settle();
  api_.counters().Reset();
  for (int i = 0; i < 10; ++i) {
    syncer_.reset();
    Settle();
  }
  EXPECT_EQ(Writes(), 0U);
}

TEST_F(SyncerTest, AnAgentThatKnowsNothingYetTakesNothingAway) {
  Settle();
  syncer_.reset();
  claims_ = {};
  SyncerOptions options;
  options.node = "n1";
  Syncer syncer(loop_, client_, random_, options,
                {.notify = [](const NodeEvent&) {}, .changed = [] {}});
  loop_.Advance(hours(1));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
  EXPECT_EQ(Seen(), "True");
}

TEST_F(SyncerTest, PutsBackWhatIsTakenAway) {
  Settle();
  LabelByHand("nvidia.com/gpu.count", nullptr);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
}

TEST_F(SyncerTest, LeavesAKeyToWhoSetItLast) {
  Settle();
  LabelByHand("nvidia.com/gpu.count", "4");
  api_.counters().Reset();
  loop_.Advance(hours(1));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "4");
  EXPECT_EQ(Writes(), 0U);
  EXPECT_EQ(syncer_->report().writer.skipped.size(), 1U);
}

TEST_F(SyncerTest, ALossSetsTheTaintAndARecoveryLiftsIt) {
  Settle();
  ChainFacts facts = ReadyFacts();
  facts.driver = device::DriverState::kUnresponsive;
  syncer_->SetFacts(facts);
  loop_.Advance(seconds(6));
  EXPECT_EQ(Seen(), "False");
  EXPECT_TRUE(HasTaint("kgpu.dev/not-ready"));
  syncer_->SetFacts(ReadyFacts());
  loop_.Advance(seconds(12));
  EXPECT_EQ(Seen(), "True");
  EXPECT_FALSE(HasTaint("kgpu.dev/not-ready"));
}

TEST_F(SyncerTest, OutlivesAServerThatIsAway) {
  Settle();
  api_.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = seconds(1000)});
  loop_.Advance(seconds(10));
  api_.counters().Reset();
  claims_.labels["nvidia.com/gpu.count"] = "7";
  syncer_->SetClaims(claims_);
  loop_.Advance(seconds(980));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
  // Tries, but no hot loop: at most as often as twice a back-off of 30 s.
  EXPECT_LE(api_.counters().Sum().requests, 200U);
  loop_.Advance(minutes(1));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "7");
}

TEST_F(SyncerTest, TellsOfNoProblemOnceTheWatchIsBack) {
  Settle();
  api_.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = seconds(60)});
  api_.CutWatches();
  loop_.Advance(seconds(50));
  EXPECT_THAT(syncer_->report().api_problem, HasSubstr("API server"));
  loop_.Advance(minutes(1));
  EXPECT_EQ(syncer_->report().api_problem, "");
}

TEST_F(SyncerTest, AFaultWhileTheServerIsAwayDoesNotCloseTheGate) {
  Settle();
  api_.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = seconds(140)});
  api_.CutWatches();
  loop_.Advance(seconds(5));
  ChainFacts facts = ReadyFacts();
  facts.resources[0].allocatable = 7;
  syncer_->SetFacts(facts);
  loop_.Advance(seconds(160));  // the kubelet reports the new count some seconds after the outage
  EXPECT_EQ(Seen(), "True");
  Kubelet("7");
  loop_.Advance(minutes(5));
  EXPECT_EQ(Seen(), "True");
  EXPECT_THAT(reported_, Not(Contains("GPUNotReady")));
}

TEST_F(SyncerTest, StillMissesTheNodeOnceTheWatchIsBack) {
  Do("DELETE", kNodePath, nullptr);
  Settle();
  api_.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = seconds(60)});
  api_.CutWatches();
  loop_.Advance(minutes(2));
  EXPECT_THAT(syncer_->report().api_problem, HasSubstr("node n1: not found"));
}

TEST_F(SyncerTest, OutlivesAStormOfForgottenVersions) {
  Settle();
  api_.counters().Reset();
  api_.faults().Add({.kind = apiserver::FaultKind::kWatchError,
                     .verb = "watch",
                     .code = 410,
                     .lasts_for = minutes(10)});
  api_.CutWatches();
  loop_.Advance(minutes(10));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
  EXPECT_EQ(Writes(), 0U);
  EXPECT_LE(api_.counters().Sum().requests, 300U);
  LabelByHand("nvidia.com/gpu.count", nullptr);
  loop_.Advance(minutes(1));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
}

TEST_F(SyncerTest, OutlivesAStormOfTooManyRequests) {
  Settle();
  api_.counters().Reset();
  api_.faults().Add({.kind = apiserver::FaultKind::kAnswer,
                     .code = 429,
                     .retry_after = seconds(2),
                     .lasts_for = minutes(10)});
  claims_.labels["nvidia.com/gpu.count"] = "7";
  syncer_->SetClaims(claims_);
  loop_.Advance(minutes(10));
  EXPECT_LE(api_.counters().Sum().requests, 400U);
  loop_.Advance(minutes(6));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "7");
}

TEST_F(SyncerTest, DoesNotFightAnOwnerThatTakesEverythingBack) {
  Settle();
  api_.counters().Reset();
  for (int second = 0; second < 3600; ++second) {
    if (!Label("nvidia.com/gpu.count").empty()) {
      LabelByHand("nvidia.com/gpu.count", nullptr, "somebody");
    }
    loop_.Advance(seconds(1));
  }
  EXPECT_LE(Writes(), 16U);
}

TEST_F(SyncerTest, MemoryStaysFlatWhileEverythingGoesWrong) {
  Settle();
  size_t after_first = 0;
  for (int hour = 0; hour < 10; ++hour) {
    api_.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = seconds(1000)});
    claims_.labels["nvidia.com/gpu.count"] = std::to_string(hour);
    syncer_->SetClaims(claims_);
    loop_.Advance(minutes(20));
    api_.faults().Add({.kind = apiserver::FaultKind::kWatchError,
                       .verb = "watch",
                       .code = 410,
                       .lasts_for = minutes(10)});
    api_.CutWatches();
    loop_.Advance(minutes(20));
    api_.faults().Add({.kind = apiserver::FaultKind::kAnswer,
                       .code = 429,
                       .retry_after = seconds(1),
                       .lasts_for = minutes(10)});
    LabelByHand("nvidia.com/gpu.count", nullptr, "somebody");
    loop_.Advance(minutes(20));
    EXPECT_EQ(Label("nvidia.com/gpu.count"), std::to_string(hour));
    api_.Compact();  // what the server remembers is not ours
    after_first = hour == 1 ? mallinfo2().uordblks : after_first;
  }
  // The stub's own logs grow a little in an hour.
  EXPECT_LE(mallinfo2().uordblks, after_first + (size_t{64} << 10));
}

class SyncerOwnersTest : public SyncerTest {
 protected:
  // NFD as it is found: its master's labels and annotation, and a worker's pod.
  void InstallNfd() {
    LabelAsNfd();
    StartWorker();
  }
  void LabelAsNfd() {
    LabelByHand("feature.node.kubernetes.io/cpu-model.id", "1", "nfd-master");
    Do("PATCH", fmt::format("{}?fieldManager=nfd-master", kNodePath),
       {{"metadata",
         {{"annotations", {{"nfd.node.kubernetes.io/feature-labels", "cpu-model.id"}}}}}});
  }
  void StartWorker() {
    Do("POST", "/api/v1/namespaces/default/pods",
       {{"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata",
         {{"name", "nfd-worker-1"},
          {"namespace", "default"},
          {"labels", {{"app.kubernetes.io/name", "node-feature-discovery"}, {"role", "worker"}}}}},
        {"spec",
         {{"nodeName", "n1"}, {"containers", {{{"name", "worker"}, {"image", "nfd:1"}}}}}}});
  }
  void StopWorker() { Do("DELETE", "/api/v1/namespaces/default/pods/nfd-worker-1", nullptr); }
  void AwaitScan() {
    const uint64_t before = api_.counters().Sum("list", "pods").requests;
    for (int i = 0; i < 3600 && api_.counters().Sum("list", "pods").requests == before; ++i) {
      loop_.Advance(seconds(1));
    }
  }
  void Annotate(std::string_view key, const json::value& value) {
    Do("PATCH", fmt::format("{}?fieldManager=kgpu-verb", kNodePath),
       {{"metadata", {{"annotations", {{key, value}}}}}});
  }
};

TEST_F(SyncerOwnersTest, StandsBackFromWhoWasHereFirst) {
  InstallNfd();
  Settle();
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-model.id"), "1");
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
  EXPECT_THAT(reported_, Contains("StandingBack"));
}

TEST_F(SyncerOwnersTest, DoesNotReportAgainWhatAnEarlierOneReported) {
  InstallNfd();
  Settle();
  const std::set<Owner> reported = syncer_->reported();
  reported_.clear();
  syncer_.reset();
  Start(reported);
  syncer_->SetHostMarks({}, false);
  loop_.Advance(minutes(5));
  EXPECT_THAT(reported_, Not(Contains("StandingBack")));
  EXPECT_THAT(reported_, Not(Contains("OwnerGone")));
  StopWorker();
  loop_.Advance(minutes(15));
  EXPECT_THAT(reported_, Contains("OwnerGone"));
}

TEST_F(SyncerOwnersTest, TakesOverWhenAsked) {
  InstallNfd();
  Settle();
  Annotate("kgpu.dev/adopted", "nfd");
  loop_.Advance(seconds(1));
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-model.id"), "85");
  EXPECT_THAT(reported_, Contains("TakenOver"));
}

TEST_F(SyncerOwnersTest, SetsWhatAnOwnerTookAlong) {
  InstallNfd();
  Settle();
  StopWorker();
  LabelByHand("feature.node.kubernetes.io/cpu-model.id", nullptr, "nfd-master");
  loop_.Advance(minutes(15));
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-model.id"), "85");
  EXPECT_THAT(reported_, Contains("OwnerGone"));
}

TEST_F(SyncerOwnersTest, AnOwnerThatIsUpdatedIsNotGone) {
  claims_.labels["feature.node.kubernetes.io/cpu-cpuid.AVX2"] = "true";
  InstallNfd();
  Settle();
  for (int i = 0; i < 3; ++i) {
    StopWorker();
    AwaitScan();
    loop_.Advance(seconds(20));
    StartWorker();
    loop_.Advance(minutes(30));
  }
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-cpuid.AVX2"), "");
  EXPECT_THAT(reported_, Not(Contains("OwnerGone")));
}

TEST_F(SyncerOwnersTest, AnOwnerThatIsUpdatedWhileTheAgentStartsIsNotGone) {
  claims_.labels["feature.node.kubernetes.io/cpu-cpuid.AVX2"] = "true";
  LabelAsNfd();
  Start();
  AwaitScan();
  loop_.Advance(seconds(20));
  StartWorker();
  loop_.Advance(minutes(30));
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-cpuid.AVX2"), "");
  EXPECT_THAT(reported_, Contains("StandingBack"));
}

TEST_F(SyncerOwnersTest, MarksOfAnOwnerThatLeftLongAgoHoldLabelsBackForTwoMinutesAtMost) {
  claims_.labels["feature.node.kubernetes.io/cpu-cpuid.AVX2"] = "true";
  LabelAsNfd();
  Start();
  loop_.Advance(seconds(140));
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-cpuid.AVX2"), "true");
  EXPECT_THAT(reported_, Not(Contains("StandingBack")));
}

TEST_F(SyncerOwnersTest, LeavesWhatAnOwnerLeftBehind) {
  InstallNfd();
  Settle();
  StopWorker();
  loop_.Advance(minutes(15));
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-model.id"), "1");
}

TEST_F(SyncerOwnersTest, IsNotPushedOutByWhoComesLater) {
  Settle();
  InstallNfd();
  loop_.Advance(minutes(1));
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
  // The key that NFD set to another value is NFD's now.
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-model.id"), "1");
  api_.counters().Reset();
  loop_.Advance(hours(1));
  EXPECT_EQ(Writes(), 0U);
}

TEST_F(SyncerOwnersTest, ReleasesWhenAsked) {
  Settle();
  Annotate("kgpu.dev/released", "nfd");
  loop_.Advance(seconds(1));
  EXPECT_EQ(Label("feature.node.kubernetes.io/cpu-model.id"), "");
  EXPECT_EQ(Label("nvidia.com/gpu.count"), "8");
}

TEST_F(SyncerTest, ListsNoPodsWhereNothingTellsOfOthers) {
  Settle();
  loop_.Advance(hours(2));
  EXPECT_EQ(api_.counters().Sum("list", "pods").requests, 0U);
}

}  // namespace
}  // namespace kgpu::node
