// The agent's image, run by real containerds and podman with the manifest's exact privileges: it
// serves GPUs to a second container; with one privilege less, it names that one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "testing/status_matchers.h"
#include "tests/engines/agent_machine.h"
#include "tests/engines/containerd.h"
#include "tests/engines/matchers.h"
#include "tests/engines/podman.h"

namespace kgpu::engines {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kGpus = "nvidia.com/gpu";

class ContainerdMachine {
 public:
  explicit ContainerdMachine(Origin origin)
      : engine_(origin, machine_.host().path() + "/run/containerd/containerd.sock") {
    machine_.LiveIn(engine_.box());
  }

  AgentMachine& machine() { return machine_; }
  ContainerdEngine& engine() { return engine_; }
  void Start() {
    ASSERT_NO_FATAL_FAILURE(engine_.Start(report_image_));
    ASSERT_NO_FATAL_FAILURE(engine_.Load(agent_image_.archive()));
  }
  void StartAgent(const AgentPod& pod) {
    log_ = fmt::format("log-{}", ++agents_);
    CriClient::Container container{
        .image = agent_image_.name(), .env = pod.env, .security = pod.security};
    container.options.mounts = machine_.MountsOf(pod);
    container.options.devices = pod.devices;
    const auto id = engine_.cri().Start(container, pod.arguments, machine_.host().dir().At(log_));
    EXPECT_OK(id);
    pod_id_ = id.value_or("");
  }
  void EndAgent() { EXPECT_OK(engine_.cri().Remove(pod_id_)); }
  // Of the agent that was started last.
  std::string log() { return machine_.host().dir().ReadFile(log_ + "/agent.log"); }
  // One more on the host, whose node comes into its /dev.
  void AddGpu() {
    machine_.host().Inject("add");
    const e2e::Result copied = engine_.box().Enter(
        {"/bin/sh", "-c", fmt::format("cp -an {}/dev/nvidia[0-9]* /dev/", machine_.host().path())});
    EXPECT_EQ(copied.code, 0) << copied.err;
  }

 private:
  AgentMachine machine_;
  ContainerdEngine engine_;
  AgentImage agent_image_;
  Image report_image_;
  int agents_ = 0;
  std::string log_;
  std::string pod_id_;
};

// Why the agent's image cannot be built and run here; empty if it can.
std::string WhyNoImage(const std::vector<std::string>& programs, Origin origin = Origin::kMachine) {
  std::string reason = WhyNot(programs, origin);
  return reason.empty() ? WhyNot({"buildah"}) : reason;
}

class AgentInContainerdTest : public ::testing::TestWithParam<Origin> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNoImage({"containerd", "ctr"}, GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Containerd, AgentInContainerdTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie), OriginName());

TEST_P(AgentInContainerdTest, GivesGpusToASecondContainer) {
  ContainerdMachine node(GetParam());
  ASSERT_NO_FATAL_FAILURE(node.Start());
  node.StartAgent(ReadAgentPod());
  AgentMachine& machine = node.machine();
  ASSERT_TRUE(machine.kubelet().WaitForResource(kGpus, {.capacity = 4, .allocatable = 4},
                                                std::chrono::seconds(30)))
      << node.log() << machine.Status();
  const auto [options, gpus] = machine.Allocate("p", 2);
  EXPECT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(options.cdi_devices.empty(), GetParam() == Origin::kMachine);
  EXPECT_THAT(node.engine().RunReport({.options = options}),
              AllOf(HasGpus(gpus), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(machine.Status("json"), HasSubstr("\"missingPrivileges\": []"));
  EXPECT_THAT(node.log(), Not(HasSubstr("privilege missing")));
}

enum class Effect : uint8_t {
  kNoGpu,  // for any pod
  kLess,   // works, says it
  kEnds,   // the agent
};

// A privilege that the pod does not get, and what the agent must say of it.
struct Taken {
  const char* name;
  void (*take)(AgentPod& pod);
  Effect effect;
  const char* what;
  const char* fix;
};

// Flags first, then mounts.
constexpr size_t kFlags = 3;
constexpr std::array<Taken, 15> kTaken = {{
    {"privileged", [](AgentPod& pod) { pod.security.is_privileged = false; }, Effect::kNoGpu,
     "the device cgroup refuses /dev/nvidia", "set securityContext.privileged: true"},
    {"root", [](AgentPod& pod) { pod.security.user = 65534; }, Effect::kEnds,
     "the agent does not run as root", "set securityContext.runAsUser: 0"},
    {"hostPID", [](AgentPod& pod) { pod.security.has_host_pids = false; }, Effect::kLess,
     "the pod does not share the host's process namespace", "set hostPID: true in the pod's spec"},
    {"dev", [](AgentPod& pod) { pod.RemoveVolume("dev"); }, Effect::kNoGpu,
     "the host's /dev is not mounted", "the volume dev (hostPath /dev)"},
    {"usr", [](AgentPod& pod) { pod.RemoveVolume("usr"); }, Effect::kNoGpu,
     "the host's /usr is not mounted", "the volume usr (hostPath /usr)"},
    {"proc", [](AgentPod& pod) { pod.RemoveVolume("proc"); }, Effect::kLess,
     "the host's /proc is not mounted", "the volume proc (hostPath /proc)"},
    {"sys", [](AgentPod& pod) { pod.RemoveVolume("sys"); }, Effect::kLess,
     "the host's /sys is not mounted", "the volume sys (hostPath /sys)"},
    {"etc", [](AgentPod& pod) { pod.RemoveVolume("etc"); }, Effect::kLess,
     "the host's /etc is not mounted", "the volume etc (hostPath /etc)"},
    {"state", [](AgentPod& pod) { pod.RemoveVolume("state"); }, Effect::kLess,
     "the host's /var/lib/kgpu is not mounted", "the volume state (hostPath /var/lib/kgpu)"},
    {"boot", [](AgentPod& pod) { pod.RemoveVolume("boot"); }, Effect::kLess,
     "the host's /boot is not mounted", "the volume boot (hostPath /boot)"},
    {"pod-logs", [](AgentPod& pod) { pod.RemoveVolume("pod-logs"); }, Effect::kLess,
     "the host's /var/log/pods is not mounted", "the volume pod-logs (hostPath /var/log/pods)"},
    {"run", [](AgentPod& pod) { pod.RemoveVolume("run"); }, Effect::kEnds,
     "the host's /run is not mounted", "the volume run (hostPath /run)"},
    {"writable run", [](AgentPod& pod) { pod.MakeReadOnly("run"); }, Effect::kEnds,
     "the host's /run is read-only", "remove readOnly from the volumeMount run"},
    {"kubelet", [](AgentPod& pod) { pod.RemoveVolume("kubelet"); }, Effect::kNoGpu,
     "the host's /var/lib/kubelet is not mounted",
     "the volume kubelet (hostPath /var/lib/kubelet)"},
    {"writable kubelet", [](AgentPod& pod) { pod.MakeReadOnly("kubelet"); }, Effect::kNoGpu,
     "the host's /var/lib/kubelet is read-only", "remove readOnly from the volumeMount kubelet"},
}};

// Whether `kgpu status` shows it: in its first line if pods get no GPU without it.
bool IsShown(const std::string& status, const Taken& taken) {
  const std::string first = status.substr(0, status.find('\n'));
  const bool is_ready = first.find("not ready") == std::string::npos;
  switch (taken.effect) {
    case Effect::kEnds:
      return status.empty();
    case Effect::kNoGpu:
      return !is_ready && first.find(taken.what) != std::string::npos;
    case Effect::kLess:
      break;
  }
  return is_ready && status.find(taken.what) != std::string::npos;
}

TEST(PrivilegeTest, EachIsNamedWhenItIsMissing) {
  if (const std::string reason = WhyNoImage({"containerd", "ctr"}); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  ContainerdMachine node(Origin::kMachine);
  ASSERT_NO_FATAL_FAILURE(node.Start());
  for (const Taken& taken : kTaken) {
    SCOPED_TRACE(taken.name);
    AgentPod pod = ReadAgentPod();
    taken.take(pod);
    node.StartAgent(pod);
    const auto is_said = [&] { return node.log().find(taken.what) != std::string::npos; };
    EXPECT_TRUE(node.machine().Wait(is_said)) << node.log() << node.machine().Status();
    EXPECT_THAT(node.log(), HasSubstr(taken.fix));
    const auto is_shown = [&] { return IsShown(node.machine().Status(), taken); };
    EXPECT_TRUE(node.machine().Wait(is_shown)) << node.machine().Status() << node.log();
    if (taken.effect != Effect::kEnds) {
      EXPECT_THAT(node.machine().NodeStatus(), HasSubstr(taken.what));
    }
    node.EndAgent();
  }
}

// Why the manifest asks for a privileged container, instead of the devices that are there.
TEST(PrivilegeTest, AGrantOfDevicesMissesThoseThatComeLater) {
  if (const std::string reason = WhyNoImage({"containerd", "ctr"}); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  ContainerdMachine node(Origin::kMachine);
  ASSERT_NO_FATAL_FAILURE(node.Start());
  AgentMachine& machine = node.machine();
  AgentPod pod = ReadAgentPod();
  pod.security.is_privileged = false;
  for (const char* name : {"nvidiactl", "nvidia0", "nvidia1", "nvidia2", "nvidia3"}) {
    const std::string path = fmt::format("/dev/{}", name);
    pod.devices.push_back({.container_path = path, .host_path = path, .permissions = "rw"});
  }
  node.StartAgent(pod);
  constexpr std::chrono::seconds kLimit{30};
  EXPECT_TRUE(machine.kubelet().WaitForResource(kGpus, {.capacity = 4, .allocatable = 4}, kLimit))
      << node.log() << machine.Status();
  node.AddGpu();
  const auto is_refused = [&] {
    return node.log().find("the device cgroup refuses /dev/nvidia4") != std::string::npos;
  };
  EXPECT_TRUE(machine.Wait(is_refused)) << node.log() << machine.Status();
  node.EndAgent();
  node.StartAgent(ReadAgentPod());
  EXPECT_TRUE(machine.kubelet().WaitForResource(kGpus, {.capacity = 5, .allocatable = 5}, kLimit))
      << node.log() << machine.Status();
  node.AddGpu();
  EXPECT_TRUE(machine.kubelet().WaitForResource(kGpus, {.capacity = 6, .allocatable = 6}, kLimit))
      << node.log() << machine.Status();
}

class AgentInPodmanTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Podman, AgentInPodmanTest, ::testing::Values("runc", "crun"),
                         [](const auto& parameter) { return parameter.param; });

// `podman run`'s flags for the pod.
std::vector<std::string> FlagsOf(const AgentPod& pod, AgentMachine& machine) {
  const Security& security = pod.security;
  std::vector<std::string> flags = {
      fmt::format("--privileged={}", security.is_privileged),
      fmt::format("--read-only={}", security.is_root_read_only),
      "--read-only-tmpfs=false",
      fmt::format("--user={}", security.user.value_or(0)),
  };
  if (security.has_host_pids) {
    flags.emplace_back("--pid=host");
  }
  if (security.has_no_new_privileges) {
    flags.emplace_back("--security-opt=no-new-privileges");
  }
  for (const std::string& name : security.dropped_capabilities) {
    flags.push_back("--cap-drop=" + name);
  }
  for (const std::string& name : security.added_capabilities) {
    flags.push_back("--cap-add=" + name);
  }
  for (const auto& [name, value] : pod.env) {
    flags.push_back(fmt::format("--env={}={}", name, value));
  }
  for (const kubelet::BindMount& mount : machine.MountsOf(pod)) {
    flags.push_back(fmt::format("--volume={}:{}:{}", mount.host_path, mount.container_path,
                                mount.read_only ? "ro,rbind" : "rw,rbind"));
  }
  return flags;
}

// The same for what the agent answered.
std::vector<std::string> FlagsOf(const kubelet::ContainerOptions& options) {
  std::vector<std::string> flags;
  for (const auto& [name, value] : options.envs) {
    flags.push_back(fmt::format("--env={}={}", name, value));
  }
  for (const kubelet::BindMount& mount : options.mounts) {
    flags.push_back(fmt::format("--volume={}:{}:ro", mount.host_path, mount.container_path));
  }
  for (const kubelet::DeviceSpec& device : options.devices) {
    flags.push_back(fmt::format("--device={}:{}:{}", device.host_path, device.container_path,
                                device.permissions));
  }
  for (const std::string& name : options.cdi_devices) {
    flags.push_back("--device=" + name);
  }
  return flags;
}

class PodmanMachine {
 public:
  explicit PodmanMachine(const std::string& runtime) : podman_(runtime, PodmanEngine::User::kRoot) {
    machine_.LiveIn(podman_.box());
  }

  AgentMachine& machine() { return machine_; }
  PodmanEngine& podman() { return podman_; }
  void StartAgent(AgentImage& image, const AgentPod& pod) {
    podman_.Load(image.archive());
    std::vector<std::string> words = FlagsOf(pod, machine_);
    words.push_back(image.name());
    words.insert(words.end(), pod.arguments.begin(), pod.arguments.end());
    podman_.RunInBackground(words);
  }
  std::string log() { return podman_.box().log(); }

 private:
  AgentMachine machine_;
  PodmanEngine podman_;
};

TEST_P(AgentInPodmanTest, GivesGpusToASecondContainer) {
  if (const std::string reason = WhyNoImage({"podman", GetParam()}); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  AgentImage agent_image;
  Image report_image;
  PodmanMachine node(GetParam());
  AgentMachine& machine = node.machine();
  node.podman().Load(report_image.archive());
  node.StartAgent(agent_image, ReadAgentPod());
  ASSERT_TRUE(machine.kubelet().WaitForResource(kGpus, {.capacity = 4, .allocatable = 4},
                                                std::chrono::seconds(30)))
      << node.log() << machine.Status();
  const auto [options, gpus] = machine.Allocate("p", 2);
  EXPECT_THAT(node.podman().ReportBeside(FlagsOf(options)),
              AllOf(HasGpus(gpus), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(node.log(), Not(HasSubstr("privilege missing")));
}

TEST_P(AgentInPodmanTest, NamesWhatPodmanDoesNotGrant) {
  if (const std::string reason = WhyNoImage({"podman", GetParam()}); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  AgentImage agent_image;
  for (const Taken& taken : std::span(kTaken).first(kFlags)) {
    SCOPED_TRACE(taken.name);
    PodmanMachine node(GetParam());
    AgentPod pod = ReadAgentPod();
    taken.take(pod);
    node.StartAgent(agent_image, pod);
    const auto is_said = [&] { return node.log().find(taken.what) != std::string::npos; };
    EXPECT_TRUE(node.machine().Wait(is_said)) << node.log() << node.machine().Status();
    EXPECT_THAT(node.log(), HasSubstr(taken.fix));
  }
}

}  // namespace
}  // namespace kgpu::engines
