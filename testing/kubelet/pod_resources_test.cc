// The pod resources API, as a monitoring agent sees it.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <podresources_v1.grpc.pb.h>
#include <podresources_v1alpha1.grpc.pb.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/status_map.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_clock.h"
#include "testing/kubelet/kubelet_fixture.h"
#include "testing/kubelet/rate_limiter.h"

namespace kgpu::kubelet {
namespace {

using ::testing::HasSubstr;

// One connection to the server, as the tests ask it.
class Agent {
 public:
  explicit Agent(const Layout& layout)
      : channel_(rpc::ChannelOver(sys::ConnectUnix(layout.pod_resources_socket()).value())),
        stub_(v1::PodResourcesLister::NewStub(channel_)),
        old_stub_(v1alpha1::PodResourcesLister::NewStub(channel_)) {}

  StatusOr<v1::ListPodResourcesResponse> List() {
    return Ask<v1::ListPodResourcesResponse>([this](grpc::ClientContext* context, auto* reply) {
      return stub_->List(context, {}, reply);
    });
  }
  StatusOr<v1::AllocatableResourcesResponse> Allocatable() {
    return Ask<v1::AllocatableResourcesResponse>([this](grpc::ClientContext* context, auto* reply) {
      return stub_->GetAllocatableResources(context, {}, reply);
    });
  }
  StatusOr<v1::GetPodResourcesResponse> Get(const std::string& name) {
    v1::GetPodResourcesRequest request;
    request.set_pod_name(name);
    request.set_pod_namespace("default");
    return Ask<v1::GetPodResourcesResponse>([&](grpc::ClientContext* context, auto* reply) {
      return stub_->Get(context, request, reply);
    });
  }
  StatusOr<v1alpha1::ListPodResourcesResponse> OldList() {
    return Ask<v1alpha1::ListPodResourcesResponse>(
        [this](grpc::ClientContext* context, auto* reply) {
          return old_stub_->List(context, {}, reply);
        });
  }

 private:
  template <typename Reply, typename F>
  StatusOr<Reply> Ask(F call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    Reply reply;
    const grpc::Status status = call(&context, &reply);
    if (!status.ok()) {
      return rpc::FromGrpc(status);
    }
    return reply;
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PodResourcesLister::Stub> stub_;
  std::unique_ptr<v1alpha1::PodResourcesLister::Stub> old_stub_;
};

// "pod:container=resource/id@node,…" for each container, sorted by pod.
std::vector<std::string> Lines(const StatusOr<v1::ListPodResourcesResponse>& reply) {
  EXPECT_OK(reply);
  std::vector<std::string> lines;
  for (int p = 0; reply.ok() && p < reply->pod_resources_size(); ++p) {
    const v1::PodResources& pod = reply->pod_resources(p);
    for (const v1::ContainerResources& container : pod.containers()) {
      std::string line = fmt::format("{}:{}=", pod.name(), container.name());
      for (const v1::ContainerDevices& devices : container.devices()) {
        EXPECT_EQ(devices.device_ids_size(), 1);
        line += fmt::format("{}/{}@", devices.resource_name(), devices.device_ids(0));
        line += devices.has_topology() ? std::to_string(devices.topology().nodes(0).id()) : "-";
        line += ",";
      }
      lines.push_back(line);
    }
  }
  std::ranges::sort(lines);
  return lines;
}

class PodResourcesTest : public KubeletFixture {
 protected:
  void Run(const PodSpec& pod) {
    ASSERT_OK(kubelet_.AddPod(pod));
    ASSERT_TRUE(kubelet_.WaitForPhase(pod.name, PodPhase::kRunning));
  }
  std::vector<std::string> Listed() const { return Lines(Agent(kubelet_.layout()).List()); }
};

using Texts = std::vector<std::string>;

TEST_F(PodResourcesTest, ANodeWithoutPodsListsNothing) {
  EXPECT_EQ(Listed(), Texts());
}

TEST_F(PodResourcesTest, ListsPodsWithAndWithoutDevices) {
  const auto plugin = Registered(1);
  Run(SimplePod("with", kWidget, 1));
  Run(SimplePod("without", "example.com/else", 0));
  EXPECT_EQ(Listed(), Texts({"with:main=example.com/widget/dev-0@-,", "without:main="}));
}

TEST_F(PodResourcesTest, ListsClaimedDevicesWithTheCdiIdsOfThoseBefore) {
  PodSpec pod = SimplePod("p", "example.com/else", 0);
  pod.containers[0].claims = {{"two", "gpu.nvidia.com", "node", "gpu-0", {"x/y=a"}},
                              {"two", "gpu.nvidia.com", "node", "gpu-1", {"x/y=b"}},
                              {"one", "gpu.nvidia.com", "node", "gpu-2", {"x/y=c"}}};
  Run(pod);
  Agent agent(kubelet_.layout());
  const auto reply = agent.Get("p");
  ASSERT_OK(reply);
  const v1::ContainerResources& main = reply->pod_resources().containers(0);
  ASSERT_EQ(main.dynamic_resources_size(), 2);
  EXPECT_EQ(main.dynamic_resources(0).claim_name(), "two");
  EXPECT_EQ(main.dynamic_resources(0).claim_namespace(), "default");
  ASSERT_EQ(main.dynamic_resources(0).claim_resources_size(), 2);
  EXPECT_EQ(main.dynamic_resources(0).claim_resources(1).device_name(), "gpu-1");
  EXPECT_EQ(main.dynamic_resources(0).claim_resources(1).cdi_devices_size(), 2);
  ASSERT_EQ(main.dynamic_resources(1).claim_resources_size(), 1);
  EXPECT_EQ(main.dynamic_resources(1).claim_resources(0).cdi_devices_size(), 1);
}

TEST_F(PodResourcesTest, ADeviceOfTwoNodesIsListedTwice) {
  const auto plugin = Registered(0);
  plugin->SetDevices({{"d", kHealthy, {0, 1}}});
  ASSERT_TRUE(WaitForWidgets(1, 1));
  Run(SimplePod("p", kWidget, 1));
  EXPECT_EQ(Listed(), Texts({"p:main=example.com/widget/d@0,example.com/widget/d@1,"}));
}

TEST_F(PodResourcesTest, OrdinaryInitContainersAreLeftOutSidecarsComeFirst) {
  const auto plugin = Registered(2);
  PodSpec pod;
  pod.name = "p";
  pod.containers = {{.name = "init", .kind = ContainerKind::kInit, .limits = {{kWidget, 1}}},
                    {.name = "sidecar", .kind = ContainerKind::kSidecar, .limits = {{kWidget, 1}}},
                    {.name = "app", .limits = {{kWidget, 1}}, .exclusive_cpus = {2, 3}}};
  Run(pod);
  Agent agent(kubelet_.layout());
  const auto reply = agent.Get("p");
  ASSERT_OK(reply);
  ASSERT_EQ(reply->pod_resources().containers_size(), 2);
  EXPECT_EQ(reply->pod_resources().containers(0).name(), "sidecar");
  EXPECT_EQ(reply->pod_resources().containers(0).devices_size(), 1);
  EXPECT_EQ(reply->pod_resources().containers(1).cpu_ids_size(), 2);
}

TEST_F(PodResourcesTest, EndedAndRejectedPodsAreAbsent) {
  const auto plugin = Registered(1);
  PodSpec pod = SimplePod("p", kWidget, 1);
  pod.restart_policy = RestartPolicy::kNever;
  Run(pod);
  ASSERT_OK(kubelet_.AddPod(SimplePod("rejected", kWidget, 1)));
  ASSERT_TRUE(kubelet_.WaitForPhase("rejected", PodPhase::kFailed));
  ASSERT_OK(kubelet_.ExitContainer("p", "main", 0));
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kSucceeded));
  EXPECT_EQ(Listed(), Texts());
  Agent agent(kubelet_.layout());
  EXPECT_THAT(agent.Get("p"), StatusIs(static_cast<StatusCode>(2),
                                       HasSubstr("pod p in namespace default not found")));
  const auto old = agent.OldList();
  ASSERT_OK(old);
  EXPECT_EQ(old->pod_resources_size(), 2);
}

TEST_F(PodResourcesTest, AllocatableAreHealthyDevicesOfConnectedPlugins) {
  auto plugin = Registered(2);
  Run(SimplePod("p", kWidget, 1));
  plugin->SetHealth("dev-1", kUnhealthy);
  ASSERT_TRUE(WaitForWidgets(1, 2));
  Agent agent(kubelet_.layout());
  const auto reply = agent.Allocatable();
  ASSERT_OK(reply);
  ASSERT_EQ(reply->devices_size(), 1);
  EXPECT_EQ(reply->devices(0).device_ids(0), "dev-0");
  plugin.reset();
  ASSERT_TRUE(WaitForWidgets(0, 2));
  EXPECT_EQ(agent.Allocatable()->devices_size(), 0);
  EXPECT_EQ(Listed().size(), 1);
}

TEST_F(PodResourcesTest, TheOldListHasOneEntryForEachResource) {
  const auto plugin = Registered(3);
  Run(SimplePod("p", kWidget, 2));
  const auto reply = Agent(kubelet_.layout()).OldList();
  ASSERT_OK(reply);
  ASSERT_EQ(reply->pod_resources(0).containers(0).devices_size(), 1);
  EXPECT_EQ(reply->pod_resources(0).containers(0).devices(0).device_ids_size(), 2);
}

TEST_F(PodResourcesTest, TheListIsTheSameAfterARestart) {
  const auto plugin = Registered(2);
  Run(SimplePod("p", kWidget, 1));
  const Texts before = Listed();
  ASSERT_OK(kubelet_.Restart());
  ASSERT_TRUE(kubelet_.WaitFor([&] { return Listed() == before; }));
}

TEST_F(PodResourcesTest, AnswersFromAScript) {
  v1::ListPodResourcesResponse script;
  v1::PodResources& pod = *script.add_pod_resources();
  pod.set_name("scripted");
  pod.set_namespace_("default");
  v1::DynamicResource& claim = *pod.add_containers()->add_dynamic_resources();
  claim.set_claim_name("claim");
  claim.add_claim_resources()->set_driver_name("gpu.example.com");
  // Larger than what a client takes by default.
  script.add_pod_resources()->set_name(std::string(size_t{6} << 20, 'x'));
  ASSERT_OK(kubelet_.ScriptPodResources(script.SerializeAsString()));
  Agent agent(kubelet_.layout());
  const auto list = agent.List();
  ASSERT_OK(list);
  EXPECT_EQ(list->SerializeAsString(), script.SerializeAsString());
  const auto get = agent.Get("scripted");
  ASSERT_OK(get);
  EXPECT_EQ(get->pod_resources().containers(0).dynamic_resources(0).claim_name(), "claim");
  ASSERT_OK(kubelet_.ScriptPodResources(""));
  EXPECT_EQ(Listed(), Texts());
  EXPECT_THAT(kubelet_.ScriptPodResources("\xff"), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(PodResourcesTest, InjectedFaultsReachTheAgent) {
  Agent agent(kubelet_.layout());
  kubelet_.Inject(kPodResourcesPoint,
                  {.kind = FaultKind::kError, .text = "out of order", .times = 1});
  EXPECT_THAT(agent.List(), StatusIs(static_cast<StatusCode>(2), HasSubstr("out of order")));
  EXPECT_OK(agent.List());
  kubelet_.CutServedConnections();
  EXPECT_THAT(agent.List(), StatusIs(StatusCode::kUnavailable));
  EXPECT_EQ(Listed(), Texts());
}

TEST_F(PodResourcesTest, AHangingCallEndsWithTheKubelet) {
  kubelet_.Inject(kPodResourcesPoint, {.kind = FaultKind::kHang});
  Agent agent(kubelet_.layout());
  Status status;
  std::jthread caller([&] { status = agent.List().status(); });
  ASSERT_TRUE(kubelet_.WaitForCalls("List", 1));
  kubelet_.Stop();
  caller.join();
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable));
}

FakeKubelet::Options OneRequestASecond() {
  FakeKubelet::Options options;
  options.constants.requests_per_second = 1;
  return options;
}

class LimitedPodResourcesTest : public KubeletFixture {
 protected:
  LimitedPodResourcesTest() : KubeletFixture(OneRequestASecond()) {}
};

TEST_F(LimitedPodResourcesTest, TooManyRequestsOfAnyKindAreTurnedAway) {
  Agent agent(kubelet_.layout());
  EXPECT_OK(agent.List());
  Status last;
  for (int i = 0; i < 200 && last.ok(); ++i) {
    last = i % 2 == 0 ? agent.Allocatable().status() : agent.OldList().status();
  }
  EXPECT_THAT(last, StatusIs(StatusCode::kResourceExhausted, HasSubstr("rejected by rate limit")));
}

TEST(RateLimiterTest, LetsABurstThroughThenSoManyASecond) {
  FakeClock clock;
  RateLimiter limiter(clock, 100, 10);
  int taken = 0;
  while (limiter.Take()) {
    ++taken;
  }
  EXPECT_EQ(taken, 10);
  clock.Advance(std::chrono::milliseconds(10));
  EXPECT_TRUE(limiter.Take());
  EXPECT_FALSE(limiter.Take());
  clock.Advance(std::chrono::hours(1));
  taken = 0;
  while (limiter.Take()) {
    ++taken;
  }
  EXPECT_EQ(taken, 10);
}

}  // namespace
}  // namespace kgpu::kubelet
