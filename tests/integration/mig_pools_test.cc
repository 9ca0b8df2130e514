// Pools with share.by: mig: the agent partitions GPUs that nobody uses, whatever ends in between.
#include <sys/stat.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/agent_fixture.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHalf = "nvidia.com/mig-3g.40gb";
constexpr const char* kWhole = "nvidia.com/mig-7g.80gb";
constexpr const char* kTwoGpus = "pools:\n- devices: {index: [0, 1]}\n  share: {by: mig, layout: ";
// On Ampere, MIG is turned on by a reset, for which nobody may have the GPU open: not the agent
// either.
constexpr const char* kAmpere = "8xA100-SXM4-80GB";
constexpr const char* kHopper = "8xH100-SXM5-80GB";

class MigPools : public AgentFixture {
 protected:
  void Write(const std::string& pools) const {
    node_->host().dir().WriteFile("config.yaml",
                                  fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\nplugin: "
                                              "{{registration: kubelet-socket}}\n{}",
                                              pools));
  }
  static std::string TwoGpus(const std::string& layout) {
    return std::string(kTwoGpus) + layout + "}\n- devices: all\n";
  }
  std::string Layouts() const { return node_->host().Kgpu({"mig", "list"}).out; }
  // The agent's note about the change that runs.
  std::string begun() const { return node_->run_dir() + "/mig-change.json"; }
  // Differs for each note; empty: there is none.
  std::string NoteMark() const {
    struct stat info = {};
    return stat(begun().c_str(), &info) != 0
               ? std::string()
               : fmt::format("{} {}.{}", info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  // One that `former` is no mark of.
  bool WaitForChange(const std::string& former = "") const {
    return WaitInFolder(
        node_->run_dir(),
        [&] {
          const std::string mark = NoteMark();
          return !mark.empty() && mark != former;
        },
        kAgentPatience);
  }
};

TEST_P(MigPools, GpusGetTheirLayoutByAReset) {
  ASSERT_NO_FATAL_FAILURE(
      MakeNode({.profile = kAmpere, .more_config = TwoGpus("[3g.40gb, 3g.40gb]")}));
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(4, 4, kHalf)) << Layouts();
  EXPECT_TRUE(WaitForGpus(6, 6));
  EXPECT_TRUE(WaitForText(R"("state":"success")"));
  EXPECT_FALSE(std::filesystem::exists(begun()));
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("one", kHalf, 1)));
}

TEST_P(MigPools, ABusyGpuWaitsAndTheOthersChange) {
  ASSERT_NO_FATAL_FAILURE(StartNode(8, {.profile = kHopper}));
  ASSERT_NO_FATAL_FAILURE(RunPod("old", 1));
  Write("pools:\n- devices: all\n  share: {by: mig, layout: [7g.80gb]}\n");
  ASSERT_TRUE(WaitForGpus(7, 7, kWhole)) << Layouts();
  EXPECT_TRUE(WaitForText("/old"));
  EXPECT_TRUE(WaitForText(R"("state":"pending")"));
  EXPECT_EQ(kubelet_->FindPod("old")->status.phase, PodPhase::kRunning);
  ASSERT_OK(kubelet_->RemovePod("old"));
  EXPECT_TRUE(WaitForGpus(8, 8, kWhole)) << Layouts();
}

// Instances in use stay where they are; the rest changes around them.
TEST_P(MigPools, AnInstanceInUseStaysIfItIsInTheNewLayout) {
  ASSERT_NO_FATAL_FAILURE(
      MakeNode({.profile = kHopper, .more_config = TwoGpus("[3g.40gb, 3g.40gb]")}));
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(4, 4, kHalf));
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("one", kHalf, 1)));
  Write(TwoGpus("[3g.40gb, 2g.20gb]"));
  EXPECT_TRUE(WaitForGpus(2, 2, "nvidia.com/mig-2g.20gb")) << Layouts();
  EXPECT_EQ(kubelet_->FindPod("one")->status.phase, PodPhase::kRunning);
  EXPECT_TRUE(WaitForGpus(2, 2, kHalf)) << Layouts();
}

TEST_P(MigPools, AKilledAgentGoesOn) {
  ASSERT_NO_FATAL_FAILURE(
      MakeNode({.profile = kAmpere,
                .more_config = "pools:\n- devices: all\n  share: {by: mig, layout: [7g.80gb]}\n"}));
  std::string former;  // the note of the change before
  for (int i = 0; i < 2; ++i) {
    node_->StartAgent();
    ASSERT_TRUE(WaitForChange(former)) << Layouts();
    node_->EndAgent(SIGKILL);
    former = NoteMark();
  }
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(8, 8, kWhole)) << Layouts();
  EXPECT_TRUE(WaitForText(R"("state":"success")"));
  EXPECT_FALSE(std::filesystem::exists(begun()));
}

// The configuration that a killed agent followed is gone: what it began is finished all the same.
TEST_P(MigPools, WhatAKilledAgentBeganIsFinishedWithoutItsConfiguration) {
  ASSERT_NO_FATAL_FAILURE(MakeNode({.profile = kAmpere, .more_config = TwoGpus("[7g.80gb]")}));
  node_->StartAgent();
  ASSERT_TRUE(WaitForChange());
  node_->EndAgent(SIGKILL);
  Write("migStrategy: mixed\n");
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(1, 1, kWhole)) << Layouts();
  EXPECT_TRUE(WaitForGpus(7, 7)) << Layouts();
}

// A program that listens to the driver's events, as DCGM does, keeps the GPUs open.
TEST_P(MigPools, ARefusedResetLeavesNoPendingMode) {
  ASSERT_NO_FATAL_FAILURE(MakeNode({.profile = kAmpere}));
  std::vector<std::string> argv = {"kgpu", "devices", "--watch"};
  std::ranges::copy(node_->host().flags(), std::back_inserter(argv));
  e2e::Background watcher(std::move(argv));
  ASSERT_TRUE(watcher.WaitFor("HEALTH"));
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(8, 8));
  Write(TwoGpus("[7g.80gb]"));
  EXPECT_TRUE(WaitForText("MIG turns on at a reset")) << Layouts();
  EXPECT_TRUE(WaitForText("the former layouts are back")) << Layouts();
  // The agent changes one GPU after the other, and tries again later: the mode may be pending just
  // now, but does not stay so.
  EXPECT_TRUE(node_->WaitForStatus([&](const boost::json::value&) {
    return Layouts().find("after a reset") == std::string::npos;
  })) << Layouts();
  EXPECT_TRUE(WaitForGpus(6, 6)) << "the others";
}

TEST_P(MigPools, AGpuInMigModeWithoutDevicesIsWithdrawnWithTheFix) {
  ASSERT_NO_FATAL_FAILURE(StartNode(8, {.profile = kHopper}));
  node_->host().Inject("mig", {"1", "--enable"});
  EXPECT_TRUE(WaitForGpus(7, 7));
  EXPECT_TRUE(WaitForText("kgpu mig apply --gpu 1 --select all-disabled"));
  ASSERT_NO_FATAL_FAILURE(RunPod("all", 7));
  node_->host().Inject("mig", {"1", "--disable"});
  EXPECT_TRUE(WaitForGpus(8, 8));
}

// NVIDIA/k8s-device-plugin#728: the answer of one resource must not replace that of the other.
TEST_P(MigPools, AContainerHasTheDevicesOfBothItsResources) {
  ASSERT_NO_FATAL_FAILURE(MakeNode({.profile = "8xA100-mig",
                                    .strategy = "device-specs",
                                    .more_config = "migStrategy: mixed\n"}));
  node_->StartAgent();
  const char* other = "nvidia.com/mig-2g.20gb";
  ASSERT_TRUE(WaitForGpus(5, 5, other));
  ASSERT_TRUE(WaitForGpus(11, 11, "nvidia.com/mig-1g.10gb"));
  kubelet::PodSpec pod = kubelet::SimplePod("two", "nvidia.com/mig-1g.10gb", 1);
  pod.containers.at(0).limits[other] = 2;
  ASSERT_NO_FATAL_FAILURE(RunPod(pod));
  const kubelet::ContainerStatus container = kubelet_->FindPod("two")->status.containers.front();
  std::set<std::string> capabilities;
  for (const auto& device : container.options.devices) {
    if (device.container_path.starts_with("/dev/nvidia-caps/")) {
      capabilities.insert(device.container_path);
    }
  }
  EXPECT_EQ(capabilities.size(), 6U) << "two for each MIG device";
}

// The program that changes gives up after 20 s; the agent answers all the time.
TEST_P(MigPools, AGpuWhoseDriverHangsFailsAndTheOthersChange) {
  ASSERT_NO_FATAL_FAILURE(MakeNode({.profile = kHopper, .more_config = TwoGpus("[7g.80gb]")}));
  node_->host().Inject("hang", {"0", "--call", "nvmlDeviceCreateGpuInstance"});
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(6, 6));
  EXPECT_TRUE(WaitForText(R"("state":"pending")"));
  EXPECT_TRUE(kubelet_->WaitForResource(kWhole, {.capacity = 1, .allocatable = 1},
                                        std::chrono::seconds(60)))
      << Layouts();
  EXPECT_TRUE(WaitForText("the former layouts are back", std::chrono::seconds(60))) << Layouts();
  node_->host().Inject("heal", {"all"});
  Write(TwoGpus("[3g.40gb, 3g.40gb]"));
  EXPECT_TRUE(WaitForGpus(4, 4, kHalf)) << Layouts();
}

INSTANTIATE_TEST_SUITE_P(Socket, MigPools, ::testing::Values(Registration::kKubeletSocket));

}  // namespace
}  // namespace kgpu::integration
