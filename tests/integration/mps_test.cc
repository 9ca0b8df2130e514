// Pools that are shared by MPS, with the built agent, its daemons and a stub kubelet: daemons that
// die or hang, an agent that is killed, pools that change.
#include <poll.h>

#include <boost/json/serialize.hpp>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/node/mps/lasting_process.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"
#include "tests/integration/agent_fixture.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kMpsPools =
    "pools:\n- devices: {index: 0-1}\n  share: {by: mps, replicas: 4}\n"
    "- resource: nvidia.com/whole\n  devices: all\n";

class MpsPools : public AgentFixture {
 protected:
  // The daemons outlive the agent on purpose.
  void TearDown() override {
    if (node_ == nullptr) {
      return;
    }
    if (node_->agent_pid() != 0) {
      (void)node_->EndAgent();
    }
    std::error_code error;
    for (std::filesystem::directory_iterator entry(node_->run_dir() + "/mps", error), end;
         !error && entry != end; entry.increment(error)) {
      if (const pid_t pid = PidOf(entry->path().filename().string()); pid != 0) {
        (void)kill(-pid, SIGKILL);  // each leads a session of its own, with its server
      }
    }
  }

  void StartMps(const std::string& pools = kMpsPools) {
    ASSERT_NO_FATAL_FAILURE(MakeNode({.more_config = pools}));
    node_->StartAgent();
    ASSERT_TRUE(WaitForGpus(8, 8));
    for (const auto& entry : std::filesystem::directory_iterator(node_->run_dir() + "/mps")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("GPU-")) {
        devices_.push_back(name);
      }
    }
    ASSERT_EQ(devices_.size(), 2U) << "the others are not shared by MPS";
  }
  void Write(const std::string& pools) const {
    node_->host().dir().WriteFile(
        "config.yaml", fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\nplugin: "
                                   "{{registration: {}}}\nhealth: {{holdDown: 50ms}}\n{}",
                                   is_watched() ? "plugin-watcher" : "kubelet-socket", pools));
  }
  std::string FolderOf(const std::string& device) const {
    return fmt::format("{}/mps/{}", node_->run_dir(), device);
  }
  // Of the device's daemon, by its own file; 0: none runs.
  pid_t PidOf(const std::string& device) const {
    const auto root = sys::Root::Open("/");
    const auto text = root.ok()
                          ? root->ReadFile(FolderOf(device) + "/pipe/nvidia-cuda-mps-control.pid")
                          : StatusOr<std::string>(root.status());
    const auto pid = text.ok() ? ParseUint(Trim(*text)) : std::nullopt;
    return pid && kill(static_cast<pid_t>(*pid), 0) == 0 ? static_cast<pid_t>(*pid) : 0;
  }
  bool WaitForPid(const std::string& device, const std::function<bool(pid_t)>& is_right) const {
    return WaitInFolder(
        FolderOf(device) + "/pipe", [&] { return is_right(PidOf(device)); }, kAgentPatience);
  }
  // Of the pod's only slot.
  std::string DeviceOf(const std::string& pod) const {
    const std::string id = *IdsOf(pod).begin();
    return id.substr(0, id.find("::"));
  }

  std::vector<std::string> devices_;  // that are shared by MPS
};

TEST_P(MpsPools, AContainerGetsTheWayToItsDaemon) {
  ASSERT_NO_FATAL_FAILURE(StartMps());
  EXPECT_NE(PidOf(devices_[0]), 0);
  EXPECT_NE(PidOf(devices_[1]), 0);
  ASSERT_NO_FATAL_FAILURE(RunPod("one", 1));
  std::map<std::string, std::string> mounts;
  for (const kubelet::BindMount& mount : Container("one").options.mounts) {
    mounts[mount.container_path] = mount.host_path;
  }
  const std::string pipe = mounts["/usr/lib/kgpu/mps"];
  EXPECT_THAT(pipe, AllOf(HasSubstr("/mps/GPU-"), ::testing::EndsWith("/pipe")));
  EXPECT_TRUE(std::filesystem::exists(pipe + "/control")) << pipe;
  EXPECT_EQ(mounts["/dev/shm"], "/dev/shm");
  EXPECT_NE(mounts["/etc/ld.so.preload"], "") << "the limit of all its programs together";
  const auto& envs = Container("one").options.envs;
  EXPECT_THAT(envs, Contains(Pair("CUDA_MPS_PIPE_DIRECTORY", "/usr/lib/kgpu/mps")));
  EXPECT_THAT(envs, Contains(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25")));
  EXPECT_THAT(envs,
              Contains(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", ::testing::StartsWith("0="))));
  // More than one slot is refused, as by NVIDIA's plugin.
  ASSERT_OK(kubelet_->AddPod(kubelet::SimplePod("two", kGpuResource, 2)));
  EXPECT_TRUE(WaitForPhase("two", PodPhase::kFailed));
  EXPECT_THAT(kubelet_->FindPod("two")->status.message, HasSubstr("only one of a shared device"));
}

// With the simulated libcuda, by the environment that containers get.
TEST_P(MpsPools, AProgramIsAClientAndItsServerEndsWithTheDaemon) {
  ASSERT_NO_FATAL_FAILURE(StartMps());
  const std::string way = fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/pipe", FolderOf(devices_[0]));
  std::vector<std::string> argv = {"/usr/bin/env",  way,     e2e::ProgramPath("kgpu"),
                                   "validate",      "--gpu", devices_[0],
                                   "--no-bandwidth"};
  for (std::string& flag : node_->host().flags()) {
    argv.push_back(std::move(flag));
  }
  const e2e::Result validated = e2e::RunProgram(std::move(argv));
  EXPECT_EQ(validated.code, 0) << validated.out << validated.err;
  const std::string program = (std::filesystem::path(e2e::ProgramPath("kgpu")).parent_path() /
                               "../lib/nvidia-cuda-mps-control")
                                  .string();
  const e2e::Result listed =
      e2e::RunProgram({"/bin/sh", "-c", fmt::format("echo get_server_list | {} {}", way, program)});
  const auto pid = ParseUint(Trim(listed.out));
  ASSERT_TRUE(pid) << listed.out << listed.err;
  const auto server = mps::LastingProcess::Find(static_cast<pid_t>(*pid));
  ASSERT_OK(server);
  ASSERT_EQ(kill(PidOf(devices_[0]), SIGKILL), 0);
  ASSERT_TRUE(WaitForGpus(4, 8));
  ASSERT_TRUE(WaitForGpus(8, 8));
  pollfd ended{.fd = server->pidfd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 20'000), 1) << "no server without its daemon";
}

TEST_P(MpsPools, ADaemonThatDiesTakesItsDeviceAloneAndComesBack) {
  ASSERT_NO_FATAL_FAILURE(StartMps());
  const pid_t first = PidOf(devices_[0]);
  const pid_t neighbour = PidOf(devices_[1]);
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(WaitForGpus(4, 8)) << "of the neighbour";
  ASSERT_TRUE(WaitForGpus(8, 8));
  EXPECT_NE(PidOf(devices_[0]), first);
  EXPECT_EQ(PidOf(devices_[1]), neighbour);
}

TEST_P(MpsPools, AKilledAgentFindsItsDaemons) {
  ASSERT_NO_FATAL_FAILURE(StartMps());
  ASSERT_NO_FATAL_FAILURE(RunPod("user", 1));
  const pid_t first = PidOf(devices_[0]);
  const pid_t second = PidOf(devices_[1]);
  (void)node_->EndAgent(SIGKILL);
  EXPECT_EQ(PidOf(devices_[0]), first) << "programs go on";
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(8, 8));
  ASSERT_TRUE(WaitForText("Registered"));
  EXPECT_EQ(PidOf(devices_[0]), first);
  EXPECT_EQ(PidOf(devices_[1]), second);
  // One that died in the meantime is replaced.
  (void)node_->EndAgent();
  ASSERT_EQ(kill(first, SIGKILL), 0);
  node_->StartAgent();
  EXPECT_TRUE(WaitForPid(devices_[0], [&](pid_t pid) { return pid != 0 && pid != first; }));
  EXPECT_TRUE(WaitForGpus(8, 8));
}

TEST_P(MpsPools, ADaemonWithoutAProgramIsAReason) {
  ASSERT_NO_FATAL_FAILURE(MakeNode({.more_config = kMpsPools}));
  std::filesystem::remove(node_->host().path() + "/usr/bin/nvidia-cuda-mps-control");
  node_->StartAgent();
  EXPECT_TRUE(WaitForGpus(2, 2, "nvidia.com/whole")) << "other pools go on";
  EXPECT_TRUE(WaitForText("nvidia-cuda-mps-control is not below"));
  EXPECT_TRUE(WaitForGpus(0, 8));
}

TEST_P(MpsPools, APoolThatChangesKeepsDaemonsThatAreInUse) {
  ASSERT_NO_FATAL_FAILURE(StartMps());
  ASSERT_NO_FATAL_FAILURE(RunPod("user", 1));
  const pid_t first = PidOf(devices_[0]);
  const pid_t second = PidOf(devices_[1]);
  const bool uses_first = DeviceOf("user") == devices_[0];
  const std::string busy = uses_first ? devices_[0] : devices_[1];
  const std::string idle = uses_first ? devices_[1] : devices_[0];
  Write("pools:\n- resource: nvidia.com/whole\n  devices: all\n");
  EXPECT_TRUE(WaitForGpus(3, 3, "nvidia.com/whole"));
  EXPECT_TRUE(WaitForPid(idle, [](pid_t pid) { return pid == 0; }));
  EXPECT_EQ(PidOf(busy), uses_first ? first : second) << "its pod still needs it";
  EXPECT_TRUE(WaitForText("changes once nobody uses it"));
  ASSERT_OK(kubelet_->RemovePod("user"));
  EXPECT_TRUE(WaitForGpus(4, 4, "nvidia.com/whole"));
  EXPECT_TRUE(WaitForPid(busy, [](pid_t pid) { return pid == 0; }));
}

TEST_P(MpsPools, SeveralSlotsOfAContainerAreOfOneDevice) {
  ASSERT_NO_FATAL_FAILURE(
      StartMps("pools:\n- devices: {index: 0-1}\n  share: {by: mps, replicas: 4, multiple: allow}\n"
               "- resource: nvidia.com/whole\n  devices: all\n"));
  ASSERT_NO_FATAL_FAILURE(RunPod("two", 2));
  for (const std::string& id : IdsOf("two")) {
    EXPECT_TRUE(id.starts_with(DeviceOf("two"))) << id;
  }
  EXPECT_THAT(Container("two").options.envs,
              Contains(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50")));
}

TEST_P(MpsPools, UnequalSharesAreResourcesOfTheirSizes) {
  ASSERT_NO_FATAL_FAILURE(MakeNode(
      {.more_config = "pools:\n- devices: {index: 0}\n  share: {by: mps, layout: [8Gi, 4Gi]}\n"
                      "- resource: nvidia.com/whole\n  devices: all\n"}));
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(1, 1, "nvidia.com/gpu-8gi"));
  ASSERT_TRUE(WaitForGpus(1, 1, "nvidia.com/gpu-4gi"));
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("small", "nvidia.com/gpu-4gi", 1)));
}

INSTANTIATE_TEST_SUITE_P(Both, MpsPools,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         [](const auto& way) {
                           return way.param == Registration::kPluginWatcher ? "Watcher" : "Socket";
                         });

}  // namespace
}  // namespace kgpu::integration
