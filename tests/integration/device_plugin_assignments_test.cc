// What Kubernetes' own test-suite asserts of devices that pods have, DP-1 to DP-12: over restarts
// of containers, the kubelet, the agent and the machine.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/integration/agent_fixture.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool IsGpuNode(const std::string& path) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  return path.starts_with(kPrefix) && path.size() > kPrefix.size() &&
         path.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
}

class DevicePluginAssignments : public AgentFixture {
 protected:
  // The GPU nodes among the devices that a container was given.
  static std::vector<std::string> GpuNodes(const kubelet::ContainerOptions& options) {
    std::vector<std::string> nodes;
    for (const kubelet::DeviceSpec& device : options.devices) {
      if (IsGpuNode(device.container_path)) {
        nodes.push_back(device.container_path);
      }
    }
    return nodes;
  }
  // "/dev/nvidia2" for the GPU of this id: the third of the driver's.
  std::string NodeOf(const std::string& id) const {
    const std::vector<std::string> uuids = node_->GpuUuids();
    return fmt::format("/dev/nvidia{}", std::ranges::find(uuids, id) - uuids.begin());
  }
  void ExpectAllThere(const kubelet::ContainerOptions& options) const {
    for (const kubelet::BindMount& mount : options.mounts) {
      EXPECT_TRUE(std::filesystem::exists(mount.host_path)) << mount.host_path;
    }
    for (const kubelet::DeviceSpec& device : options.devices) {
      EXPECT_TRUE(std::filesystem::is_character_file(device.host_path)) << device.host_path;
    }
    const std::vector<std::string> names = node_->CdiDevices();
    for (const std::string& name : options.cdi_devices) {
      EXPECT_THAT(names, Contains(name));
    }
    EXPECT_THAT(node_->LastingCdiProblems(), IsEmpty());
  }
  // The pod as it was: never restarted but `restarts` times, with the same device.
  void ExpectUntouched(const std::string& pod, const std::string& uid,
                       const kubelet::DeviceIds& ids, int restarts = 0) const {
    EXPECT_EQ(kubelet_->FindPod(pod)->status.phase, PodPhase::kRunning);
    EXPECT_EQ(UidOf(pod), uid);
    EXPECT_EQ(Container(pod).restarts, restarts);
    EXPECT_EQ(IdsOf(pod), ids);
    ASSERT_THAT(Assignments(pod), SizeIs(1));
    EXPECT_EQ(Assignments(pod)[0].ids(), ids);
    ExpectAllThere(Container(pod).options);
  }
};

TEST_P(DevicePluginAssignments, Dp01APodGetsOneDeviceAndNoOther) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  ASSERT_THAT(IdsOf("p"), SizeIs(1));
  EXPECT_THAT(GpuNodes(Container("p").options), ElementsAre(NodeOf(*IdsOf("p").begin())));
  ExpectAllThere(Container("p").options);
  ASSERT_THAT(Assignments("p"), SizeIs(1));
  EXPECT_EQ(Assignments("p")[0].resource, kGpuResource);
  EXPECT_EQ(Assignments("p")[0].ids(), IdsOf("p"));
}

TEST_P(DevicePluginAssignments, Dp02ACdiNameIsDeclaredBeforeItIsGiven) {
  ASSERT_NO_FATAL_FAILURE(MakeNode({.strategy = "cdi-cri"}));
  // Admitted with the first list that arrives.
  kubelet::PodSpec pod = kubelet::SimplePod("p", kGpuResource, 1);
  pod.waits_for_resources = true;
  ASSERT_OK(kubelet_->AddPod(pod));
  node_->StartAgent();
  ASSERT_TRUE(WaitForPhase("p", PodPhase::kRunning));
  const kubelet::ContainerOptions options = Container("p").options;
  const std::string id = *IdsOf("p").begin();
  EXPECT_THAT(options.cdi_devices, ElementsAre("kgpu.dev/gpu=" + id));
  EXPECT_EQ(options.envs.at("NVIDIA_VISIBLE_DEVICES"), "void");
  EXPECT_THAT(options.devices, IsEmpty());
  ExpectAllThere(options);
  const auto written =
      std::filesystem::last_write_time(node_->cdi_folder() + "/kgpu-kgpu.dev-gpu.json");
  for (const kubelet::CallRecord& call : kubelet_->Calls()) {
    if (call.method == "Allocate") {
      EXPECT_LE(std::chrono::file_clock::to_sys(written), call.time + call.duration);
    }
  }
}

TEST_P(DevicePluginAssignments, Dp03AContainerThatIsStartedAgainKeepsItsDevice) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const kubelet::DeviceIds ids = IdsOf("p");
  const kubelet::ContainerOptions options = Container("p").options;
  ASSERT_NO_FATAL_FAILURE(RestartContainer("p"));
  EXPECT_EQ(kubelet_->CallCount("Allocate"), 1u);
  EXPECT_EQ(Container("p").options, options);
  ASSERT_NO_FATAL_FAILURE(RunPod("q", 1));
  EXPECT_NE(IdsOf("q"), ids);
  ExpectUntouched("p", UidOf("p"), ids, 1);
}

TEST_P(DevicePluginAssignments, Dp04SurvivesAKubeletRestart) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const std::string uid = UidOf("p");
  const kubelet::DeviceIds ids = IdsOf("p");
  ASSERT_OK(kubelet_->Restart());
  ASSERT_TRUE(WaitForGpus(4, 4));
  ExpectUntouched("p", uid, ids);
  EXPECT_EQ(kubelet_->CallCount("Allocate"), 1u);
}

TEST_P(DevicePluginAssignments, Dp05ContainersRestartBeforeAndAfterAKubeletRestart) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const std::string uid = UidOf("p");
  const kubelet::DeviceIds ids = IdsOf("p");
  ASSERT_NO_FATAL_FAILURE(RestartContainer("p"));
  ASSERT_OK(kubelet_->Restart());
  ASSERT_TRUE(WaitForGpus(4, 4));
  ASSERT_NO_FATAL_FAILURE(RestartContainer("p"));
  ExpectUntouched("p", uid, ids, 2);
}

TEST_P(DevicePluginAssignments, Dp06APodThatHasEndedIsNotRunAgain) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  kubelet::PodSpec pod = kubelet::SimplePod("p", kGpuResource, 1);
  pod.restart_policy = kubelet::RestartPolicy::kNever;
  ASSERT_NO_FATAL_FAILURE(RunPod(pod));
  ASSERT_OK(kubelet_->ExitContainer("p", "main", 0));
  ASSERT_TRUE(WaitForPhase("p", PodPhase::kSucceeded));
  node_->EndAgent();
  EXPECT_TRUE(WaitForGpus(0, 4));
  ASSERT_OK(kubelet_->Restart());
  // Admission has passed every pod there was when this one is refused.
  ASSERT_OK(kubelet_->AddPod(kubelet::SimplePod("q", kGpuResource, 1)));
  ASSERT_TRUE(WaitForPhase("q", PodPhase::kFailed));
  EXPECT_EQ(kubelet_->FindPod("p")->status.phase, PodPhase::kSucceeded);
  EXPECT_EQ(kubelet_->CallCount("Allocate"), 1u);
}

TEST_P(DevicePluginAssignments, Dp07SurvivesARestartOfTheAgent) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4, {.strategy = "[cdi-cri, device-specs, mounts]"}));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const std::string uid = UidOf("p");
  const kubelet::DeviceIds ids = IdsOf("p");
  for (const int signal : {SIGTERM, SIGKILL}) {
    node_->EndAgent(signal);
    EXPECT_TRUE(WaitForGpus(0, 4));
    ExpectUntouched("p", uid, ids);
    node_->StartAgent();
    ASSERT_TRUE(WaitForGpus(4, 4));
    ExpectUntouched("p", uid, ids);
  }
  // The kubelet counts on the same ids: the others are free.
  ASSERT_NO_FATAL_FAILURE(RunPod("q", 3));
  EXPECT_EQ(IdsOf("q").count(*ids.begin()), 0u);
}

TEST_P(DevicePluginAssignments, Dp08SurvivesRestartsOfBoth) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const std::string uid = UidOf("p");
  const kubelet::DeviceIds ids = IdsOf("p");
  ASSERT_OK(kubelet_->Restart());
  node_->EndAgent();
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(4, 4));
  ExpectUntouched("p", uid, ids);
}

TEST_P(DevicePluginAssignments, Dp09ADeviceOfAPodDeletedByForceIsFree) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const std::string uid = UidOf("p");
  kubelet_->Stop();
  ASSERT_OK(kubelet_->RemovePod("p", true));
  ASSERT_OK(kubelet_->Start());
  ASSERT_TRUE(WaitForGpus(4, 4));
  ASSERT_NO_FATAL_FAILURE(RunPod("q", 4));
  EXPECT_THAT(kubelet_->CheckpointText(), ::testing::Not(HasSubstr(uid)));
}

TEST_P(DevicePluginAssignments, Dp10AnIdIsAllocatedTwiceInOnePod) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  kubelet::PodSpec pod;
  pod.name = "p";
  for (const auto& [name, kind] : {std::pair("init", kubelet::ContainerKind::kInit),
                                   std::pair("sidecar", kubelet::ContainerKind::kSidecar),
                                   std::pair("app", kubelet::ContainerKind::kApp)}) {
    pod.containers.push_back({.name = name, .kind = kind, .limits = {{kGpuResource, 1}}});
  }
  ASSERT_NO_FATAL_FAILURE(RunPod(pod));
  EXPECT_EQ(IdsOf("p", "init"), IdsOf("p", "sidecar"));
  EXPECT_NE(IdsOf("p", "app"), IdsOf("p", "sidecar"));
  EXPECT_EQ(GpuNodes(Container("p", "init").options), GpuNodes(Container("p", "sidecar").options));
}

TEST_P(DevicePluginAssignments, Dp11WithoutThePluginPodsDoNotSurviveARestartOfTheMachine) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  // In good order: a socket left in plugins_registry has the kubelet dial it, and register twice.
  node_->EndAgent();
  kubelet_->Reboot();
  ASSERT_OK(kubelet_->Start());
  ASSERT_TRUE(WaitForPhase("p", PodPhase::kFailed));
  EXPECT_EQ(kubelet_->FindPod("p")->status.reason, "UnexpectedAdmissionError");
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(4, 4));
  ASSERT_NO_FATAL_FAILURE(RunPod("q", 4));
}

// What an agent can do about it: register before the driver has answered.
TEST_P(DevicePluginAssignments, Dp11ARestartedAgentDoesNotWaitForTheDriver) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  const std::string memory = node_->run_dir() + "/agent-memory.json";
  ASSERT_TRUE(WaitInFolder(node_->run_dir(), [&] { return std::filesystem::exists(memory); }));
  node_->EndAgent(SIGKILL);
  ASSERT_TRUE(WaitForGpus(0, 4));
  node_->host().Inject("hang");
  node_->StartAgent();
  EXPECT_TRUE(WaitForGpus(4, 4));
  node_->host().Inject("heal");
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 4));
  EXPECT_TRUE(WaitForGpus(4, 4));
}

TEST_P(DevicePluginAssignments, Dp12APluginThatDoesNotRegisterSaysWhy) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 2));
  Withhold();
  kubelet_->Reboot();
  ASSERT_OK(kubelet_->Start());
  ASSERT_TRUE(WaitForPhase("p", PodPhase::kFailed));
  EXPECT_EQ(kubelet_->FindPod("p")->status.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(kubelet_->Allocatable(kGpuResource), 0);
  EXPECT_TRUE(node_->WaitForStatus([](const boost::json::value& status) {
    return status.at("ready") == false && StateOf(status, kGpuResource) != "Registered";
  }));
  kubelet_->ClearFaults();
  EXPECT_TRUE(WaitForGpus(4, 4));
  EXPECT_TRUE(node_->WaitForStatus(
      [](const boost::json::value& status) { return status.at("ready") == true; }));
}

INSTANTIATE_TEST_SUITE_P(Way, DevicePluginAssignments,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         NameOf);

}  // namespace
}  // namespace kgpu::integration
