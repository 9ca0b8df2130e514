// Pods that get devices: admission, reuse, restarts, the checkpoint.
#include <algorithm>

#include "testing/kubelet/checkpoint.h"
#include "testing/kubelet/kubelet_fixture.h"

namespace kgpu::kubelet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Ids = std::vector<std::string>;

ContainerSpec Wants(const std::string& name, ContainerKind kind, int64_t count) {
  return {.name = name, .kind = kind, .limits = {{kWidget, count}}};
}

class AdmissionTest : public KubeletFixture {
 protected:
  AdmissionTest() = default;
  using KubeletFixture::KubeletFixture;

  void Run(const PodSpec& pod) {
    ASSERT_OK(kubelet_.AddPod(pod));
    ASSERT_TRUE(kubelet_.WaitForPhase(pod.name, PodPhase::kRunning))
        << kubelet_.FindPod(pod.name)->status.message;
  }
  void Reject(const PodSpec& pod, const std::string& message) {
    ASSERT_OK(kubelet_.AddPod(pod));
    ASSERT_TRUE(kubelet_.WaitForPhase(pod.name, PodPhase::kFailed));
    EXPECT_EQ(kubelet_.FindPod(pod.name)->status.reason, "UnexpectedAdmissionError");
    EXPECT_THAT(kubelet_.FindPod(pod.name)->status.message, HasSubstr(message));
  }
};

TEST_F(AdmissionTest, APodGetsExactlyWhatThePluginAnswered) {
  const auto plugin = Registered(2, {.allocate = [](const Ids& ids) -> StatusOr<ContainerOptions> {
                                   ContainerOptions options;
                                   options.envs["WIDGET"] = ids.at(0);
                                   options.cdi_devices = {"example.com/widget=" + ids.at(0)};
                                   return options;
                                 }});
  Run(SimplePod("p", kWidget, 1));
  const ContainerStatus container = Container("p");
  ASSERT_THAT(container.devices.at(kWidget), SizeIs(1));
  const std::string id = *container.devices.at(kWidget).begin();
  EXPECT_EQ(container.options.envs.at("WIDGET"), id);
  EXPECT_THAT(container.options.cdi_devices, ElementsAre("example.com/widget=" + id));
}

TEST_F(AdmissionTest, TooManyDevicesAreAnError) {
  const auto plugin = Registered(2);
  Run(SimplePod("first", kWidget, 1));
  Reject(SimplePod("second", kWidget, 2), "2 more devices of example.com/widget needed, 1");
}

TEST_F(AdmissionTest, DevicesOfAnEndedPodAreFree) {
  const auto plugin = Registered(2);
  PodSpec pod = SimplePod("first", kWidget, 2);
  pod.restart_policy = RestartPolicy::kNever;
  Run(pod);
  ASSERT_OK(kubelet_.ExitContainer("first", "main", 0));
  ASSERT_TRUE(kubelet_.WaitForPhase("first", PodPhase::kSucceeded));
  Run(SimplePod("second", kWidget, 2));
}

TEST_F(AdmissionTest, DevicesOfADeletedPodAreFree) {
  const auto plugin = Registered(2);
  Run(SimplePod("first", kWidget, 2));
  ASSERT_OK(kubelet_.RemovePod("first"));
  ASSERT_TRUE(kubelet_.WaitFor([&] { return !kubelet_.FindPod("first"); }));
  Run(SimplePod("second", kWidget, 2));
}

TEST_F(AdmissionTest, AResourceNobodyEverRegisteredIsNotTheKubeletsBusiness) {
  Run(SimplePod("p", kWidget, 1));
  EXPECT_THAT(Container("p").devices, IsEmpty());
}

TEST_F(AdmissionTest, InitContainersHandTheirDevicesOnSidecarsKeepTheirs) {
  const auto plugin = Registered(2);
  PodSpec pod;
  pod.name = "p";
  pod.containers = {Wants("init", ContainerKind::kInit, 1),
                    Wants("sidecar", ContainerKind::kSidecar, 1),
                    Wants("app", ContainerKind::kApp, 1)};
  Run(pod);
  EXPECT_EQ(IdsOf("p", "init"), IdsOf("p", "sidecar"));
  EXPECT_NE(IdsOf("p", "sidecar"), IdsOf("p", "app"));
  EXPECT_EQ(kubelet_.CallCount("Allocate"), 3);
}

TEST_F(AdmissionTest, TwoInitContainersAndTheAppShareDevices) {
  const auto plugin = Registered(2);
  PodSpec pod;
  pod.name = "p";
  pod.containers = {Wants("a", ContainerKind::kInit, 1), Wants("b", ContainerKind::kInit, 2),
                    Wants("app", ContainerKind::kApp, 2)};
  Run(pod);
  EXPECT_THAT(IdsOf("p", "b"), ::testing::Contains(*IdsOf("p", "a").begin()));
  EXPECT_EQ(IdsOf("p", "b"), IdsOf("p", "app"));
}

TEST_F(AdmissionTest, ThePreferredDevicesAreTakenAsASet) {
  std::vector<PreferredRequest> asked;
  const auto plugin =
      Registered(4, {.prefer = [&](const PreferredRequest& request) -> StatusOr<Ids> {
                   asked.push_back(request);
                   return Ids{"dev-3", "dev-1", "unknown", "dev-3"};
                 }},
                 {.has_preferred_allocation = true});
  Run(SimplePod("p", kWidget, 2));
  EXPECT_THAT(IdsOf("p"), UnorderedElementsAre("dev-1", "dev-3"));
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_THAT(asked[0].available, SizeIs(4));
  EXPECT_THAT(asked[0].must_include, IsEmpty());
  EXPECT_EQ(asked[0].size, 2);
}

TEST_F(AdmissionTest, ReusedDevicesMustBeIncludedInThePreference) {
  PreferredRequest last;
  const auto plugin =
      Registered(4, {.prefer = [&](const PreferredRequest& request) -> StatusOr<Ids> {
                   last = request;
                   return Ids{};
                 }},
                 {.has_preferred_allocation = true});
  PodSpec pod;
  pod.name = "p";
  pod.containers = {Wants("init", ContainerKind::kInit, 1), Wants("app", ContainerKind::kApp, 2)};
  Run(pod);
  EXPECT_THAT(last.must_include, ElementsAre(*IdsOf("p", "init").begin()));
  EXPECT_THAT(last.available, SizeIs(4));
  EXPECT_EQ(last.size, 2);
}

TEST_F(AdmissionTest, AFailingPreferenceRejectsThePod) {
  const auto plugin = Registered(
      2, {.prefer = [](const PreferredRequest&) -> StatusOr<Ids> { return Internal("no idea"); }},
      {.has_preferred_allocation = true});
  Reject(SimplePod("p", kWidget, 1), "no idea");
  EXPECT_EQ(kubelet_.CallCount("Allocate"), 0);
}

TEST_F(AdmissionTest, AFailingAllocateRejectsThePodAndFreesItsDevices) {
  bool is_broken = true;
  const auto plugin =
      Registered(2, {.allocate = [&](const Ids&) -> StatusOr<ContainerOptions> {
                   return is_broken ? StatusOr<ContainerOptions>(FailedPrecondition("broken"))
                                    : ContainerOptions();
                 }});
  Reject(SimplePod("p", kWidget, 2), "broken");
  is_broken = false;
  Run(SimplePod("q", kWidget, 2));
}

TEST_F(AdmissionTest, AHangingAllocateHoldsUpTheWholeNode) {
  const auto plugin = Registered(4, {.holds_allocate = true});
  ASSERT_OK(kubelet_.AddPod(SimplePod("slow", kWidget, 1)));
  ASSERT_TRUE(kubelet_.WaitForCalls("Allocate", 1));
  ASSERT_OK(kubelet_.AddPod(SimplePod("other", "example.com/else", 1)));
  EXPECT_FALSE(kubelet_.WaitForPhase("other", PodPhase::kRunning, std::chrono::milliseconds(100)));
  plugin->Release();
  EXPECT_TRUE(kubelet_.WaitForPhase("slow", PodPhase::kRunning));
  EXPECT_TRUE(kubelet_.WaitForPhase("other", PodPhase::kRunning));
}

TEST_F(AdmissionTest, AContainersRestartNeedsNoNewAllocate) {
  const auto plugin = Registered(2);
  Run(SimplePod("p", kWidget, 1));
  const DeviceIds ids = IdsOf("p");
  ASSERT_OK(kubelet_.ExitContainer("p", "main", 1));
  ASSERT_TRUE(kubelet_.WaitFor([&] {
    const ContainerStatus container = Container("p");
    return container.restarts == 1 && container.state == ContainerState::kRunning;
  }));
  EXPECT_EQ(IdsOf("p"), ids);
  EXPECT_EQ(kubelet_.CallCount("Allocate"), 1);
}

TEST_F(AdmissionTest, PreStartContainerRunsBeforeEveryStart) {
  const auto plugin = Registered(2, {}, {.pre_start_required = true});
  Run(SimplePod("p", kWidget, 2));
  ASSERT_OK(kubelet_.ExitContainer("p", "main", 1));
  ASSERT_TRUE(kubelet_.WaitFor([&] { return Container("p").restarts == 1; }));
  EXPECT_EQ(kubelet_.CallCount("PreStartContainer"), 2);
}

TEST_F(AdmissionTest, AFailingPreStartIsTriedAgain) {
  int left = 2;
  const auto plugin = Registered(
      1, {.pre_start = [&](const Ids&) { return left-- > 0 ? Internal("not yet") : OkStatus(); }},
      {.pre_start_required = true});
  ASSERT_OK(kubelet_.AddPod(SimplePod("p", kWidget, 1)));
  EXPECT_TRUE(kubelet_.WaitFor([&] {
    return Container("p").reason == "CreateContainerConfigError" &&
           Container("p").message.find("not yet") != std::string::npos;
  }));
  EXPECT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
}

TEST_F(AdmissionTest, TheCheckpointHoldsAssignmentsAndHealthyDevices) {
  const auto plugin = Registered(2, {.allocate = [](const Ids&) -> StatusOr<ContainerOptions> {
                                   ContainerOptions options;
                                   options.envs["A"] = "b";
                                   return options;
                                 }});
  EXPECT_THAT(kubelet_.CheckpointText(), HasSubstr("\"PodDeviceEntries\":null"));
  Run(SimplePod("p", kWidget, 1));
  const StatusOr<Checkpoint> checkpoint = ParseCheckpoint(kubelet_.CheckpointText(), "file");
  ASSERT_OK(checkpoint);
  ASSERT_THAT(checkpoint->entries, SizeIs(1));
  const Assignment& entry = checkpoint->entries[0];
  EXPECT_EQ(entry.pod_uid, kubelet_.FindPod("p")->spec.uid);
  EXPECT_EQ(entry.ids(), IdsOf("p"));
  EXPECT_EQ(entry.options.envs.at("A"), "b");
  EXPECT_THAT(checkpoint->registered.at(kWidget), ElementsAre("dev-0", "dev-1"));
}

TEST_F(AdmissionTest, ARestartOfTheKubeletKeepsPodsAndAssignments) {
  auto plugin = Registered(2);
  Run(SimplePod("p", kWidget, 1));
  const Pod before = *kubelet_.FindPod("p");
  ASSERT_OK(kubelet_.Restart());
  plugin.reset();
  plugin = Registered(2);
  const Pod after = *kubelet_.FindPod("p");
  EXPECT_EQ(after.spec.uid, before.spec.uid);
  EXPECT_EQ(after.status.containers[0].id, before.status.containers[0].id);
  EXPECT_EQ(after.status.containers[0].devices, before.status.containers[0].devices);
  EXPECT_EQ(kubelet_.CallCount("Allocate"), 1);
  Reject(SimplePod("q", kWidget, 2), "needed, 1 free");
}

TEST_F(AdmissionTest, AfterARebootPodsFailWhenThePluginIsNotThereYet) {
  const auto plugin = Registered(2);
  Run(SimplePod("p", kWidget, 1));
  kubelet_.Reboot();
  ASSERT_OK(kubelet_.Start());
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kFailed));
  EXPECT_EQ(kubelet_.FindPod("p")->status.reason, "UnexpectedAdmissionError");
}

TEST_F(AdmissionTest, AFinishedPodIsNotAdmittedAgain) {
  const auto plugin = Registered(2);
  PodSpec pod = SimplePod("p", kWidget, 1);
  pod.restart_policy = RestartPolicy::kNever;
  pod.containers[0].exits_with = 0;
  ASSERT_OK(kubelet_.AddPod(pod));
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kSucceeded));
  ASSERT_OK(kubelet_.Restart());
  Run(SimplePod("other", "example.com/else", 1));
  EXPECT_EQ(kubelet_.FindPod("p")->status.phase, PodPhase::kSucceeded);
}

TEST_F(AdmissionTest, APodDeletedWhileTheKubeletIsDownLeavesNothing) {
  auto plugin = Registered(2);
  Run(SimplePod("p", kWidget, 2));
  kubelet_.Stop();
  ASSERT_OK(kubelet_.RemovePod("p", true));
  ASSERT_OK(kubelet_.Start());
  plugin.reset();
  plugin = Registered(2);
  Run(SimplePod("q", kWidget, 2));
}

TEST_F(AdmissionTest, PreStartIsSkippedAfterARestartUntilThePluginIsBack) {
  const auto plugin = Registered(1, {}, {.pre_start_required = true});
  Run(SimplePod("p", kWidget, 1));
  ASSERT_OK(kubelet_.Restart());
  ASSERT_OK(kubelet_.ExitContainer("p", "main", 1));
  ASSERT_TRUE(kubelet_.WaitFor([&] { return Container("p").restarts == 1; }));
  EXPECT_EQ(kubelet_.CallCount("PreStartContainer"), 1);
}

TEST_F(AdmissionTest, HealthOfDevicesShowsInThePodsStatus) {
  const auto plugin = Registered(2);
  Run(SimplePod("p", kWidget, 1));
  const std::string id = *IdsOf("p").begin();
  EXPECT_THAT(Container("p").health, ElementsAre(ResourceHealth{kWidget, id, kHealthy}));
  plugin->SetHealth(id, kUnhealthy);
  EXPECT_TRUE(kubelet_.WaitFor([&] {
    return Container("p").health == std::vector{ResourceHealth{kWidget, id, kUnhealthy}};
  }));
  EXPECT_EQ(kubelet_.FindPod("p")->status.phase, PodPhase::kRunning);
}

TEST_F(AdmissionTest, HealthShowsAlsoWhereNoContainerRan) {
  const auto plugin = Registered(1);
  PodSpec pod = SimplePod("p", kWidget, 1);
  pod.is_image_missing = true;
  ASSERT_OK(kubelet_.AddPod(pod));
  ASSERT_TRUE(kubelet_.WaitFor([&] { return Container("p").reason == "ImagePullBackOff"; }));
  plugin->SetHealth("dev-0", kUnhealthy);
  EXPECT_TRUE(kubelet_.WaitFor([&] {
    return Container("p").health == std::vector{ResourceHealth{kWidget, "dev-0", kUnhealthy}};
  }));
}

TEST_F(AdmissionTest, AVanishedDeviceIsReportedHealthy) {
  const auto plugin = Registered(1);
  Run(SimplePod("p", kWidget, 1));
  plugin->SetHealth("dev-0", kUnhealthy);
  EXPECT_TRUE(kubelet_.WaitFor([&] { return Container("p").health.at(0).health == kUnhealthy; }));
  plugin->SetDevices({});
  EXPECT_TRUE(kubelet_.WaitFor([&] { return Container("p").health.at(0).health == kHealthy; }));
}

TEST_F(AdmissionTest, APodThatWaitsForResourcesIsBoundWhenTheyAreThere) {
  PodSpec pod = SimplePod("p", kWidget, 1);
  pod.waits_for_resources = true;
  ASSERT_OK(kubelet_.AddPod(pod));
  EXPECT_FALSE(kubelet_.FindPod("p")->status.is_bound);
  const auto plugin = Registered(1);
  EXPECT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning));
}

TEST_F(AdmissionTest, ContainersCrashMoreAndMoreSlowly) {
  PodSpec pod = SimplePod("p", "example.com/else", 0);
  pod.containers[0].exits_with = 3;
  ASSERT_OK(kubelet_.AddPod(pod));
  EXPECT_TRUE(kubelet_.WaitFor(
      [&] { return Container("p").restarts >= 2 && Container("p").reason == "CrashLoopBackOff"; }));
  EXPECT_EQ(Container("p").exit_code, 3);
}

TEST_F(AdmissionTest, SeveralResourcesFeedOneContainer) {
  const auto plugin = Registered(1, {.allocate = [](const Ids&) -> StatusOr<ContainerOptions> {
                                   ContainerOptions options;
                                   options.envs["FROM_WIDGET"] = "1";
                                   return options;
                                 }});
  const SamplePlugin other({.socket_path = kubelet_.layout().device_plugins() + "/other.sock",
                            .resource = "example.com/other",
                            .devices = SamplePlugin::Devices(1)},
                           {.allocate = [](const Ids&) -> StatusOr<ContainerOptions> {
                             ContainerOptions options;
                             options.envs["FROM_OTHER"] = "1";
                             return options;
                           }});
  ASSERT_OK(other.Register(kubelet_.layout().kubelet_socket()));
  ASSERT_TRUE(kubelet_.WaitForResource("example.com/other", {1, 1}));
  PodSpec pod = SimplePod("p", kWidget, 1);
  pod.containers[0].limits["example.com/other"] = 1;
  Run(pod);
  EXPECT_THAT(Container("p").options.envs, SizeIs(2));
}

class AlignedAdmissionTest : public AdmissionTest {
 protected:
  AlignedAdmissionTest() : AdmissionTest({.topology = TopologyPolicy::kSingleNumaNode}) {}

  // Two devices on each of two nodes.
  static std::vector<Device> OnTwoNodes() {
    return {
        {"a0", kHealthy, {0}}, {"a1", kHealthy, {0}}, {"b0", kHealthy, {1}}, {"b1", kHealthy, {1}}};
  }
};

TEST_F(AlignedAdmissionTest, DevicesComeFromOneNode) {
  const auto plugin = Registered(0);
  plugin->SetDevices(OnTwoNodes());
  ASSERT_TRUE(WaitForWidgets(4, 4));
  Run(SimplePod("p", kWidget, 2));
  const DeviceIds ids = IdsOf("p");
  EXPECT_TRUE(ids == DeviceIds({"a0", "a1"}) || ids == DeviceIds({"b0", "b1"}));
  EXPECT_EQ(kubelet_.CallCount("GetPreferredAllocation"), 0);
}

TEST_F(AlignedAdmissionTest, ThePluginChoosesAmongAlignedDevicesOnly) {
  PreferredRequest asked;
  const auto plugin =
      Registered(0, {.prefer = [&](const PreferredRequest& request) -> StatusOr<Ids> {
                   asked = request;
                   return Ids{"a1"};
                 }},
                 {.has_preferred_allocation = true});
  plugin->SetDevices(OnTwoNodes());
  ASSERT_TRUE(WaitForWidgets(4, 4));
  Run(SimplePod("p", kWidget, 1));
  EXPECT_THAT(asked.available, UnorderedElementsAre("a0", "a1"));
  EXPECT_THAT(IdsOf("p"), ElementsAre("a1"));
}

TEST_F(AlignedAdmissionTest, ARequestThatNoNodeCanMeetIsTurnedAway) {
  const auto plugin = Registered(0);
  plugin->SetDevices(OnTwoNodes());
  ASSERT_TRUE(WaitForWidgets(4, 4));
  ASSERT_OK(kubelet_.AddPod(SimplePod("p", kWidget, 3)));
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kFailed));
  EXPECT_EQ(kubelet_.FindPod("p")->status.reason, "TopologyAffinityError");
}

}  // namespace
}  // namespace kgpu::kubelet
