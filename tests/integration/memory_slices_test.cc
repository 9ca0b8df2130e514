// Memory slices as the kubelet and containers get them, and devices whose pool changes while pods
// hold them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <csignal>
#include <filesystem>

#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"
#include "src/preload/ledger.h"
#include "tests/integration/agent_fixture.h"

namespace kgpu::integration {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kSlices = "nvidia.com/gpu-4gi";

class MemorySlices : public AgentFixture {
 protected:
  void Write(const std::string& pools) const {
    node_->host().dir().WriteFile(
        "config.yaml", fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\nplugin: "
                                   "{{registration: {}}}\nhealth: {{holdDown: 50ms}}\n{}",
                                   is_watched() ? "plugin-watcher" : "kubelet-socket", pools));
  }
  // Of a container's file; empty if it has none.
  std::string HostPathOf(const std::string& pod, std::string_view container_path) const {
    for (const kubelet::BindMount& mount : Container(pod).options.mounts) {
      if (mount.container_path == container_path) {
        return mount.host_path;
      }
    }
    return "";
  }
  // The host's paths of the files `name` of all its slots.
  std::vector<std::string> OfSlots(const std::string& pod, std::string_view name) const {
    std::vector<std::string> paths;
    for (const kubelet::BindMount& mount : Container(pod).options.mounts) {
      if (mount.container_path.starts_with("/usr/lib/kgpu/slots/") &&
          mount.container_path.ends_with(name)) {
        EXPECT_EQ(mount.read_only, name == "/limits");
        paths.push_back(mount.host_path);
      }
    }
    return paths;
  }
  static std::string TextOf(const std::string& path) {
    const auto root = sys::Root::Open("/");
    return root.ok() ? root->ReadFile(path).value_or("") : "";
  }
};

TEST_P(MemorySlices, AContainerGetsItsLimitWithItsDevice) {
  // T4s have 16 GiB, of which the driver keeps a part.
  ASSERT_NO_FATAL_FAILURE(
      MakeNode({.more_config = "pools:\n- devices: {index: 0}\n  share: {by: memory, size: 4Gi}\n"
                               "- devices: all\n"}));
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(3, 3, kSlices));
  ASSERT_TRUE(WaitForGpus(3, 3));
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("one", kSlices, 1)));
  EXPECT_EQ(TextOf(HostPathOf("one", "/etc/ld.so.preload")), "/usr/lib/kgpu/libkgpu-share.so\n");
  const std::string library = HostPathOf("one", "/usr/lib/kgpu/libkgpu-share.so");
  EXPECT_THAT(TextOf(library).substr(0, 4), StartsWith("\x7f"
                                                       "ELF"));
  ASSERT_EQ(OfSlots("one", "/limits").size(), 1U);
  EXPECT_THAT(TextOf(OfSlots("one", "/limits").at(0)), HasSubstr("memory 4294967296\n"));
  ASSERT_EQ(OfSlots("one", "/ledger").size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(OfSlots("one", "/ledger").at(0)));
  // Two slices in one container: both limits.
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("two", kSlices, 2)));
  EXPECT_EQ(OfSlots("two", "/limits").size(), 2U);
  EXPECT_THAT(OfSlots("two", "/ledger"), Not(Contains(OfSlots("one", "/ledger").at(0))));
  // A whole GPU has none.
  ASSERT_NO_FATAL_FAILURE(RunPod("whole", 1));
  EXPECT_EQ(HostPathOf("whole", "/etc/ld.so.preload"), "");
}

// The next pod has nothing of what a former tenant did to its ledger, or still holds of it.
TEST_P(MemorySlices, EachPodHasALedgerOfItsOwn) {
  ASSERT_NO_FATAL_FAILURE(
      MakeNode({.more_config = "pools:\n- devices: {index: 0}\n  share: {by: memory, size: 10Gi}\n"
                               "- devices: all\n"}));
  constexpr const char* kOne = "nvidia.com/gpu-10gi";
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(1, 1, kOne));
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("first", kOne, 1)));
  const std::string path = OfSlots("first", "/ledger").at(0);
  struct stat first = {};
  ASSERT_EQ(stat(path.c_str(), &first), 0);
  // Its container starts again, and so does the agent.
  ASSERT_NO_FATAL_FAILURE(RestartContainer("first"));
  node_->EndAgent();
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(1, 1, kOne));
  struct stat again = {};
  ASSERT_EQ(stat(path.c_str(), &again), 0);
  EXPECT_EQ(again.st_ino, first.st_ino);
  const UniqueFd held(open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(fchmod(held.get(), 0), 0);
  ASSERT_OK(kubelet_->RemovePod("first"));
  ASSERT_TRUE(kubelet_->WaitFor([&] { return !kubelet_->FindPod("first"); }, kAgentPatience));
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("next", kOne, 1)));
  ASSERT_EQ(OfSlots("next", "/ledger").at(0), path);
  struct stat next = {};
  ASSERT_EQ(stat(path.c_str(), &next), 0);
  EXPECT_NE(next.st_ino, first.st_ino);
  EXPECT_EQ(next.st_mode & 07777, 0666U);
  ASSERT_EQ(ftruncate(held.get(), 0), 0);
  EXPECT_EQ(TextOf(path).size(), preload::kLedgerSize);
}

// A pod is not admitted only to be refused.
TEST_P(MemorySlices, WithoutALibraryThatLoadsNoSliceIsHealthy) {
  ASSERT_NO_FATAL_FAILURE(
      MakeNode({.more_config = "pools:\n- devices: {index: 0}\n  share: {by: memory, size: 4Gi}\n"
                               "- devices: all\n"}));
  node_->host().dir().WriteFile("share.so", "no library");
  node_->StartAgent({"--share-library", node_->host().dir().At("share.so")});
  EXPECT_TRUE(WaitForGpus(0, 3, kSlices));
  EXPECT_TRUE(WaitForGpus(3, 3)) << "whole GPUs need none";
  EXPECT_TRUE(WaitForText("SlicesNotReady"));
  EXPECT_TRUE(WaitForText("no program here could load it"));
}

TEST_P(MemorySlices, OneContainerMayHaveSlicesOfSeveralResources) {
  ASSERT_NO_FATAL_FAILURE(MakeNode(
      {.more_config = "pools:\n- devices: all\n  share: {by: memory, layout: [6Gi, 4Gi]}\n"}));
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(4, 4, kSlices));
  ASSERT_TRUE(WaitForGpus(4, 4, "nvidia.com/gpu-6gi"));
  kubelet::PodSpec pod = kubelet::SimplePod("both", kSlices, 1);
  pod.containers.at(0).limits["nvidia.com/gpu-6gi"] = 1;
  ASSERT_NO_FATAL_FAILURE(RunPod(pod));
  std::string limits;
  for (const std::string& path : OfSlots("both", "/limits")) {
    limits += TextOf(path);
  }
  EXPECT_THAT(limits, AllOf(HasSubstr("memory 4294967296\n"), HasSubstr("memory 6442450944\n")));
}

TEST_P(MemorySlices, AnAgentThatRestartsStillWaitsForABusyDevice) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("old", 1));
  Write("pools:\n- devices: all\n  share: {by: memory, size: 4Gi}\n");
  ASSERT_TRUE(WaitForGpus(9, 9, kSlices));
  node_->EndAgent();
  node_->StartAgent();
  EXPECT_TRUE(WaitForGpus(9, 9, kSlices));
  EXPECT_TRUE(node_->WaitForStatus([&](const boost::json::value& status) {
    return boost::json::serialize(status).find("/old holds it") != std::string::npos;
  }));
  ASSERT_OK(kubelet_->RemovePod("old"));
  EXPECT_TRUE(WaitForGpus(12, 12, kSlices));
}

// Their pods go on, with the limits that they had.
TEST_P(MemorySlices, AnAgentThatRestartsStillWatchesSlicesOfBusyDevices) {
  constexpr const char* kOften = "metrics: {every: 1s}\n";
  ASSERT_NO_FATAL_FAILURE(
      MakeNode({.more_config = fmt::format("pools:\n- devices: all\n  share: {{by: memory, size: "
                                           "4Gi}}\n{}",
                                           kOften)}));
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(12, 12, kSlices));
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("user", kSlices, 1)));
  ASSERT_TRUE(WaitForText(R"("memoryLimit":4294967296)"));
  Write(fmt::format("pools:\n- devices: all\n{}", kOften));
  ASSERT_TRUE(WaitForGpus(3, 3));
  for (int i = 0; i < 2; ++i) {
    node_->EndAgent(i == 0 ? SIGKILL : SIGTERM);
    node_->StartAgent();
    ASSERT_TRUE(WaitForText("/user holds it"));
    EXPECT_TRUE(WaitForText(R"("memoryLimit":4294967296)"));
  }
  ASSERT_OK(kubelet_->RemovePod("user"));
  EXPECT_TRUE(WaitForGpus(4, 4));
  EXPECT_TRUE(WaitForText(R"("slices":[])"));
}

TEST_P(MemorySlices, ADeviceInUseChangesWhenItsPodEnds) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("old", 1));
  Write("pools:\n- devices: all\n  share: {by: memory, size: 4Gi}\n");
  // The three idle ones change.
  EXPECT_TRUE(WaitForGpus(9, 9, kSlices));
  EXPECT_TRUE(node_->WaitForStatus([&](const boost::json::value& status) {
    const std::string text = boost::json::serialize(status);
    return text.find("changes once nobody uses it") != std::string::npos &&
           text.find("/old holds it") != std::string::npos;
  }));
  EXPECT_EQ(kubelet_->FindPod("old")->status.phase, PodPhase::kRunning);
  ASSERT_OK(kubelet_->RemovePod("old"));
  EXPECT_TRUE(WaitForGpus(12, 12, kSlices));
  // Back again, at once for what nobody uses.
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("new", kSlices, 1)));
  Write("pools:\n- devices: all\n");
  EXPECT_TRUE(WaitForGpus(3, 3));
  ASSERT_OK(kubelet_->RemovePod("new"));
  EXPECT_TRUE(WaitForGpus(4, 4));
}

INSTANTIATE_TEST_SUITE_P(Both, MemorySlices,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         [](const auto& way) {
                           return way.param == Registration::kPluginWatcher ? "Watcher" : "Socket";
                         });

}  // namespace
}  // namespace kgpu::integration
