// Hosts that are healthy and unlike the others: what looks like a fault is meant so there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <chrono>

#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"
#include "src/diagnose/doctor/view.h"
#include "testing/tls/certificates.h"

namespace kgpu::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

class LikeHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!host_.has_nodes()) {
      GTEST_SKIP() << "cannot create device nodes here";
    }
  }

  void Bind(std::string_view gpu, std::string_view driver) const {
    host_.Link(fmt::format("../../../../bus/pci/drivers/{}", driver),
               fmt::format("{}/{}/driver", PortFolder(gpu), gpu));
  }

  const HealthyHost host_;
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

TEST_F(LikeHostTest, WhatRunsIsUnknownWithoutAProcfs) {
  for (const char* process : {"proc/700", "proc/710", "proc/720"}) {
    host_.Remove(process);
  }
  EXPECT_THAT(host_.Ids(), IsSupersetOf({"engine-stopped", "kubelet-stopped", "persistence-off"}));
  host_.Remove("proc/stat");
  for (const char* id : {"engine-stopped", "kubelet-stopped", "persistence-off"}) {
    EXPECT_THAT(host_.Ids(), Not(Contains(id)));
  }
  EXPECT_THAT(host_.Look().unreadable,
              Contains(HasSubstr("/proc is not the /proc of a running host")));
}

// Below a root without a procfs, where nobody can tell which engines run.
TEST_F(LikeHostTest, AnEnginesFilesAreReadWhetherItRunsOrNot) {
  host_.Remove("proc/stat");
  host_.Remove("proc/710");
  host_.tree().AddProgram("usr/bin/dockerd");
  host_.Write("etc/docker/daemon.json", R"({"default-runtime": "nvidia",})");
  EXPECT_THAT(host_.Troubles(), ElementsAre("engine-config-broken"));
  host_.Write("etc/docker/daemon.json",
              R"({"default-runtime": "nvidia", "runtimes": {"nvidia": {"path":
                  "/usr/bin/nvidia-container-runtime"}}})");
  const Diagnosis diagnosis = host_.Look();
  const auto found = std::ranges::find(diagnosis.findings, "engine-config-broken", &Finding::id);
  ASSERT_NE(found, diagnosis.findings.end());
  EXPECT_THAT(found->evidence.at(0), HasSubstr("/usr/bin/nvidia-container-runtime is configured as "
                                               "a runtime but does not exist"));
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

TEST_F(LikeHostTest, AnAgentInAPodSeesTheKubeletsFolderByItsOwnName) {
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

TEST_F(LikeHostTest, ANodeWithoutGpusMayBeMeantSo) {
  host_.Unload();
  host_.Remove("sys/bus/pci/devices");
  for (const std::string_view path :
       {"usr/lib", "etc/ld.so.cache", "var/lib/dkms", "lib/modules"}) {
    host_.Remove(path);
  }
  host_.Remove("sys/fs/cgroup/cgroup.controllers");
  host_.Write("var/lib/kubelet/config.yaml", "featureGates:\n  DevicePlugins: true\n");
  EXPECT_THAT(host_.Ids(), Contains("pci-no-gpu"));
  EXPECT_THAT(host_.Troubles(), Not(Contains("pci-no-gpu")));
  EXPECT_THAT(host_.Ids(), Not(Contains("kubelet-gate-gone")));
}

// The entitlements are read from what TestAuthority issues: so does Red Hat's.
class RedHatTest : public LikeHostTest {
 protected:
  void SetRelease(std::string_view text) const { host_.Write("etc/os-release", text); }
  void SetCertificate(const LeafOptions& options) const {
    host_.Write("etc/pki/entitlement/123.pem", authority_.Issue(options).certificate_pem);
    host_.Write("etc/pki/entitlement/123-key.pem", "of no interest");
  }
  bool IsReportedNotEntitled() const {
    return std::ranges::count(host_.Ids(), "rhel-not-entitled") > 0;
  }

  const TestAuthority authority_;
};

constexpr std::string_view kRhel = "ID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.4\"\n";

// What adds a kernel to a driver is who brought it.
TEST_F(LikeHostTest, AKernelWithoutTheDriverIsAddedByWhoeverBroughtThat) {
  host_.Write(fmt::format("lib/modules/{}/modules.builtin", kRelease), "");
  host_.Write("lib/modules/99.1.0-1-amd64/modules.builtin", "");
  const auto commands = [this] {
    for (const Finding& finding : host_.Look().findings) {
      if (finding.id == "kernel-next-without-driver") {
        return finding.fix.commands;
      }
    }
    return std::vector<std::string>();
  };
  EXPECT_THAT(commands(), ElementsAre(HasSubstr("linux-headers-99.1.0-1-amd64"),
                                      "dkms autoinstall -k 99.1.0-1-amd64"));
  host_.Write("var/lib/kgpu/driver.json", "");
  EXPECT_THAT(commands(), ElementsAre("kgpu driver install --kernel 99.1.0-1-amd64"));
}

TEST_F(RedHatTest, OnlyRedHatsOwnTakesAnEntitlement) {
  SetRelease("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.3\"\n");
  EXPECT_FALSE(IsReportedNotEntitled());
  SetRelease(kRhel);
  EXPECT_TRUE(IsReportedNotEntitled());
}

TEST_F(RedHatTest, WhatTheDistributionIsMayStandInUsrLibAlone) {
  host_.Remove("etc/os-release");
  host_.Write("usr/lib/os-release", kRhel);
  EXPECT_TRUE(IsReportedNotEntitled());
}

TEST_F(RedHatTest, ACertificateThatHoldsEntitles) {
  SetRelease(kRhel);
  SetCertificate({});
  EXPECT_FALSE(IsReportedNotEntitled());
}

TEST_F(RedHatTest, OneThatHasEndedDoesNotAndTheDateIsReported) {
  SetRelease(kRhel);
  SetCertificate({.valid_from = std::chrono::hours(-480), .valid_until = std::chrono::hours(-240)});
  ASSERT_TRUE(IsReportedNotEntitled());
  for (const Finding& finding : host_.Look().findings) {
    if (finding.id == "rhel-not-entitled") {
      EXPECT_THAT(finding.evidence.at(0), HasSubstr("/etc/pki/entitlement expired 20"));
      EXPECT_THAT(finding.fix.commands, Contains("subscription-manager refresh"));
    }
  }
}

TEST_F(RedHatTest, AMirrorOrACloudsRepositoriesServeAsWell) {
  SetRelease(kRhel);
  host_.Write("etc/yum.repos.d/redhat.repo", "[rhel-9-for-x86_64-baseos-rpms]\nenabled=1\n");
  EXPECT_TRUE(IsReportedNotEntitled()) << "worth nothing without a certificate";
  host_.Write("etc/yum.repos.d/epel.repo", "[epel]\nenabled=1\n");
  EXPECT_TRUE(IsReportedNotEntitled()) << "has no headers of the kernel";
  host_.Write("etc/yum.repos.d/site.repo", "[site-BaseOS]\nbaseurl=http://mirror.example/\n");
  EXPECT_FALSE(IsReportedNotEntitled());
}

TEST_F(RedHatTest, IsAWarningWhereADriverHasStillToCome) {
  SetRelease(kRhel);
  EXPECT_THAT(host_.Troubles(), Not(Contains("rhel-not-entitled"))) << "the driver works";
  host_.Unload();
  EXPECT_THAT(host_.Troubles(), Contains("rhel-not-entitled"));
}

TEST_F(RedHatTest, RhcosIsPointedToTheDriverToolkit) {
  SetRelease("ID=\"rhcos\"\nID_LIKE=\"rhel fedora\"\nVERSION_ID=\"4.16\"\n");
  EXPECT_FALSE(IsReportedNotEntitled()) << "it has a driver";
  host_.Unload();
  for (const std::string_view path : {"usr/lib", "var/lib/dkms", "lib/modules"}) {
    host_.Remove(path);
  }
  ASSERT_TRUE(IsReportedNotEntitled());
  EXPECT_THAT(host_.Troubles(), Not(Contains("rhel-not-entitled")));
  SetRelease("ID=\"rhel\"\nVARIANT_ID=coreos\nVERSION_ID=\"9.6\"\n");
  EXPECT_THAT(host_.Troubles(), Not(Contains("rhel-not-entitled")));
  EXPECT_TRUE(IsReportedNotEntitled());
}

TEST_F(LikeHostTest, WslHasItsGpuFromWindows) {
  host_.Unload();
  host_.Remove("sys/bus/pci/devices");
  host_.Write("dev/dxg", "");
  EXPECT_THAT(host_.Ids(), ElementsAre("place-unusual"));
  EXPECT_THAT(host_.Troubles(), IsEmpty());
}

TEST_F(LikeHostTest, AContainerHasNoEngineAndNoKubelet) {
  host_.Write(".dockerenv", "");
  EXPECT_THAT(host_.Ids(), IsEmpty());  // with an init system it is a node of kind's
  host_.Remove("run/systemd");
  host_.Remove("usr/bin/containerd");
  host_.Remove("proc");
  host_.Remove("lib/modules");
  EXPECT_THAT(host_.Ids(), ElementsAre("place-unusual"));
}

TEST_F(LikeHostTest, AContainerThatSeesNoHostIsNotReportedAsHealthy) {
  const Diagnosis on_host = host_.Look();
  EXPECT_EQ(on_host.skipped, 0U);
  host_.Remove("run/systemd");
  host_.Write(".dockerenv", "");
  const Diagnosis diagnosis = host_.Look();
  EXPECT_TRUE(diagnosis.is_host_hidden);
  EXPECT_LT(diagnosis.checks, on_host.checks / 2);
  EXPECT_EQ(diagnosis.checks + diagnosis.skipped, on_host.checks);
  EXPECT_THAT(DiagnosisText(diagnosis, false), HasSubstr("Nothing of the host could be checked"));
  EXPECT_FALSE(DiagnosisJson(diagnosis).at("healthy").as_bool());
}

// A driver that first has to start its GPUs may take longer than it is waited for.
TEST_F(LikeHostTest, ADriverThatMayBeStartingIsNoError) {
  const auto severity = [this] {
    const Diagnosis diagnosis = host_.Look();
    const auto found = std::ranges::find(diagnosis.findings, "driver-unresponsive", &Finding::id);
    return found == diagnosis.findings.end() ? Severity::kInfo : found->severity;
  };
  host_.SetDriver({.deadline = std::chrono::seconds(3), .is_late = true});
  EXPECT_EQ(severity(), Severity::kError);
  host_.Remove("proc/700");
  host_.Remove("run/nvidia-persistenced");
  EXPECT_EQ(severity(), Severity::kError) << "the agent keeps the GPUs started";
  host_.Remove("proc/730");
  host_.Remove(kAgentStatus);
  EXPECT_EQ(severity(), Severity::kWarning);
  host_.Write("run/nvidia-persistenced/socket", "");
  EXPECT_EQ(severity(), Severity::kError);
}

// Files that a CDI file names and the driver lacks are reported with their cause, once.
TEST_F(LikeHostTest, TheCauseIsReportedAndNotTheCdiFile) {
  constexpr std::string_view kFolder = "usr/lib/x86_64-linux-gnu/nvidia/current";
  host_.Write("var/run/cdi/kgpu.dev-gpu.json",
              fmt::format(R"({{"cdiVersion": "0.5.0", "kind": "kgpu.dev/gpu", "devices": [{{
                  "name": "0", "containerEdits": {{"deviceNodes": [{{"path": "/dev/nvidia0"}},
                  {{"path": "/dev/nvidiactl"}}, {{"path": "/dev/nvidia-uvm"}}], "mounts": [
                  {{"hostPath": "/{0}/libcuda.so.535.104.05", "containerPath": "/a"}},
                  {{"hostPath": "/{0}/libnvidia-ml.so.535.104.05", "containerPath": "/b"}}]}}}}]}})",
                          kFolder));
  ASSERT_THAT(host_.Ids(), IsEmpty());
  for (const std::string_view library : {"libcuda", "libnvidia-ml"}) {
    const std::string file = fmt::format("{}/{}.so.535.104.05", kFolder, library);
    const std::string text = host_.dir().ReadFile(file);
    host_.Remove(file);
    ASSERT_THAT(host_.Ids(), ElementsAre("driver-libraries-missing")) << library;
    const Finding finding = host_.Look().findings.front();
    EXPECT_THAT(finding.evidence.at(0), HasSubstr(fmt::format("{}.so.535.104.05 not", library)));
    EXPECT_THAT(finding.fix.commands, Contains("apt-get install --reinstall libcuda1"));
    EXPECT_THAT(finding.fix.commands, Not(Contains(HasSubstr("cdi generate"))));
    host_.Write(file, text);
  }
  host_.Remove("dev/nvidiactl");
  EXPECT_THAT(host_.Ids(), ElementsAre("dev-control-missing"));
}

// Sources: beclab/Olares#3963, NVIDIA/k8s-driver-manager#37.
TEST_F(LikeHostTest, NovaIsReportedOnceWithAFixThatLasts) {
  host_.Unload();
  host_.Load({"nova_core"});
  Bind(kGpu, "NovaCore");
  Bind(kSecondGpu, "NovaCore");
  ASSERT_THAT(host_.Ids(), ElementsAre("driver-nouveau-loaded"));
  const Finding finding = host_.Look().findings.front();
  EXPECT_EQ(finding.evidence.at(0),
            "/proc/modules lists nova_core, and it is bound to "
            "0000:17:00.0, 0000:18:00.0");
  EXPECT_THAT(finding.fix.commands,
              ElementsAre(HasSubstr("blacklist nova_core\\nblacklist nova_drm"),
                          HasSubstr("update-initramfs"), "reboot"));
}

TEST_F(LikeHostTest, NovaThatIsInstalledIsBlockedToo) {
  host_.Write(fmt::format("lib/modules/{}/modules.dep", kRelease),
              "updates/dkms/nvidia.ko:\nkernel/drivers/gpu/nova-core/nova_core.ko:\n");
  EXPECT_THAT(host_.Ids(), ElementsAre("driver-nouveau-not-blacklisted"));
  host_.Fix();
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST_F(LikeHostTest, ADriverOfAnyOtherNameIsBlockedByItsModule) {
  host_.Write("sys/module/odd_module/initstate", "live\n");
  host_.Write("sys/bus/pci/drivers/Odd-Driver/bind", "");
  host_.Link("../../../../module/odd_module", "sys/bus/pci/drivers/Odd-Driver/module");
  host_.Link("/sys/bus/pci/drivers/Odd-Driver",
             fmt::format("{}/{}/driver", PortFolder(kGpu), kGpu));
  ASSERT_THAT(host_.Ids(), Contains("pci-gpu-held-by-other-driver"));
  EXPECT_THAT(host_.Look().findings.front().fix.commands,
              Contains(HasSubstr("echo 'blacklist odd_module' > "
                                 "/etc/modprobe.d/kgpu-odd_module.conf")));
}

// Source: NVIDIA/open-gpu-kernel-modules#259: the open modules leave a Pascal GPU unbound.
TEST_F(LikeHostTest, AGpuThatTheModulesDoNotSupportIsReportedWithTheReason) {
  host_.WriteGpu("device", "0x1b38\n");
  host_.Write(
      "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build\n");
  host_.Remove(fmt::format("{}/{}/driver", PortFolder(kGpu), kGpu));
  const Diagnosis diagnosis = host_.Look();
  const auto found = std::ranges::find(diagnosis.findings, "pci-gpu-held-by-nobody", &Finding::id);
  ASSERT_NE(found, diagnosis.findings.end());
  EXPECT_THAT(found->evidence.at(0), HasSubstr("pascal GPUs need NVIDIA's proprietary modules"));
  EXPECT_THAT(found->fix.commands, ElementsAre("kgpu driver install --module proprietary"));
}

// Sources: microsoft/pai#4344, NVIDIA/k8s-device-plugin#414.
TEST_F(LikeHostTest, AGpuThatLacksItsNodeIsReportedByTheNode) {
  host_.Remove("dev/nvidia1");
  host_.SetDriver(HealthyDriver([](device::Snapshot& snapshot, device::SampleSet&) {
    snapshot.unmanaged.push_back({.pci = snapshot.gpus[1].pci,
                                  .pci_class = "3d-controller",
                                  .kernel_driver = "nvidia",
                                  .reason = "Its device node /dev/nvidia1 does not exist here."});
    snapshot.gpus.pop_back();
  }));
  EXPECT_THAT(host_.Troubles(), ElementsAre("dev-gpu-missing"));
}

TEST_F(LikeHostTest, ADriverThatHangsIsReportedOnce) {
  host_.SetRegistered({"GPU-1"});
  host_.SetNode({.allocatable = 1});
  host_.SetAgent({.unhealthy = 1, .reason = "DriverUnresponsive"});
  EXPECT_THAT(host_.Ids(), ElementsAre("gpu-unhealthy"));
  host_.SetDriver({.deadline = std::chrono::seconds(3), .is_late = true});
  EXPECT_THAT(host_.Ids(), ElementsAre("driver-unresponsive"));
}

TEST_F(LikeHostTest, AGpuThatLeftTheBusIsReportedByTheBusAlone) {
  host_.WriteGpu("config", std::string(64, '\xff'));
  host_.SetDriver(HealthyDriver([](device::Snapshot& snapshot, device::SampleSet&) {
    snapshot.gpus.erase(snapshot.gpus.begin());
    snapshot.lost_gpus = 1;
  }));
  EXPECT_THAT(host_.Troubles(), ElementsAre("pci-gpu-off-bus"));
}

// A host in a folder, whose engine runs beside it: the paths in its specs begin with the folder.
TEST_F(LikeHostTest, SpecsAreReadAsTheEngineCallsTheirPaths) {
  host_.Write("var/run/cdi/kgpu.dev-gpu.json",
              fmt::format(R"({{"cdiVersion": "0.5.0", "kind": "kgpu.dev/gpu", "devices": [{{
                  "name": "0", "containerEdits": {{"deviceNodes": [{{"path": "/dev/nvidia0",
                  "hostPath": "{}/dev/nvidia0"}}]}}}}]}})",
                          host_.tree().path()));
  EXPECT_THAT(host_.Look("/").findings, IsEmpty());
  EXPECT_THAT(host_.Ids(), ElementsAre("cdi-stale"));
}

TEST_F(LikeHostTest, AJetsonHasItsGpuInTheChip) {
  host_.Remove("sys/bus/pci/devices");
  host_.Write("proc/device-tree/compatible",
              std::string_view("nvidia,p3701\0nvidia,tegra234\0", 28));
  EXPECT_THAT(host_.Ids(), ElementsAre("place-unusual"));
}

TEST_F(LikeHostTest, TheDriverOfAnOperatorLiesInItsContainer) {
  host_.Write(
      "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build\n");
  for (const std::string_view path :
       {"usr/lib/x86_64-linux-gnu", "usr/lib/firmware", "etc/ld.so.cache"}) {
    host_.Remove(path);
  }
  EXPECT_THAT(host_.Troubles(), Contains("driver-libraries-missing"));
  EXPECT_THAT(host_.Troubles(), Contains("driver-firmware-missing"));
  const std::string folder = "run/nvidia/driver/";
  host_.tree().AddLibrary(folder + "usr/lib/x86_64-linux-gnu", "libcuda");
  host_.tree().AddLibrary(folder + "usr/lib/x86_64-linux-gnu", "libnvidia-ml");
  EXPECT_THAT(host_.Troubles(), Contains("driver-libraries-missing")) << "PTX's compiler";
  host_.tree().AddLibrary(folder + "usr/lib/x86_64-linux-gnu", "libnvidia-ptxjitcompiler");
  host_.Write(folder + "lib/firmware/nvidia/535.104.05/gsp_ga10x.bin", "x");
  EXPECT_THAT(host_.Troubles(), IsEmpty());
}

TEST_F(LikeHostTest, TheKernelMayKnowWhereFirmwareIs) {
  host_.Write(
      "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build\n");
  host_.Remove("usr/lib/firmware");
  EXPECT_THAT(host_.Troubles(), Contains("driver-firmware-missing"));
  host_.Write("sys/module/firmware_class/parameters/path", "/opt/firmware\n");
  host_.Write("opt/firmware/nvidia/535.104.05/gsp_ga10x.bin", "x");
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST_F(LikeHostTest, GpusWithoutMigHaveNoNodesOfIt) {
  host_.Write("proc/driver/nvidia/capabilities/mig/monitor",
              "DeviceFileMinor: 2\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  EXPECT_THAT(host_.Troubles(), ElementsAre("dev-mig-missing"));
  for (const std::string_view gpu : {kGpu, kSecondGpu}) {
    host_.Write(fmt::format("{}/{}/device", PortFolder(gpu), gpu), "0x1eb8\n");
  }
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST_F(LikeHostTest, AnEngineThatTheKubeletFollowsDoesNotDiffer) {
  host_.Write("etc/containerd/config.toml", "version = 3\n");
  EXPECT_THAT(host_.Ids(), ElementsAre("cgroup-driver-cgroupfs"));
  host_.Write(kKubeletVersion, "Kubernetes v1.30.4\n");
  EXPECT_THAT(host_.Ids(), ElementsAre("cgroup-driver-differs"));
  host_.Write("etc/containerd/conf.d/50.toml", "SystemdCgroup=true # ours\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST_F(LikeHostTest, AnotherEnginesContainerdDoesNotMatterToTheKubelet) {
  host_.Write(kKubeletVersion, "Kubernetes v1.30.4\n");
  host_.Write("etc/containerd/config.toml", "disabled_plugins = [\"cri\"]\n");
  EXPECT_THAT(host_.Troubles(), Not(Contains("cgroup-driver-differs")));
  host_.Write("etc/containerd/config.toml", "version = 3\n");
  host_.AddProcess(720, "kubelet",
                   {"/usr/bin/kubelet", "--container-runtime-endpoint=unix:///run/crio/crio.sock"});
  EXPECT_THAT(host_.Troubles(), Not(Contains("cgroup-driver-differs")));
}

TEST(PackagesTest, ModulesOfOtherKernelsMayBeOlder) {
  const HealthyHost host(host::Family::kRhel);
  host.Write(
      kRpmPackages,
      "kmod-nvidia-5.14.0-1.el9.x86_64\t525.60.13\nkmod-nvidia-525.60.13-5.14.0-1\t525.60.13\n"
      "kmod-nvidia-6.1.0-18-amd64\t535.104.05\nnvidia-driver-cuda\t535.104.05\n");
  EXPECT_THAT(host.Ids(), Not(Contains("driver-packages-differ")));
  host.Write(kRpmPackages, "kmod-nvidia-6.1.0-18\t525.60.13\nnvidia-driver-cuda\t535.104.05\n");
  EXPECT_THAT(host.Ids(), Contains("driver-packages-differ"));
}

TEST(StaleSpecTest, AFileIsReportedOfOnce) {
  const HealthyHost host;
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
  EXPECT_THAT(stale->evidence.at(0), ::testing::HasSubstr("/usr/lib/a.so.470"));
  EXPECT_THAT(stale->evidence.at(0), ::testing::EndsWith("(2 more)"));
}

}  // namespace
}  // namespace kgpu::doctor
