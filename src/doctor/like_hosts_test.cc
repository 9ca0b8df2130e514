// Hosts that are well and unlike the others: what looks like a fault is meant so there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "src/doctor/test_well_host.h"

namespace kgpu::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class LikeHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!host_.has_nodes()) {
      GTEST_SKIP() << "device nodes can not be made here";
    }
  }

  void Bind(std::string_view gpu, std::string_view driver) const {
    host_.Link(fmt::format("../../../../bus/pci/drivers/{}", driver),
               fmt::format("{}/{}/driver", PortFolder(gpu), gpu));
  }

  const WellHost host_;
};

TEST_F(LikeHostTest, CardsOfVirtualMachinesWantNoDriver) {
  host_.Unload();
  Bind(kGpu, "vfio-pci");
  Bind(kSecondGpu, "vfio-pci");
  host_.Write("etc/modprobe.d/vfio.conf", "blacklist nouveau\nblacklist nvidia\n");
  host_.Write("proc/driver/nvidia/x", "");
  EXPECT_THAT(host_.Troubles(), IsEmpty());
  EXPECT_THAT(host_.Ids(), Contains("pci-gpu-held-by-other-driver").Times(2));
}

TEST_F(LikeHostTest, SoDoCardsThatAreMeantForThem) {
  host_.Unload();
  host_.Write("proc/cmdline", "ro vfio-pci.ids=10de:20B5,10de:1aef quiet\n");
  host_.Write("etc/modprobe.d/vfio.conf", "blacklist nvidia\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
  host_.Write("proc/cmdline", "ro quiet\n");
  EXPECT_THAT(host_.Troubles(), Contains("driver-module-blacklisted"));
  host_.Write("etc/modprobe.d/guests.conf", "options vfio-pci ids=10de:20b5 disable_vga=1\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST_F(LikeHostTest, WhatHoldsVirtualMachinesApartStays) {
  host_.WriteGpu("iommu_group/type", "DMA-FQ\n");
  EXPECT_THAT(host_.Troubles(), Contains("pci-iommu-translates"));
  Bind(kSecondGpu, "vfio-pci");
  EXPECT_THAT(host_.Troubles(), Not(Contains("pci-iommu-translates")));
}

TEST_F(LikeHostTest, AT4HasASmallWindowForGood) {
  host_.WriteGpu("device", "0x1eb8\n");
  host_.WriteGpu("resource",
                 "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n"
                 "0x00000000b0000000 0x00000000bfffffff 0x000000000014220c\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
  host_.WriteGpu("resource1_resize", "00000000000001c0\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST_F(LikeHostTest, ACardHasNoMoreLanesThanItsSlot) {
  host_.WriteGpu("current_link_width", "8\n");
  host_.Write(PortFolder(kGpu) + "/max_link_width", "8\n");
  EXPECT_THAT(host_.Ids(), ElementsAre("pci-link-narrow"));
  EXPECT_THAT(host_.Troubles(), IsEmpty());
  host_.WriteGpu("current_link_width", "4\n");
  EXPECT_THAT(host_.Troubles(), ElementsAre("pci-link-narrow"));
}

TEST_F(LikeHostTest, RootPortsMayRedirect) {
  host_.Link("../../../../sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0",
             fmt::format("sys/bus/pci/devices/{}", kSecondGpu));
  std::string config(4096, '\0');
  config[0x100] = 0x0d;
  config[0x106] = 0x1d;
  host_.Write(PortFolder(kGpu) + "/config", config);
  EXPECT_THAT(host_.Troubles(), Not(Contains("pci-acs-redirects")));
}

TEST_F(LikeHostTest, ALaptopDrawsWithOtherGraphics) {
  host_.Remove("proc/700");
  host_.AddProcess(812, "Xorg", {"/usr/lib/xorg/Xorg", ":0"});
  host_.Link("/dev/dri/card0", "proc/812/fd/11");
  EXPECT_THAT(host_.Ids(), ElementsAre("persistence-off"));
  EXPECT_THAT(host_.Troubles(), IsEmpty());
}

TEST_F(LikeHostTest, WhatMayNotBeSeenOfADesktopIsNoTrouble) {
  host_.AddProcess(812, "Xorg", {"/usr/lib/xorg/Xorg", ":0"});
  EXPECT_THAT(host_.Ids(), ElementsAre("display-runs"));
  EXPECT_THAT(host_.Troubles(), IsEmpty());
}

TEST_F(LikeHostTest, AStockEngineLocksLittleMemory) {
  host_.Write("proc/710/limits", "Max locked memory         8388608     8388608     bytes\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST_F(LikeHostTest, NewRuncAndSystemdNeedNoLinks) {
  host_.Remove("dev/char");
  EXPECT_THAT(host_.Ids(), IsEmpty());
  host_.Write("usr/lib/systemd/libsystemd-shared-239.so", "");
  EXPECT_THAT(host_.Ids(), ElementsAre("cgroup-device-trap"));
}

TEST_F(LikeHostTest, TheLegacyHookLosesDevicesWhateverTheLinks) {
  host_.Write("etc/containerd/conf.d/99-nvidia.toml",
              "BinaryName = \"/usr/bin/nvidia-container-runtime\"\n");
  EXPECT_THAT(host_.Troubles(), Not(Contains("cgroup-device-trap")));
  host_.Write("etc/nvidia-container-runtime/config.toml",
              "[nvidia-container-runtime]\nmode = \"legacy\"\n");
  EXPECT_THAT(host_.Troubles(), Contains("cgroup-device-trap"));
}

TEST_F(LikeHostTest, NvidiasRuntimeNeedsNoCdiFile) {
  host_.Remove("var/run/cdi");
  EXPECT_THAT(host_.Troubles(), ElementsAre("cdi-missing"));
  host_.Write("etc/containerd/conf.d/99-nvidia.toml",
              "BinaryName = \"/usr/bin/nvidia-container-runtime\"\n");
  EXPECT_THAT(host_.Ids(), Contains("cdi-missing"));
  EXPECT_THAT(host_.Troubles(), Not(Contains("cdi-missing")));
}

TEST_F(LikeHostTest, GpusOfOthersAreNotOurs) {
  host_.Remove("var/run/cdi");
  host_.Write("etc/cdi/amd.json",
              R"({"cdiVersion": "0.5.0", "kind": "amd.com/gpu", "devices": [{"name": "0",
                  "containerEdits": {"env": ["A=1"]}}]})");
  EXPECT_THAT(host_.Troubles(), ElementsAre("cdi-missing"));
}

TEST_F(LikeHostTest, AnEngineLeftOffBesideOneThatRunsIsNoTrouble) {
  host_.tree().AddProgram("usr/bin/crio");
  EXPECT_THAT(host_.Ids(), ElementsAre("engine-stopped"));
  EXPECT_THAT(host_.Troubles(), IsEmpty());
}

TEST_F(LikeHostTest, DockerDoesNotStandInForTheKubeletsEngine) {
  host_.Remove("proc/710");
  host_.tree().AddProgram("usr/bin/dockerd");
  host_.AddProcess(711, "dockerd", {"/usr/bin/dockerd"});
  EXPECT_THAT(host_.Troubles(), Contains("engine-stopped"));
}

TEST_F(LikeHostTest, ADriverOfClaimsStandsInForADevicePlugin) {
  host_.Remove("proc/730");
  host_.Remove(kAgentStatus);
  host_.Remove("var/lib/kubelet/device-plugins/kgpu-nvidia.com_gpu.sock");
  host_.SetRegistered({});
  EXPECT_THAT(host_.Troubles(), Contains("plugin-missing"));
  host_.Write("var/lib/kubelet/plugins_registry/gpu.nvidia.com-reg.sock", "");
  EXPECT_THAT(host_.Troubles(), Not(Contains("plugin-missing")));
}

TEST_F(LikeHostTest, SoDoesAPluginThatSharesUnderANameOfItsOwn) {
  host_.Remove("proc/730");
  host_.Remove(kAgentStatus);
  host_.Remove("var/lib/kubelet/device-plugins/kgpu-nvidia.com_gpu.sock");
  const std::string file = "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
  host_.Write(file, R"({"Data": {"RegisteredDevices": {"amd.com/gpu": ["1"]}}})");
  EXPECT_THAT(host_.Troubles(), Contains("plugin-missing"));
  host_.Write(file, R"({"Data": {"RegisteredDevices": {"volcano.sh/vgpu-number": ["1"]}}})");
  EXPECT_THAT(host_.Troubles(), Not(Contains("plugin-missing")));
}

TEST_F(LikeHostTest, AnAgentInAPodIsToldOfTheKubeletsFolderByItsOwnName) {
  host_.AddProcess(720, "kubelet", {"/usr/bin/kubelet", "--root-dir=/data/kubelet"});
  EXPECT_THAT(host_.Troubles(), Contains("kubelet-root-moved"));
  host_.AddProcess(730, "kgpu",
                   {"kgpu", "agent", "--host-root=/host", "--kubelet-dir=/host/data/kubelet"});
  EXPECT_THAT(host_.Troubles(), Not(Contains("kubelet-root-moved")));
}

TEST_F(LikeHostTest, AFabricManagersPackageMattersWithSwitchesOnly) {
  host_.Write("var/lib/dpkg/status",
              "Package: nvidia-fabricmanager-535\nStatus: install ok installed\n"
              "Version: 535.54.03-1\n\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST(StaleSpecTest, AFileIsToldOfOnce) {
  const WellHost host;
  host.Write("var/run/cdi/kgpu.dev-gpu.json",
             R"({"cdiVersion": "0.5.0", "kind": "kgpu.dev/gpu", "devices": [{"name": "0",
                 "containerEdits": {"mounts": [
                 {"hostPath": "/usr/lib/a.so.470", "containerPath": "/a"},
                 {"hostPath": "/usr/lib/b.so.470", "containerPath": "/b"},
                 {"hostPath": "/usr/lib/c.so.470", "containerPath": "/c"}]}}]})");
  const Diagnosis diagnosis = host.Look();
  const auto stale = std::ranges::find(diagnosis.findings, "cdi-stale", &Finding::id);
  ASSERT_NE(stale, diagnosis.findings.end());
  EXPECT_EQ(std::ranges::count(diagnosis.findings, "cdi-stale", &Finding::id), 1);
  EXPECT_THAT(stale->evidence, ::testing::HasSubstr("/usr/lib/a.so.470"));
  EXPECT_THAT(stale->evidence, ::testing::EndsWith("(2 more)"));
}

}  // namespace
}  // namespace kgpu::doctor
