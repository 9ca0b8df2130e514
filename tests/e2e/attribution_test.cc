// Two real containers on one simulated GPU, that they share or that is cut: which process is whose.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/node/pods/watch.h"
#include "src/platform/base/event_loop.h"
#include "src/preload/gate.h"
#include "testing/kubelet/sample_plugin.h"
#include "testing/status_matchers.h"
#include "tests/e2e/two_pods.h"

namespace kgpu::e2e {
namespace {

using std::chrono::milliseconds;
using ::testing::SizeIs;

constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";

// The watch by itself, beside a plugin that gives out replicas.
class AttributionTest : public TwoPods {
 protected:
  void StartPlugin() override {
    std::vector<kubelet::Device> replicas;
    for (const int replica : {0, 1}) {
      replicas.push_back({.id = fmt::format("{}::{}", kGpu, replica),
                          .health = kubelet::kHealthy,
                          .numa_nodes = {0}});
    }
    plugin_ = std::make_unique<kubelet::SamplePlugin>(
        kubelet::SamplePlugin::Options{.socket_path = folder() + "/device-plugins/gpu.sock",
                                       .resource = kGpuResource,
                                       .devices = replicas},
        kubelet::SamplePlugin::Behaviour{});
    ASSERT_OK(plugin_->Register(folder() + "/device-plugins/kubelet.sock"));
  }
  void StartWatch(std::vector<std::string> runtimes) {
    root_ = std::make_unique<sys::Root>(sys::Root::Open(host_->path()).value());
    watch_ = std::make_unique<pods::Watch>(
        *loop_, *root_,
        pods::WatchOptions{.pod_resources_socket = folder() + "/pod-resources/kubelet.sock",
                           .runtime_sockets = std::move(runtimes),
                           .every = milliseconds(100)},
        pods::AtOnce(), [](const pods::PodMapPtr&) {});
  }
  // The processes of `pids` use the GPU: the driver's list, and the host's /proc.
  void Use(const std::vector<uint32_t>& pids) {
    auto samples = std::make_shared<device::SampleSet>();
    device::GpuSample& gpu = samples->gpus.emplace_back();
    gpu.uuid = device::GpuUuid::Parse(kGpu).value();
    for (const uint32_t pid : pids) {
      host_->Inject("process", {"0", "--pid", std::to_string(pid), "--memory", "1Gi"});
      gpu.processes.emplace_back().pid = pid;
    }
    watch_->OnSample(samples);
  }
  bool RunUntil(const std::function<bool(const pods::PodMap&)>& condition) {
    const SteadyTime limit = loop_->clock().Now() + std::chrono::seconds(30);
    std::function<void()> look = [&] {
      if (condition(*watch_->current()) || loop_->clock().Now() > limit) {
        loop_->Quit();
      } else {
        loop_->After(milliseconds(10), look);
      }
    };
    loop_->Post(look);
    loop_->Run();
    return condition(*watch_->current());
  }
  std::string PodOf(uint32_t pid) const {
    const auto& processes = watch_->current()->processes;
    const auto found = processes.find(pid);
    return found == processes.end()
               ? "nobody"
               : fmt::format("{}/{}", found->second.pod, found->second.container);
  }

  std::unique_ptr<kubelet::SamplePlugin> plugin_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  std::unique_ptr<sys::Root> root_;
  std::unique_ptr<pods::Watch> watch_;
};

TEST_F(AttributionTest, EachProcessIsItsPods) {
  const uint32_t first = StartPod("a");
  const uint32_t second = StartPod("b");
  StartWatch({folder() + "/cri.sock"});
  const uint32_t own = static_cast<uint32_t>(getpid());
  Use({first, second, own});
  ASSERT_TRUE(RunUntil([](const pods::PodMap& map) {
    return map.devices.size() == 2 && map.processes.size() == 2;
  })) << watch_->current()->problem;
  EXPECT_EQ(PodOf(first), "a/main");
  EXPECT_EQ(PodOf(second), "b/main");
  EXPECT_EQ(PodOf(own), "nobody");
  EXPECT_THAT(pods::UsersOf(*watch_->current(), kGpu), SizeIs(2));
  EXPECT_NE(watch_->current()->processes.at(first).pod_uid, "");
}

TEST_F(AttributionTest, APodThatVanishesIsGoneWithItsDevice) {
  const uint32_t first = StartPod("a");
  (void)StartPod("b");
  StartWatch({folder() + "/cri.sock"});
  Use({first});
  ASSERT_TRUE(RunUntil([](const pods::PodMap& map) { return map.devices.size() == 2; }));
  ASSERT_EQ(Run({"delete", "b"}).code, 0);
  ASSERT_TRUE(RunUntil([](const pods::PodMap& map) { return map.devices.size() == 1; }));
  EXPECT_EQ(watch_->current()->devices[0].user.pod, "a");
  EXPECT_EQ(PodOf(first), "a/main");
}

TEST_F(AttributionTest, TheFoldersOfLogsNameThePodsWhereNoRuntimeAnswers) {
  const uint32_t first = StartPod("a");
  const uint32_t second = StartPod("b");
  StartWatch({});
  Use({first, second});
  ASSERT_TRUE(RunUntil([](const pods::PodMap& map) { return map.processes.size() == 2; }));
  EXPECT_EQ(PodOf(first), "a/main");
  EXPECT_EQ(PodOf(second), "b/main");
}

class SharedGpuTest : public AgentTest {
 protected:
  void StartPlugin() override {
    StartAgent("pools: [{devices: {index: 0}, share: {by: time, replicas: 2}}]\n");
  }
};

TEST_F(SharedGpuTest, MemoryAndUtilisationAreEachPodsOwnAndGoWithIt) {
  const uint32_t first = StartPod("a");
  const uint32_t second = StartPod("b");
  Use(first, "1Gi", "30");
  Use(second, "3Gi", "50");
  Use(static_cast<uint32_t>(getpid()), "2Gi", "10");
  const bool is_shown = WaitForPage(
      [](const std::string& page) {
        return Value(page, "kgpu_container_memory_used_bytes", "pod=\"a\"") == "1073741824" &&
               Value(page, "kgpu_container_memory_used_bytes", "pod=\"b\"") == "3221225472" &&
               Value(page, "kgpu_container_sm_utilization_ratio", "pod=\"a\"") == "0.3" &&
               Value(page, "kgpu_container_sm_utilization_ratio", "pod=\"b\"") == "0.5" &&
               Value(page, "kgpu_pod_gpu_seconds_total", "pod=\"a\"") != "absent";
      },
      std::chrono::seconds(30));
  ASSERT_TRUE(is_shown) << Page();

  ASSERT_EQ(Run({"delete", "b"}).code, 0);
  const auto deleted = std::chrono::steady_clock::now();
  EXPECT_TRUE(WaitForPage(
      [](const std::string& page) { return page.find("pod=\"b\"") == std::string::npos; },
      std::chrono::seconds(10)));
  const auto gone = std::chrono::steady_clock::now() - deleted;
  // For people: how long depends on how busy the machine is; a period is a second.
  RecordProperty("gone_after_ms", static_cast<int>(gone / milliseconds(1)));
  // The driver still lists the process of the pod that is gone: it is not the other one's.
  EXPECT_EQ(Value(Page(), "kgpu_container_memory_used_bytes", "pod=\"a\""), "1073741824");

  EXPECT_THAT(Usage(), ::testing::ContainsRegex("default +a .*\ndefault +b "));
}

// Slices of one GPU, each with half of its time.
class TimedSlicesTest : public AgentTest {
 protected:
  void StartPlugin() override {
    StartAgent("pools: [{devices: {index: 0}, share: {by: memory, size: 7Gi, compute: 50}}]\n");
  }
  std::map<std::string, std::string> Allocatable() const override { return {{kSlice, "2"}}; }
  // What the gate says that is mounted in the container whose first process is `pid`.
  static preload::GateTurn GateOf(uint32_t pid) {
    preload::Gate gate{};
    for (const std::filesystem::path& path : GatesOf(pid)) {
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      EXPECT_EQ(pread(file, &gate, sizeof(gate), 0), static_cast<ssize_t>(sizeof(gate)));
      close(file);
    }
    EXPECT_EQ(gate.magic, preload::kGateMagic);
    return preload::UnpackTurn(gate.word);
  }
  static std::vector<std::filesystem::path> GatesOf(uint32_t pid) {
    std::vector<std::filesystem::path> paths;
    for (const auto& slot : std::filesystem::directory_iterator(
             fmt::format("/proc/{}/root/usr/lib/kgpu/slots", pid))) {
      paths.push_back(slot.path() / "gate");
    }
    EXPECT_THAT(paths, SizeIs(1));
    return paths;
  }
  bool WaitForTarget(const std::string& pod, const std::string& target) const {
    return WaitForPage(
        [&](const std::string& page) {
          return Value(page, "kgpu_container_compute_target_ratio",
                       fmt::format("pod=\"{}\"", pod)) == target;
        },
        std::chrono::seconds(60));
  }

  static constexpr const char* kSlice = "nvidia.com/gpu-7gi";
};

TEST_F(TimedSlicesTest, GatesCloseWhileBothAreBusyAndOnlyThen) {
  const uint32_t first = StartPod("a", kSlice);
  const uint32_t second = StartPod("b", kSlice);
  EXPECT_EQ(GateOf(first).open, preload::kGateParts);
  // The container may read it, and no more.
  const int file = open(GatesOf(first).at(0).c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_LT(file, 0);
  EXPECT_EQ(errno, EROFS);

  Use(first, "1Gi", "60");
  Use(second, "1Gi", "40");
  ASSERT_TRUE(WaitForTarget("a", "0.5")) << Page();
  EXPECT_TRUE(WaitForPage(
      [](const std::string& page) {
        return Value(page, "kgpu_container_compute_error_ratio", "pod=\"a\"") == "0.1" &&
               Value(page, "kgpu_container_compute_error_ratio", "pod=\"b\"") == "-0.1" &&
               Value(page, "kgpu_container_compute_share_ratio", "pod=\"a\"") == "0.5" &&
               Value(page, "kgpu_container_memory_limit_bytes", "pod=\"a\"") == "7516192768" &&
               Value(page, "kgpu_container_memory_peak_bytes", "pod=\"a\"") == "1073741824";
      },
      std::chrono::seconds(30)))
      << Page();
  EXPECT_LT(GateOf(first).open, preload::kGateParts);
  EXPECT_LT(GateOf(second).open, preload::kGateParts);

  // An agent that is killed leaves the gates as they are; the next one opens them.
  ASSERT_EQ(kill(agent_->pid(), SIGKILL), 0);
  ASSERT_FALSE(agent_->RunsFor(std::chrono::seconds(20)));
  EXPECT_LT(GateOf(first).open, preload::kGateParts);
  Use(second, "1Gi", "0");
  StartPlugin();
  ASSERT_TRUE(WaitForPage(
      [](const std::string& page) {
        return Value(page, "kgpu_container_sm_utilization_ratio", "pod=\"a\"") == "0.6";
      },
      std::chrono::seconds(60)));
  EXPECT_TRUE(WaitForTarget("a", "absent"));
  EXPECT_TRUE(WaitForPage(
      [&](const std::string&) {
        return GateOf(first).open == preload::kGateParts &&
               GateOf(second).open == preload::kGateParts;
      },
      std::chrono::seconds(30)));
}

// An H100 of which two MIG devices are made.
class CutGpuTest : public AgentTest {
 protected:
  void MakeHost() override {
    host_ = std::make_unique<SimHost>("8xH100-SXM5-80GB");
    host_->Inject("mig", {"0", "--enable"});
    host_->Inject("mig", {"0", "--create", "1g.10gb,2g.20gb"});
  }
  void StartPlugin() override { StartAgent("migStrategy: mixed\n"); }
  std::map<std::string, std::string> Allocatable() const override {
    return {{kSmall, "1"}, {kLarge, "1"}};
  }
  // GPU instance of the device that has `profile`.
  std::string InstanceOf(const std::string& profile) const {
    const std::string page = Page();
    const std::string label = fmt::format("mig_profile=\"{}\",gpu_instance=\"", profile);
    const size_t at = page.find(label);
    return at == page.npos ? "none"
                           : page.substr(at + label.size(),
                                         page.find('"', at + label.size()) - at - label.size());
  }

  static constexpr const char* kSmall = "nvidia.com/mig-1g.10gb";
  static constexpr const char* kLarge = "nvidia.com/mig-2g.20gb";
};

TEST_F(CutGpuTest, EachPodHasTheMemoryAndTheTimeOfItsMigDevice) {
  const uint32_t first = StartPod("a", kSmall);
  const uint32_t second = StartPod("b", kLarge);
  Use(first, "1Gi", "20", {"--gi", InstanceOf("1g.10gb")});
  Use(second, "3Gi", "60", {"--gi", InstanceOf("2g.20gb")});
  const bool is_shown = WaitForPage(
      [](const std::string& page) {
        return Value(page, "kgpu_container_memory_used_bytes", "pod=\"a\"") == "1073741824" &&
               Value(page, "kgpu_container_memory_used_bytes", "pod=\"b\"") == "3221225472" &&
               Value(page, "kgpu_mig_memory_used_bytes", "pod=\"b\"") == "3221225472" &&
               Value(page, "kgpu_mig_sm_active_ratio", "pod=\"a\"") == "0.2" &&
               Value(page, "kgpu_mig_sm_active_ratio", "pod=\"b\"") == "0.6" &&
               Value(page, "kgpu_pod_gpu_busy_seconds_total", "pod=\"a\"") != "absent" &&
               Value(page, "kgpu_pod_gpu_busy_seconds_total", "pod=\"b\"") != "absent";
      },
      std::chrono::seconds(60));
  const std::string page = Page();
  ASSERT_TRUE(is_shown) << page;
  EXPECT_EQ(Value(page, "kgpu_container_memory_used_bytes", "mig_profile=\"1g.10gb\""),
            "1073741824");
  EXPECT_EQ(Value(page, "DCGM_FI_DEV_FB_USED", "pod=\"a\""), "1024");
  // The driver does not report how busy a process on a MIG device is, nor such a GPU as a whole.
  EXPECT_EQ(Value(page, "kgpu_container_sm_utilization_ratio", "pod="), "absent");
  EXPECT_EQ(Value(page, "kgpu_gpu_utilization_ratio", "gpu=\"0\""), "absent");
  // BUSY-HOURS and BUSY % are reported.
  EXPECT_THAT(Usage(), ::testing::ContainsRegex("default +b +[0-9.]+ +[0-9.]+ +[0-9]+%"));
}

}  // namespace
}  // namespace kgpu::e2e
