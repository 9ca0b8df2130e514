// Failures that Kubernetes' own test-suite provokes, DF-1 to DF-9: what the node shows, and what a
// plugin does about it. Here the plugin is by itself, with GPUs that are made up.
#include "tests/integration/plugin_fixture.h"

namespace kgpu::integration {
namespace {

using plugin::EndpointState;
using plugin::EndpointStatus;
using ::testing::ElementsAre;

class DevicePluginFailures : public PluginFixture {
 protected:
  // A pod of one GPU that runs.
  void RunPod(const std::string& name) {
    ASSERT_OK(kubelet_.AddPod(kubelet::SimplePod(name, kGpus, 1)));
    ASSERT_TRUE(kubelet_.WaitForPhase(name, PodPhase::kRunning, PluginRun::kPatience))
        << kubelet_.FindPod(name)->status.message;
  }
  // What the pod's status says of its one device.
  bool WaitForHealth(const std::string& pod, const std::string& health) const {
    return kubelet_.WaitFor(
        [&] {
          const kubelet::ContainerStatus container = Container(pod);
          return container.health.size() == 1 && container.health[0].resource == kGpus &&
                 container.health[0].health == health;
        },
        PluginRun::kPatience);
  }
  // A kubelet that sees the end of the old stream late disconnects by name what registered
  // meanwhile, and the plugin greets it once more: a third time at most.
  void ExpectRegisteredAgain() const {
    EXPECT_GE(kubelet_.CallCount(GreetingCall()), 2u);
    EXPECT_LE(kubelet_.CallCount(GreetingCall()), 3u);
  }
};

TEST_P(DevicePluginFailures, Df01ARefusedRegistrationIsReportedAndTriedAgain) {
  const std::string text = "failed to get device plugin options: out of order";
  Withhold(text);
  StartPlugin({GpuView(2)});
  if (is_watched()) {
    ASSERT_TRUE(WaitInFolder(Folder(), [&] { return PluginCaller::Connect(Socket()).ok(); }));
    EXPECT_OK(Caller()->NotifyRegistrationStatus(false, text));
  }
  EXPECT_TRUE(plugin_->WaitForStatus(kGpus, [&](const EndpointStatus& status) {
    return status.reason.find(text) != std::string::npos && status.failed_registrations > 0;
  }));
  EXPECT_EQ(kubelet_.CallCount("ListAndWatch"), 0u);
  EXPECT_EQ(kubelet_.Capacity(kGpus), -1);
  kubelet_.ClearFaults();
  EXPECT_TRUE(WaitForGpus(2, 2));
  EXPECT_TRUE(WaitForState(EndpointState::kRegistered));
  EXPECT_EQ(plugin_->StatusOf(kGpus).reason, "");
}

TEST_P(DevicePluginFailures, Df02EachChangeOfHealthIsOneWholeList) {
  StartRegistered(1);
  Show(1, {0});
  EXPECT_TRUE(WaitForGpus(0, 1));
  Show(1);
  EXPECT_TRUE(WaitForGpus(1, 1));
  Show(1);  // nothing new
  Show(1, {0});
  EXPECT_TRUE(WaitForGpus(0, 1));
  std::vector<std::string> lists;
  for (const kubelet::CallRecord& call : CallsOf("ListAndWatchResponse")) {
    lists.push_back(call.arguments);
  }
  const std::string unhealthy = fmt::format("1 devices, 0 healthy {}=Unhealthy", GpuId(0));
  EXPECT_THAT(lists,
              ElementsAre("1 devices, 1 healthy", unhealthy, "1 devices, 1 healthy", unhealthy));
}

TEST_P(DevicePluginFailures, Df03ADeviceThatFailsUnderAPodStaysUnhealthyAfterIt) {
  StartRegistered(1);
  RunPod("p");
  Show(1, {0});
  ASSERT_TRUE(WaitForGpus(0, 1));
  EXPECT_EQ(Container("p").state, kubelet::ContainerState::kRunning);
  EXPECT_EQ(Container("p").restarts, 0);
  ASSERT_OK(kubelet_.RemovePod("p"));
  ASSERT_TRUE(kubelet_.WaitFor([&] { return !kubelet_.FindPod("p"); }, PluginRun::kPatience));
  EXPECT_EQ(kubelet_.Allocatable(kGpus), 0);
  Show(1);
  EXPECT_TRUE(WaitForGpus(1, 1));
}

TEST_P(DevicePluginFailures, Df04AllocatableFollowsEachDevice) {
  StartRegistered(4);
  const struct {
    std::set<size_t> unhealthy;
    int64_t allocatable;
  } kSteps[] = {{{2}, 3}, {{}, 4}, {{0, 3}, 2}, {{3}, 3}, {{}, 4}};
  for (const auto& step : kSteps) {
    Show(4, step.unhealthy);
    EXPECT_TRUE(WaitForGpus(step.allocatable, 4)) << step.allocatable;
  }
}

TEST_P(DevicePluginFailures, Df05AStreamThatEndsAtOnceMeansToRegisterAgain) {
  StartPlugin({GpuView(2)});
  ASSERT_TRUE(kubelet_.WaitForCalls("ListAndWatch", 1, PluginRun::kPatience));
  ASSERT_TRUE(kubelet_.DropStream(kGpus));
  EXPECT_TRUE(kubelet_.WaitForCalls("ListAndWatch", 2, PluginRun::kPatience));
  ExpectLive(2);
  ExpectRegisteredAgain();
  EXPECT_EQ(kubelet_.CallCount("GetDevicePluginOptions"), kubelet_.CallCount(GreetingCall()));
}

// The end came before the plugin saw a beginning.
TEST_P(DevicePluginFailures, Df05ARegistrationThatNoStreamFollowsIsBegunAgain) {
  kubelet_.Inject(kubelet::kRegisterPoint, {.kind = kubelet::FaultKind::kSkip});
  kubelet_.Inject(kubelet::kWatcherPoint, {.kind = kubelet::FaultKind::kSkip});
  plugin::EndpointOptions options = Options();
  options.stream_deadline = milliseconds(50);
  plugin_ = std::make_unique<PluginRun>(GetParam(), options);
  Show(2);
  if (is_watched()) {
    const auto first = plugin::IdentityOf(Socket());
    ASSERT_OK(Caller()->NotifyRegistrationStatus(true, ""));
    EXPECT_TRUE(WaitInFolder(Folder(), [&] {
      const auto now = plugin::IdentityOf(Socket());
      return now && now != first;
    }));
  } else {
    EXPECT_TRUE(kubelet_.WaitForCalls("Register", 2, PluginRun::kPatience));
  }
  kubelet_.ClearFaults();
  EXPECT_TRUE(WaitForGpus(2, 2));
}

TEST_P(DevicePluginFailures, Df06AStreamThatEndsLaterMeansToRegisterAgain) {
  StartRegistered(2);
  ASSERT_TRUE(kubelet_.DropStream(kGpus));
  EXPECT_TRUE(kubelet_.WaitForCalls("ListAndWatch", 2, PluginRun::kPatience));
  ExpectLive(2);
  ExpectRegisteredAgain();
}

TEST_P(DevicePluginFailures, Df06ALostConnectionMeansToRegisterAgain) {
  StartRegistered(2);
  ASSERT_TRUE(kubelet_.CutPluginConnection(kGpus));
  EXPECT_TRUE(kubelet_.WaitForCalls("ListAndWatch", 2, PluginRun::kPatience));
  ExpectLive(2);
}

TEST_P(DevicePluginFailures, Df07AStoppedPluginLeavesNothingBehind) {
  StartRegistered(2);
  plugin_.reset();
  EXPECT_TRUE(WaitForGpus(0, 2));
  EXPECT_FALSE(std::filesystem::exists(Socket()));
  EXPECT_TRUE(WaitForGpus(0, 0));  // the grace period is over
  StartRegistered(2);
}

TEST_P(DevicePluginFailures, Df08ThePodsStatusTellsTheHealthOfItsDevice) {
  StartRegistered(2);
  RunPod("p");
  ASSERT_TRUE(WaitForHealth("p", kubelet::kHealthy));
  const std::string id = Container("p").health[0].id;
  Show(2, {id == GpuId(0) ? size_t{0} : size_t{1}});
  EXPECT_TRUE(WaitForHealth("p", kubelet::kUnhealthy));
  Show(2);
  EXPECT_TRUE(WaitForHealth("p", kubelet::kHealthy));
  EXPECT_EQ(Container("p").restarts, 0);
}

TEST_P(DevicePluginFailures, Df09ThePodsStatusTellsHealthBeforeAnyContainerRan) {
  StartRegistered(1);
  kubelet::PodSpec pod = kubelet::SimplePod("p", kGpus, 1);
  pod.is_image_missing = true;
  ASSERT_OK(kubelet_.AddPod(pod));
  ASSERT_TRUE(kubelet_.WaitFor([&] { return Container("p").reason == "ImagePullBackOff"; },
                               PluginRun::kPatience));
  ASSERT_TRUE(WaitForHealth("p", kubelet::kHealthy));
  Show(1, {0});
  EXPECT_TRUE(WaitForHealth("p", kubelet::kUnhealthy));
}

INSTANTIATE_TEST_SUITE_P(Way, DevicePluginFailures,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         NameOf);

}  // namespace
}  // namespace kgpu::integration
