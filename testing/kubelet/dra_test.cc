// The kubelet's side of DRA: registration, claims of pods, health, and the wiping of slices.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <podresources_v1.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_clock.h"
#include "testing/kubelet/dra_health.h"
#include "testing/kubelet/dra_state.h"
#include "testing/kubelet/fake_kubelet.h"
#include "testing/kubelet/sample_dra_plugin.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::kubelet {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kDriver = "gpu.example.com";
constexpr const char* kPrepare = "NodePrepareResources";
constexpr const char* kUnprepare = "NodeUnprepareResources";
constexpr milliseconds kShortly{50};  // for what must not happen

struct TestClaim {
  std::string uid;
  std::vector<std::string> pods = {"p"};  // their names
  std::vector<std::string> drivers = {kDriver};
  std::string owner = {};  // a pod's name
  bool is_allocated = true;
};

std::string PodUid(const std::string& pod) {
  return "uid-of-" + pod;
}

std::string ClaimText(const std::string& name, const TestClaim& claim) {
  std::string reserved;
  for (const std::string& pod : claim.pods) {
    reserved += fmt::format(R"({}{{"resource":"pods","name":"{}","uid":"{}"}})",
                            reserved.empty() ? "" : ",", pod, PodUid(pod));
  }
  std::string results;
  for (const std::string& driver : claim.drivers) {
    results += fmt::format(R"({}{{"request":"r","driver":"{}","pool":"node","device":"gpu-0"}})",
                           results.empty() ? "" : ",", driver);
  }
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"default","uid":"{}","ownerReferences":[{}]}},)"
      R"("status":{{"reservedFor":[{}]{}}}}})",
      name, claim.uid,
      claim.owner.empty() ? "" : fmt::format(R"({{"kind":"Pod","uid":"{}"}})", PodUid(claim.owner)),
      reserved,
      claim.is_allocated ? fmt::format(R"(,"allocation":{{"devices":{{"results":[{}]}}}})", results)
                         : "");
}

// The API server of these tests.
class FakeClaims final : public ClaimSource {
 public:
  void Put(const std::string& name, const TestClaim& claim) {
    const std::lock_guard lock(mutex_);
    claims_[name] = ClaimText(name, claim);
  }
  std::vector<std::string> wipes() const {
    const std::lock_guard lock(mutex_);
    return wipes_;
  }

  StatusOr<std::string> GetClaim(const std::string& name_space, const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto found = claims_.find(name);
    if (name_space != "default" || found == claims_.end()) {
      return NotFound("resourceclaims \"{}\" not found", name);
    }
    return found->second;
  }
  void WipeSlices(const std::string& driver) override {
    const std::lock_guard lock(mutex_);
    wipes_.push_back(driver.empty() ? "all" : driver);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> claims_;
  std::vector<std::string> wipes_;
};

Constants FastConstants() {
  Constants constants = Scaled(1.0 / 600);
  constants.claim_limit = milliseconds(400);
  constants.wipe_delay = milliseconds(100);
  constants.health_timeout = std::chrono::hours(1);
  return constants;
}

// A pod of one container that uses all of each claim.
PodSpec ClaimingPod(const std::string& name, const std::vector<std::string>& claims) {
  PodSpec pod;
  pod.name = name;
  pod.uid = PodUid(name);
  pod.restart_policy = RestartPolicy::kNever;
  ContainerSpec& main = pod.containers.emplace_back();
  main.name = "main";
  for (const std::string& claim : claims) {
    pod.claims.push_back({.name = "my-" + claim, .claim = claim});
    main.claim_references.push_back({.claim = "my-" + claim});
  }
  return pod;
}

class DraTest : public ::testing::Test {
 protected:
  explicit DraTest(const Constants& constants = FastConstants())
      : kubelet_({.root = dir_.At("kubelet"), .constants = constants, .claims = &claims_}) {}

  void SetUp() override { ASSERT_OK(kubelet_.Start()); }

  std::string Registry(const std::string& name) const {
    return kubelet_.layout().plugins_registry() + "/" + name;
  }
  std::string Service(const std::string& name) const {
    return kubelet_.layout().plugins() + "/" + name;
  }
  SampleDraPlugin::Options Instance(const std::string& name = "gpu") const {
    return {.registration_path = Registry(name + "-reg.sock"),
            .service_path = Service(name + ".sock")};
  }
  std::unique_ptr<SampleDraPlugin> Registered(const SampleDraPlugin::Options& options,
                                              SampleDraPlugin::Behaviour behaviour = {}) {
    const size_t before = kubelet_.DraPlugins().size();
    auto plugin = std::make_unique<SampleDraPlugin>(options, std::move(behaviour));
    EXPECT_TRUE(kubelet_.WaitFor([&] { return kubelet_.DraPlugins().size() == before + 1; }));
    return plugin;
  }
  std::unique_ptr<SampleDraPlugin> Registered(SampleDraPlugin::Behaviour behaviour = {}) {
    return Registered(Instance(), std::move(behaviour));
  }

  // With an event whose text contains `text`; the pod has not started.
  void ExpectFailure(const std::string& pod, const std::string& text) {
    EXPECT_TRUE(kubelet_.WaitFor([&] { return HasEvent(pod, text); })) << text;
    EXPECT_EQ(StatusOf(pod).phase, PodPhase::kPending);
  }
  bool HasEvent(const std::string& pod, const std::string& text) const {
    const std::optional<Pod> found = kubelet_.FindPod(pod);
    return found && std::ranges::any_of(found->status.events, [&](const PodEvent& event) {
             return event.reason == "FailedPrepareDynamicResources" &&
                    event.message.find(text) != std::string::npos;
           });
  }
  void Run(const PodSpec& pod) {
    ASSERT_OK(kubelet_.AddPod(pod));
    ASSERT_TRUE(kubelet_.WaitForPhase(pod.name, PodPhase::kRunning));
  }
  bool WaitForNoPod(const std::string& name) {
    return kubelet_.WaitFor([&] { return !kubelet_.FindPod(name); });
  }
  PodStatus StatusOf(const std::string& name) const {
    const std::optional<Pod> pod = kubelet_.FindPod(name);
    EXPECT_TRUE(pod.has_value()) << name;
    return pod ? pod->status : PodStatus();
  }
  std::vector<std::string> CdiOf(const std::string& pod, size_t container = 0) const {
    return StatusOf(pod).containers.at(container).options.cdi_devices;
  }
  bool HasCall(const std::string& method, const std::string& text) const {
    return std::ranges::any_of(kubelet_.Calls(), [&](const CallRecord& call) {
      return call.method == method && call.arguments.find(text) != std::string::npos;
    });
  }
  std::vector<ClaimState> State() const {
    const auto state = ParseDraState(kubelet_.DraStateText(), "dra_manager_state");
    EXPECT_OK(state);
    return state.ok() ? *state : std::vector<ClaimState>();
  }
  bool WaitForEmptyState() {
    return kubelet_.WaitFor([&] { return State().empty(); });
  }

  TempDir dir_;
  FakeClaims claims_;
  FakeKubelet kubelet_;
};

class DraRegistrationTest : public DraTest {};
class ClaimTest : public DraTest {};
class UnprepareTest : public DraTest {};
class WipeTest : public DraTest {};

// The order of the plugin's own list decides, not the kubelet's preference.
TEST_F(DraRegistrationTest, TakesTheFirstServiceOfThePluginThatItKnows) {
  SampleDraPlugin::Options options = Instance();
  options.versions = {"v1alpha1.DRAResourceHealth", kDraV1beta1, kDraV1};
  const auto plugin = Registered(options, {.prepare = [](const std::vector<ClaimKey>& claims) {
                                   StatusOr<ClaimReplies> replies =
                                       SampleDraPlugin::OneDevice(claims);
                                   replies->begin()->second.devices.at(0).share_id = "share";
                                   return replies;
                                 }});
  EXPECT_EQ(kubelet_.DraPlugins().at(0).identity.service, kDraV1beta1);
  claims_.Put("c", {.uid = "u"});
  Run(ClaimingPod("p", {"c"}));
  EXPECT_EQ(State().at(0).drivers.at(kDriver).at(0).share_id, std::nullopt);
}

TEST_F(DraRegistrationTest, RefusesPluginsWithoutAServiceThatItKnows) {
  SampleDraPlugin::Options none = Instance("none");
  none.versions = {};
  SampleDraPlugin::Options other = Instance("other");
  other.versions = {"v9.DRAPlugin"};
  const SampleDraPlugin first(none);
  const SampleDraPlugin second(other);
  for (const char* text :
       {"not registered: plugin validation failed: empty list", "v9.DRAPlugin"}) {
    EXPECT_TRUE(kubelet_.WaitFor([&] { return HasCall("NotifyRegistrationStatus", text); }));
  }
  EXPECT_THAT(kubelet_.DraPlugins(), IsEmpty());
}

TEST_F(DraRegistrationTest, TheServiceMayBeOnTheRegistrationSocket) {
  const auto unnamed = Registered({.registration_path = Registry("a.sock"), .driver = "a.example"});
  EXPECT_EQ(kubelet_.DraPlugins().at(0).identity.endpoint, Registry("a.sock"));
  const auto named = Registered({.registration_path = Registry("b.sock"),
                                 .service_path = Registry("b.sock"),
                                 .driver = "b.example"});
  claims_.Put("c", {.uid = "u", .drivers = {"a.example", "b.example"}});
  Run(ClaimingPod("p", {"c"}));
}

TEST_F(DraRegistrationTest, AnEndpointIsRegisteredOnce) {
  const auto plugin = Registered();
  SampleDraPlugin::Options again = Instance();
  again.registration_path = Registry("again.sock");
  again.listens_later = true;
  const SampleDraPlugin second(again);
  EXPECT_TRUE(kubelet_.WaitFor(
      [&] { return HasCall("NotifyRegistrationStatus", "already registered for DRA driver"); }));
  EXPECT_THAT(kubelet_.DraPlugins(), SizeIs(1));
}

TEST_F(DraRegistrationTest, PrefersTheConnectedInstanceThatRegisteredLast) {
  std::atomic<int> old_calls = 0;
  std::atomic<int> new_calls = 0;
  const auto counting = [](std::atomic<int>& calls) {
    return [&calls](const std::vector<ClaimKey>& claims) {
      ++calls;
      return SampleDraPlugin::OneDevice(claims);
    };
  };
  const auto first = Registered(Instance("old"), {.prepare = counting(old_calls)});
  auto second = Registered(Instance("new"), {.prepare = counting(new_calls)});
  claims_.Put("a", {.uid = "ua"});
  claims_.Put("b", {.uid = "ub", .pods = {"q"}});
  claims_.Put("c", {.uid = "uc", .pods = {"r"}});
  Run(ClaimingPod("p", {"a"}));
  EXPECT_EQ(new_calls, 1);
  second->StopService();
  ASSERT_TRUE(kubelet_.WaitFor([&] { return !kubelet_.DraPlugins().at(1).is_connected; }));
  Run(ClaimingPod("q", {"b"}));
  EXPECT_EQ(old_calls, 1);
  second->Listen();
  ASSERT_TRUE(kubelet_.WaitFor([&] { return kubelet_.DraPlugins().at(1).is_connected; }));
  Run(ClaimingPod("r", {"c"}));
  EXPECT_EQ(new_calls, 2);
  second.reset();
  EXPECT_TRUE(kubelet_.WaitFor([&] { return kubelet_.DraPlugins().size() == 1; }));
}

TEST_F(DraRegistrationTest, TheServiceMayListenAfterTheRegistration) {
  SampleDraPlugin::Options options = Instance();
  options.listens_later = true;
  const auto plugin = Registered(options);
  claims_.Put("c", {.uid = "u"});
  ASSERT_OK(kubelet_.AddPod(ClaimingPod("p", {"c"})));
  ExpectFailure("p", "connection error");
  plugin->Listen();
  EXPECT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
}

TEST_F(DraRegistrationTest, OneConnectionServesAllCallsAndALostOneComesBack) {
  const auto plugin = Registered();
  claims_.Put("a", {.uid = "ua"});
  claims_.Put("b", {.uid = "ub", .pods = {"q"}});
  Run(ClaimingPod("p", {"a"}));
  Run(ClaimingPod("q", {"b"}));
  ASSERT_TRUE(kubelet_.WaitForCalls("NodeWatchResourcesResponse", 1));
  EXPECT_EQ(plugin->connections(), 1);
  EXPECT_TRUE(kubelet_.CutPluginConnection(kDriver));
  EXPECT_TRUE(kubelet_.WaitFor([&] { return plugin->connections() == 2; }));
  ASSERT_OK(kubelet_.RemovePod("p"));
  EXPECT_TRUE(WaitForNoPod("p"));
}

// All claims of a pod go in one call, also those that no container refers to.
TEST_F(ClaimTest, PreparesAllClaimsOfADriverAtOnceBeforeAnythingStarts) {
  const auto plugin = Registered({.holds_calls = true});
  claims_.Put("a", {.uid = "ua"});
  claims_.Put("b", {.uid = "ub", .owner = "p"});
  PodSpec pod = ClaimingPod("p", {"a", "b"});
  pod.claims.at(1).is_generated = true;
  pod.containers.at(0).claim_references.pop_back();
  ASSERT_OK(kubelet_.AddPod(pod));
  ASSERT_TRUE(kubelet_.WaitForCalls(kPrepare, 1));
  // Recorded before the call.
  EXPECT_THAT(State(), SizeIs(2));
  EXPECT_THAT(kubelet_.DraStateText(), HasSubstr(R"(\"PodUIDs\":{\"uid-of-p\":{}})"));
  EXPECT_EQ(StatusOf("p").containers.at(0).state, ContainerState::kWaiting);
  plugin->Release();
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
  EXPECT_EQ(kubelet_.CallCount(kPrepare), 1);
  EXPECT_TRUE(HasCall(kPrepare, "default/a ua, default/b ub"));
  EXPECT_THAT(CdiOf("p"), ElementsAre("example.com/gpu=ua"));
  EXPECT_THAT(State().at(1).drivers.at(kDriver), SizeIs(1));
}

// The kubelet compares a reference as it is: a driver that answers "r/sub" covers nothing.
TEST_F(ClaimTest, AContainerGetsTheDevicesOfItsRequests) {
  const auto plugin = Registered({.prepare = [](const std::vector<ClaimKey>&) {
    return ClaimReplies{{"u",
                         {.devices = {{.requests = {"r"}, .cdi_ids = {"v/c=base"}},
                                      {.requests = {"r/sub"}, .cdi_ids = {"v/c=sub"}},
                                      {.requests = {"s"}, .cdi_ids = {"v/c=s1", "v/c=s2"}},
                                      {.requests = {}, .cdi_ids = {"v/c=every"}}}}}};
  }});
  claims_.Put("c", {.uid = "u"});
  PodSpec pod = ClaimingPod("p", {"c"});
  pod.containers.push_back({.name = "r", .claim_references = {{"my-c", "r"}}});
  pod.containers.push_back({.name = "s", .claim_references = {{"my-c", "s"}}});
  pod.containers.push_back({.name = "none"});
  Run(pod);
  EXPECT_THAT(CdiOf("p"), SizeIs(5));
  EXPECT_THAT(CdiOf("p", 1), ElementsAre("v/c=base", "v/c=every"));
  EXPECT_THAT(CdiOf("p", 2), ElementsAre("v/c=s1", "v/c=s2", "v/c=every"));
  EXPECT_THAT(CdiOf("p", 3), IsEmpty());
}

TEST_F(ClaimTest, ChecksClaimsBeforeItCallsADriver) {
  const auto plugin = Registered();
  PodSpec pod = ClaimingPod("p", {"c"});
  pod.claims.at(0).is_generated = true;
  ASSERT_OK(kubelet_.AddPod(pod));
  ExpectFailure("p", "resourceclaims \"c\" not found");
  claims_.Put("c", {.uid = "u"});
  ExpectFailure("p", "was not created for pod p");
  claims_.Put("c", {.uid = "u", .pods = {"q"}, .owner = "p"});
  ExpectFailure("p", "is not allowed to use ResourceClaim c");
  claims_.Put("c", {.uid = "u", .owner = "p", .is_allocated = false});
  ExpectFailure("p", "ResourceClaim c: not allocated");
  claims_.Put("c", {.uid = "u", .drivers = {"net.example.com"}, .owner = "p"});
  ExpectFailure("p", "DRA driver net.example.com is not registered");
  EXPECT_EQ(kubelet_.CallCount(kPrepare), 0);
  EXPECT_EQ(kubelet_.DraStateText(), "");
  claims_.Put("c", {.uid = "u", .owner = "p"});
  EXPECT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
}

TEST_F(ClaimTest, ChecksEveryReply) {
  std::atomic<int> step = 0;
  const auto plugin = Registered(
      {.prepare = [&step](const std::vector<ClaimKey>& claims) -> StatusOr<ClaimReplies> {
        StatusOr<ClaimReplies> replies = SampleDraPlugin::OneDevice(claims);
        switch (step) {
          case 0:
            return Internal("out of order");
          case 1:
            (*replies)["ua"].error = "no such partition";
            return replies;
          case 2:
            replies->erase("ua");
            return replies;
          case 3:
            (*replies)["strange"] = {};
            return replies;
          default:
            return replies;
        }
      }});
  claims_.Put("a", {.uid = "ua"});
  claims_.Put("b", {.uid = "ub"});
  ASSERT_OK(kubelet_.AddPod(ClaimingPod("p", {"a", "b"})));
  for (const char* text : {"NodePrepareResources: rpc error: code = Internal desc = out of order",
                           "NodePrepareResources failed for ResourceClaim a: no such partition",
                           "NodePrepareResources skipped 1 ResourceClaims",
                           "NodePrepareResources returned result for unknown claim UID strange"}) {
    ExpectFailure("p", text);
    ++step;
  }
  EXPECT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
  // A failed round does not count: both claims were sent again.
  EXPECT_EQ(std::ranges::count_if(kubelet_.Calls(),
                                  [](const CallRecord& call) {
                                    return call.method == kPrepare &&
                                           call.arguments.find("ub") == std::string::npos;
                                  }),
            0);
}

TEST_F(ClaimTest, AHangingCallEndsAtTheDeadlineAndIsTriedAgain) {
  const auto plugin = Registered({.holds_calls = true});
  claims_.Put("c", {.uid = "u"});
  ASSERT_OK(kubelet_.AddPod(ClaimingPod("p", {"c"})));
  ExpectFailure("p", "code = DeadlineExceeded");
  plugin->Release();
  EXPECT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
}

TEST_F(ClaimTest, AFailingDriverStopsTheRoundAndBothAreCalledAgain) {
  std::atomic<bool> is_broken = true;
  const auto first = Registered();
  SampleDraPlugin::Options options = Instance("net");
  options.driver = "net.example.com";
  const auto second =
      Registered(options, {.prepare = [&](const std::vector<ClaimKey>& claims) {
                   return is_broken ? Internal("no link") : SampleDraPlugin::OneDevice(claims);
                 }});
  claims_.Put("c", {.uid = "u", .drivers = {kDriver, "net.example.com"}});
  ASSERT_OK(kubelet_.AddPod(ClaimingPod("p", {"c"})));
  ExpectFailure("p", "no link");
  is_broken = false;
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
  EXPECT_THAT(CdiOf("p"), ElementsAre("example.com/gpu=u"));
  ASSERT_OK(kubelet_.RemovePod("p"));
  ASSERT_TRUE(WaitForNoPod("p"));
  EXPECT_EQ(kubelet_.CallCount(kUnprepare), 2);
}

TEST_F(ClaimTest, ASharedClaimIsPreparedOnceAndUnpreparedAfterItsLastPod) {
  const auto plugin = Registered();
  claims_.Put("shared", {.uid = "u", .pods = {"p", "q"}});
  claims_.Put("own", {.uid = "v", .pods = {"q"}});
  Run(ClaimingPod("p", {"shared"}));
  Run(ClaimingPod("q", {"shared", "own"}));
  EXPECT_EQ(kubelet_.CallCount(kPrepare), 2);
  EXPECT_FALSE(HasCall(kPrepare, "default/shared u, "));
  EXPECT_THAT(CdiOf("q"), ElementsAre("example.com/gpu=u", "example.com/gpu=v"));
  ASSERT_OK(kubelet_.ExitContainer("p", "main", 0));
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kSucceeded));
  EXPECT_EQ(kubelet_.CallCount(kUnprepare), 0);
  ASSERT_OK(kubelet_.ExitContainer("q", "main", 1));
  ASSERT_TRUE(kubelet_.WaitForPhase("q", PodPhase::kFailed));
  EXPECT_EQ(kubelet_.CallCount(kUnprepare), 1);
  EXPECT_THAT(State(), IsEmpty());
}

TEST_F(ClaimTest, ARunningPodIsNotPreparedAgainButANewSandboxIs) {
  const auto plugin = Registered();
  claims_.Put("c", {.uid = "u"});
  PodSpec pod = ClaimingPod("p", {"c"});
  pod.restart_policy = RestartPolicy::kAlways;
  Run(pod);
  ASSERT_OK(kubelet_.Restart());
  ASSERT_TRUE(kubelet_.WaitFor([&] { return kubelet_.DraPlugins().size() == 1; }));
  EXPECT_FALSE(kubelet_.WaitForCalls(kPrepare, 2, kShortly));
  kubelet_.Reboot();
  ASSERT_OK(kubelet_.Start());
  EXPECT_TRUE(kubelet_.WaitForCalls(kPrepare, 2));
  EXPECT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
}

TEST_F(ClaimTest, ReferencesMustNameAClaimOfThePod) {
  PodSpec pod = ClaimingPod("p", {"c"});
  pod.containers.at(0).claim_references.at(0).claim = "other";
  EXPECT_THAT(kubelet_.AddPod(pod), StatusIs(StatusCode::kInvalidArgument, HasSubstr("other")));
}

TEST_F(ClaimTest, TheStateFileIsChecked) {
  const std::vector<ClaimState> state = {
      {.key = {"ns", "u", "c"},
       .pods = {"p"},
       .drivers = {{"d", {{.requests = {"r"}, .pool = "n", .device = "g", .share_id = "s"}}}}}};
  std::string text = PrintDraState(state);
  const auto parsed = ParseDraState(text, "file");
  ASSERT_OK(parsed);
  EXPECT_EQ(*parsed, state);
  // The checksum of the kubelet: CRC-32 of the data.
  EXPECT_THAT(PrintDraState({}), HasSubstr(R"("Checksum":2361995144)"));
  text.replace(text.find("ns"), 2, "nx");
  EXPECT_THAT(ParseDraState(text, "file"), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(UnprepareTest, AFailureKeepsThePodFromFinishing) {
  std::atomic<int> step = 0;
  const auto plugin = Registered(
      {.unprepare = [&step](const std::vector<ClaimKey>& claims) -> StatusOr<ClaimReplies> {
        switch (step) {
          case 0:
            return ClaimReplies{{claims.at(0).uid, {.error = "busy"}}};
          case 1:
            return ClaimReplies();
          default:
            return SampleDraPlugin::Nothing(claims);
        }
      }});
  claims_.Put("c", {.uid = "u"});
  Run(ClaimingPod("p", {"c"}));
  ASSERT_OK(kubelet_.ExitContainer("p", "main", 0));
  ASSERT_TRUE(kubelet_.WaitForCalls(kUnprepare, 2));
  step = 1;
  ASSERT_TRUE(kubelet_.WaitForCalls(kUnprepare, kubelet_.CallCount(kUnprepare) + 2));
  EXPECT_EQ(StatusOf("p").phase, PodPhase::kRunning);
  ASSERT_OK(kubelet_.RemovePod("p"));
  ASSERT_TRUE(kubelet_.WaitForCalls(kUnprepare, kubelet_.CallCount(kUnprepare) + 2));
  EXPECT_TRUE(kubelet_.FindPod("p").has_value());
  step = 2;
  EXPECT_TRUE(WaitForNoPod("p"));
  EXPECT_THAT(State(), IsEmpty());
}

TEST_F(UnprepareTest, AnUnregisteredDriverKeepsThePodFromFinishing) {
  auto plugin = Registered();
  claims_.Put("c", {.uid = "u"});
  Run(ClaimingPod("p", {"c"}));
  plugin.reset();
  ASSERT_TRUE(kubelet_.WaitFor([&] { return kubelet_.DraPlugins().empty(); }));
  ASSERT_OK(kubelet_.RemovePod("p"));
  EXPECT_FALSE(kubelet_.WaitFor([&] { return !kubelet_.FindPod("p"); }, kShortly));
  plugin = Registered();
  EXPECT_TRUE(WaitForNoPod("p"));
}

TEST_F(UnprepareTest, WorksFromTheStateFileAfterARestart) {
  std::atomic<bool> is_broken = true;
  const auto plugin = Registered({.unprepare = [&](const std::vector<ClaimKey>& claims) {
    return is_broken ? Internal("busy") : SampleDraPlugin::Nothing(claims);
  }});
  claims_.Put("a", {.uid = "ua"});
  claims_.Put("b", {.uid = "ub", .pods = {"q"}});
  Run(ClaimingPod("p", {"a"}));
  Run(ClaimingPod("q", {"b"}));
  ASSERT_OK(kubelet_.RemovePod("q"));
  ASSERT_TRUE(kubelet_.WaitForCalls(kUnprepare, 1));
  kubelet_.Stop();
  // One has vanished, one is terminating.
  ASSERT_OK(kubelet_.RemovePod("p", true));
  kubelet_.ClearCalls();
  is_broken = false;
  ASSERT_OK(kubelet_.Start());
  EXPECT_TRUE(WaitForNoPod("q"));
  EXPECT_TRUE(WaitForEmptyState());
  EXPECT_TRUE(HasCall(kUnprepare, "default/a ua"));
  EXPECT_EQ(kubelet_.CallCount(kPrepare), 0);
}

TEST_F(UnprepareTest, AHalfPreparedClaimOfADeletedPodIsOnlyUnprepared) {
  const auto plugin = Registered({.holds_calls = true});
  claims_.Put("a", {.uid = "ua"});
  claims_.Put("b", {.uid = "ub", .pods = {"q"}});
  ASSERT_OK(kubelet_.AddPod(ClaimingPod("p", {"a"})));
  ASSERT_OK(kubelet_.AddPod(ClaimingPod("q", {"b"})));
  ASSERT_TRUE(kubelet_.WaitForCalls(kPrepare, 2));
  // Deletion cancels the call.
  ASSERT_OK(kubelet_.RemovePod("p"));
  ASSERT_TRUE(kubelet_.WaitForCalls(kUnprepare, 1));
  kubelet_.Stop();
  ASSERT_OK(kubelet_.RemovePod("q"));
  plugin->Release();
  kubelet_.ClearCalls();
  ASSERT_OK(kubelet_.Start());
  EXPECT_TRUE(WaitForNoPod("p"));
  EXPECT_TRUE(WaitForNoPod("q"));
  EXPECT_EQ(kubelet_.CallCount(kPrepare), 0);
  EXPECT_TRUE(HasCall(kUnprepare, "default/b ub"));
}

TEST_F(UnprepareTest, AClaimOfTheSameNameWaitsForTheOldOne) {
  std::atomic<bool> is_broken = true;
  const auto plugin = Registered({.unprepare = [&](const std::vector<ClaimKey>& claims) {
    return is_broken ? Internal("busy") : SampleDraPlugin::Nothing(claims);
  }});
  claims_.Put("c", {.uid = "old"});
  Run(ClaimingPod("p", {"c"}));
  ASSERT_OK(kubelet_.RemovePod("p", true));
  claims_.Put("c", {.uid = "new", .pods = {"q"}});
  ASSERT_OK(kubelet_.AddPod(ClaimingPod("q", {"c"})));
  ExpectFailure("q", "old ResourceClaim with same name c and different UID old still exists");
  is_broken = false;
  EXPECT_TRUE(kubelet_.WaitForPhase("q", PodPhase::kRunning));
  EXPECT_FALSE(HasCall(kUnprepare, "new"));
}

class DraHealthTest : public DraTest {
 protected:
  // A pod with one device that has a CDI id and one that has none.
  std::unique_ptr<SampleDraPlugin> RunPod(bool reports_health = true) {
    SampleDraPlugin::Options options = Instance();
    options.reports_health = reports_health;
    auto plugin =
        Registered(options, {.prepare = [](const std::vector<ClaimKey>&) {
                     return ClaimReplies{{"u",
                                          {.devices = {{.requests = {"r"},
                                                        .pool = "n",
                                                        .device = "gpu-0",
                                                        .cdi_ids = {"v/c=first", "v/c=second"}},
                                                       {.pool = "n", .device = "gpu-1"}}}}};
                   }});
    claims_.Put("c", {.uid = "u"});
    PodSpec pod = ClaimingPod("p", {"c"});
    pod.containers.at(0).claim_references.at(0).request = "r";
    pod.containers.insert(
        pod.containers.begin(),
        {.name = "init", .kind = ContainerKind::kInit, .claim_references = {{.claim = "my-c"}}});
    Run(pod);
    return plugin;
  }
  bool WaitForHealth(const std::string& first, const std::string& message,
                     const std::string& second) {
    const std::vector<ResourceHealth> expected = {
        {"claim:my-c/r", "v/c=first", first, message},
        {"claim:my-c/r", "gpu.example.com/n/gpu-1", second}};
    return kubelet_.WaitFor([&] { return StatusOf("p").containers.back().health == expected; });
  }
};

// The id is that of CDI where there is one.
TEST_F(DraHealthTest, IsShownInThePodsStatus) {
  const auto plugin = RunPod();
  EXPECT_TRUE(WaitForHealth("Unknown", "", "Unknown"));
  plugin->SetHealth({{.pool = "n", .device = "gpu-0", .health = kHealthy}});
  EXPECT_TRUE(WaitForHealth(kHealthy, "", "Unknown"));
  plugin->SetHealth({{.pool = "n", .device = "gpu-0", .health = kUnhealthy, .message = "Xid 79"},
                     {.pool = "n", .device = "gpu-1", .health = kHealthy}});
  EXPECT_TRUE(WaitForHealth(kUnhealthy, "Xid 79", kHealthy));
  EXPECT_THAT(StatusOf("p").containers.at(0).health, IsEmpty());
}

TEST_F(DraHealthTest, AReportExpires) {
  const auto plugin = RunPod();
  plugin->SetHealth(
      {{.pool = "n", .device = "gpu-0", .health = kHealthy},
       {.pool = "n", .device = "gpu-1", .health = kHealthy, .timeout = std::chrono::seconds(1)}});
  EXPECT_TRUE(WaitForHealth(kHealthy, "", "Unknown"));
}

TEST(DraHealthCacheTest, KnowsWhatChangedAndWhatExpired) {
  FakeClock clock;
  DraHealth health(clock, std::chrono::seconds(30));
  const DraHealth::DeviceName first("n", "gpu-0");
  const DraHealth::DeviceName second("n", "gpu-1");
  const HealthReport healthy{.pool = "n", .device = "gpu-0", .health = kHealthy};
  const HealthReport other{
      .pool = "n", .device = "gpu-1", .health = kHealthy, .timeout = std::chrono::seconds(60)};
  EXPECT_THAT(health.Update("d", {healthy, other}), ElementsAre(first, second));
  EXPECT_THAT(health.Update("d", {healthy, other}), IsEmpty());
  clock.Advance(std::chrono::seconds(31));
  EXPECT_EQ(health.Find("d", first).health, "Unknown");
  EXPECT_EQ(health.Find("d", second).health, kHealthy);
  // A device that is left out changes once it has expired.
  EXPECT_THAT(health.Update("d", {other}), ElementsAre(first));
  HealthReport longest = other;
  longest.message = std::string(2000, 'x');
  EXPECT_THAT(health.Update("d", {longest}), ElementsAre(second));
  EXPECT_EQ(health.Find("d", second).message.size(), 1024);
  health.Forget("d");
  EXPECT_EQ(health.Find("d", second).health, "Unknown");
}

TEST_F(DraHealthTest, TheEndOfTheStreamForgetsAllAndItIsOpenedAgain) {
  const auto plugin = RunPod();
  plugin->SetHealth({{.pool = "n", .device = "gpu-0", .health = kHealthy}});
  EXPECT_TRUE(WaitForHealth(kHealthy, "", "Unknown"));
  plugin->SetHealth({});
  const uint64_t before = kubelet_.CallCount("NodeWatchResources");
  EXPECT_TRUE(kubelet_.DropStream(kDriver));
  EXPECT_TRUE(WaitForHealth("Unknown", "", "Unknown"));
  plugin->EndStreams(Internal("out of order"));
  EXPECT_TRUE(kubelet_.WaitForCalls("NodeWatchResources", before + 2));
}

// Every plugin is asked, whatever it says it offers.
TEST_F(DraHealthTest, APluginWithoutHealthIsAskedAgainAndAgain) {
  const auto plugin = RunPod(false);
  EXPECT_TRUE(kubelet_.WaitForCalls("NodeWatchResources", 3));
  EXPECT_TRUE(std::ranges::any_of(kubelet_.Calls(), [](const CallRecord& call) {
    return call.reply && call.reply->find("Unimplemented") != std::string::npos;
  }));
  EXPECT_TRUE(WaitForHealth("Unknown", "", "Unknown"));
}

TEST_F(ClaimTest, ThePodResourcesApiListsPreparedDevices) {
  const auto plugin = Registered({.prepare = [](const std::vector<ClaimKey>&) {
    return ClaimReplies{
        {"u",
         {.devices = {
              {.pool = "n", .device = "gpu-0", .cdi_ids = {"v/c=0"}},
              {.pool = "n", .device = "gpu-1", .cdi_ids = {"v/c=1"}, .share_id = "share"}}}}};
  }});
  claims_.Put("c", {.uid = "u"});
  Run(ClaimingPod("p", {"c"}));
  const auto stub = v1::PodResourcesLister::NewStub(
      rpc::ChannelOver(sys::ConnectUnix(kubelet_.layout().pod_resources_socket()).value()));
  grpc::ClientContext context;
  v1::ListPodResourcesResponse reply;
  ASSERT_TRUE(stub->List(&context, {}, &reply).ok());
  const auto& resources = reply.pod_resources(0).containers(0).dynamic_resources();
  ASSERT_EQ(resources.size(), 1);
  EXPECT_EQ(resources[0].claim_name(), "c");
  ASSERT_EQ(resources[0].claim_resources_size(), 2);
  const v1::ClaimResource& last = resources[0].claim_resources(1);
  EXPECT_EQ(last.driver_name(), kDriver);
  EXPECT_EQ(last.pool_name(), "n");
  EXPECT_EQ(last.device_name(), "gpu-1");
  EXPECT_EQ(last.share_id(), "share");
  // With those of the devices before it.
  ASSERT_EQ(last.cdi_devices_size(), 2);
  EXPECT_EQ(last.cdi_devices(1).name(), "v/c=1");
}

TEST_F(WipeTest, WipesAllAtTheStartAndADriversSlicesAfterItIsGone) {
  EXPECT_THAT(claims_.wipes(), ElementsAre("all"));
  auto plugin = Registered();
  plugin->StopService();
  // The service is gone although the plugin is still registered.
  EXPECT_TRUE(kubelet_.WaitFor([&] { return claims_.wipes().size() == 2; }));
  EXPECT_THAT(claims_.wipes(), ElementsAre("all", kDriver));
  EXPECT_THAT(kubelet_.DraPlugins(), SizeIs(1));
  plugin->Listen();
  ASSERT_TRUE(kubelet_.WaitFor([&] { return kubelet_.DraPlugins().at(0).is_connected; }));
  plugin.reset();
  EXPECT_TRUE(kubelet_.WaitFor([&] { return claims_.wipes().size() == 3; }));
}

TEST_F(WipeTest, WipesForAPluginThatNeverListens) {
  SampleDraPlugin::Options options = Instance();
  options.listens_later = true;
  const auto plugin = Registered(options);
  EXPECT_TRUE(kubelet_.WaitFor([&] { return claims_.wipes().size() == 2; }));
}

class SlowWipeTest : public DraTest {
 protected:
  static Constants SlowWipe() {
    Constants constants = FastConstants();
    constants.wipe_delay = std::chrono::seconds(1);
    return constants;
  }
  SlowWipeTest() : DraTest(SlowWipe()) {}
};

TEST_F(SlowWipeTest, ADriverThatComesBackInTimeKeepsItsSlices) {
  const auto first = Registered(Instance("old"));
  first->StopService();
  const auto second = Registered(Instance("new"));
  EXPECT_FALSE(kubelet_.WaitFor([&] { return claims_.wipes().size() == 2; }, milliseconds(1100)));
}

}  // namespace
}  // namespace kgpu::kubelet
