#include "src/diagnose/doctor/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "src/container/engine/test_engine_host.h"
#include "src/diagnose/doctor/test_healthy_host.h"

namespace kgpu::doctor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Facts HostOf(host::Family family, Packager packager) {
  Facts facts;
  facts.system.family = family;
  facts.system.packager = packager;
  return facts;
}

Facts FactsOf(const HealthyHost& host) {
  const auto root = host::OpenDriverRoot(host.dir().path(), "", "");
  ScriptedRunner runner;
  return root.ok() ? GatherFacts(*root, runner, RealClock()) : Facts{};
}

Packages Gcc() {
  return {.debian = "gcc", .ubuntu = "gcc", .rhel = "gcc", .suse = "gcc"};
}

TEST(InstallCommandTest, IsThatOfTheHostsPackages) {
  EXPECT_EQ(InstallCommand(HostOf(host::Family::kUbuntu, Packager::kApt), Gcc()),
            "apt-get install gcc");
  EXPECT_EQ(InstallCommand(HostOf(host::Family::kRhel, Packager::kYum), Gcc()), "yum install gcc");
  EXPECT_EQ(InstallCommand(HostOf(host::Family::kRhel, Packager::kTdnf), Gcc()),
            "tdnf install gcc");
  EXPECT_EQ(InstallCommand(HostOf(host::Family::kRhel, Packager::kOstree), Gcc()),
            "rpm-ostree install gcc");
  EXPECT_EQ(InstallCommand(HostOf(host::Family::kSuse, Packager::kTransactional), Gcc()),
            "transactional-update pkg install gcc");
  EXPECT_THAT(InstallCommand(Facts{}, Gcc()), HasSubstr("# install this distribution's"));
}

TEST(InstallDriverTest, SaysWhereTheDriverComesFrom) {
  EXPECT_THAT(InstallDriver(HostOf(host::Family::kDebian, Packager::kApt), Gcc()),
              ElementsAre(HasSubstr("contrib, non-free"), "apt-get install gcc"));
  EXPECT_THAT(InstallDriver(HostOf(host::Family::kRhel, Packager::kDnf), Gcc()),
              ElementsAre(HasSubstr("NVIDIA's repository"), "dnf install gcc"));
  EXPECT_THAT(InstallDriver(HostOf(host::Family::kUbuntu, Packager::kApt), Gcc()),
              ElementsAre("apt-get install gcc"));
}

TEST(PackagerTest, IsSeenOnTheHost) {
  const HealthyHost rhel(host::Family::kRhel);
  EXPECT_EQ(FactsOf(rhel).system.packager, Packager::kDnf);
  rhel.tree().AddProgram("usr/bin/yum");
  EXPECT_EQ(FactsOf(rhel).system.packager, Packager::kYum);
  rhel.tree().AddProgram("usr/bin/tdnf");
  EXPECT_EQ(FactsOf(rhel).system.packager, Packager::kTdnf);
  rhel.Write("run/ostree-booted", "");
  EXPECT_EQ(FactsOf(rhel).system.packager, Packager::kOstree);
  const HealthyHost suse(host::Family::kSuse);
  EXPECT_EQ(FactsOf(suse).system.packager, Packager::kZypper);
  suse.tree().AddProgram("usr/sbin/transactional-update");
  EXPECT_EQ(FactsOf(suse).system.packager, Packager::kTransactional);
  EXPECT_EQ(FactsOf(HealthyHost(host::Family::kUbuntu)).system.packager, Packager::kApt);
}

TEST(UbuntuLineTest, IsThatOfWhatIsInstalled) {
  Facts facts;
  EXPECT_EQ(UbuntuLine(facts), "-server");
  facts.install.packages["libnvidia-compute-535"] = "535.104.05";
  EXPECT_EQ(UbuntuLine(facts), "");
  facts.install.packages["nvidia-utils-535-server"] = "535.104.05";
  EXPECT_EQ(UbuntuLine(facts), "-server");
}

TEST(AddKernelParameterTest, IsThatOfTheHostsWayOfBooting) {
  EXPECT_THAT(AddKernelParameter(HostOf(host::Family::kUbuntu, Packager::kApt), "a=1"),
              ElementsAre(HasSubstr("# add a=1"), "update-grub"));
  EXPECT_THAT(AddKernelParameter(HostOf(host::Family::kRhel, Packager::kDnf), "a=1"),
              ElementsAre("grubby --update-kernel=ALL --args=a=1"));
  EXPECT_THAT(AddKernelParameter(HostOf(host::Family::kSuse, Packager::kZypper), "a=1"),
              ElementsAre(HasSubstr("# add a=1"), "grub2-mkconfig -o /boot/grub2/grub.cfg"));
  EXPECT_THAT(AddKernelParameter(HostOf(host::Family::kRhel, Packager::kOstree), "a=1"),
              ElementsAre("rpm-ostree kargs --append-if-missing=a=1"));
}

TEST(ReloadCommandsTest, StopsWhatHoldsTheModuleAndBringsUvmBack) {
  Facts facts;
  facts.kernel.loaded = {"nvidia", "nvidia_uvm", "nvidia_peermem", "ext4"};
  facts.services.persistence.emplace_back();
  EXPECT_THAT(
      ReloadCommands(facts),
      ElementsAre(HasSubstr("# stop all GPU programs"), "systemctl stop nvidia-persistenced",
                  "modprobe -r nvidia_peermem nvidia_uvm nvidia",
                  "modprobe nvidia && modprobe nvidia-uvm", "modprobe nvidia_peermem",
                  "systemctl start nvidia-persistenced"));
}

TEST(ReloadCommandsTest, TakesNothingOutThatIsNotLoaded) {
  EXPECT_THAT(ReloadCommands(Facts{}),
              ElementsAre(HasSubstr("# stop"), HasSubstr("modprobe nvidia")));
}

TEST(DropSystemdTest, LeavesWordsInPlaceOfCommandsThatAreNotThere) {
  std::vector<std::string> fix = {"systemctl restart x", "ldconfig", "journalctl -u x"};
  DropSystemd(fix);
  EXPECT_THAT(fix, ElementsAre(AllOf(HasSubstr("# "), HasSubstr("systemctl restart x")), "ldconfig",
                               HasSubstr("# ")));
}

// The fixes of the finding `id`; none: it is not found.
std::vector<std::string> FixOf(const HealthyHost& host, std::string_view id) {
  for (const Finding& finding : host.Look().findings) {
    if (finding.id == id) {
      return finding.fix.commands;
    }
  }
  return {};
}

TEST(FixCommandsTest, AHostWithoutSystemdIsNotAdvisedToUseIt) {
  const HealthyHost host;
  host.Remove("run/systemd");
  host.Remove("proc/710");
  EXPECT_THAT(FixOf(host, "engine-stopped"),
              ElementsAre("/usr/bin/containerd   # no service manager found"));
  host.Write("etc/init.d/containerd", "");
  EXPECT_THAT(FixOf(host, "engine-stopped"), ElementsAre("/etc/init.d/containerd start"));
}

KubeletFacts KubeletOf(const std::string& name, const std::optional<std::string>& unit) {
  KubeletFacts kubelet;
  kubelet.daemon.emplace();
  kubelet.daemon->pid = 7;
  kubelet.daemon->name = name;
  kubelet.daemon->unit = unit;
  return kubelet;
}

TEST(RestartKubeletTest, IsThatOfItsUnit) {
  EXPECT_EQ(RestartKubelet(KubeletFacts{}), "systemctl restart kubelet");
  EXPECT_EQ(RestartKubelet(KubeletOf("kubelet", "rke2-agent.service")),
            "systemctl restart rke2-agent");
  EXPECT_EQ(RestartKubelet(KubeletOf("kubelet", "k0sworker.service")),
            "systemctl restart k0sworker");
  EXPECT_EQ(RestartKubelet(KubeletOf("k3s-server", std::nullopt)), "systemctl restart k3s");
  EXPECT_EQ(ReloadKubelet(KubeletOf("kubelet", "kubelet.service")),
            "systemctl daemon-reload && systemctl restart kubelet");
}

TEST(RestartKubeletTest, OfAContainerIsLeftToPeople) {
  EXPECT_THAT(RestartKubelet(KubeletOf("kubelet", "")), HasSubstr("# restart the kubelet, pid 7"));
  EXPECT_THAT(ReloadKubelet(KubeletOf("kubelet", "")), ::testing::StartsWith("#"));
  EXPECT_THAT(KubeletLog(KubeletOf("kubelet", "")), ::testing::StartsWith("#"));
}

TEST(FixCommandsTest, TheLimitIsRaisedInTheUnitThatRuns) {
  const HealthyHost host;
  host.Write("sys/class/infiniband/mlx5_0/x", "");
  host.Load({"nvidia", "nvidia_uvm", "nvidia_peermem"});
  host.Write("proc/710/limits", "Max locked memory         65536     65536     bytes\n");
  host.Write("proc/710/cgroup", "0::/system.slice/snap.microk8s.daemon-containerd.service\n");
  EXPECT_THAT(FixOf(host, "limit-memlock"),
              Contains(HasSubstr("/snap.microk8s.daemon-containerd.service.d")));
}

TEST(FixCommandsTest, SigningInstallsTheModuleThatItSigns) {
  const HealthyHost host;
  host.Unload();
  host.Write(fmt::format("lib/modules/{}/updates/dkms/nvidia.ko", kRelease),
             "code, not signed, long");
  const std::vector<std::string> fix = FixOf(host, "secureboot-module-unsigned");
  EXPECT_THAT(fix, Contains(fmt::format("dkms install --force -k {} nvidia/535.104.05", kRelease)));
  EXPECT_THAT(fix, Contains("mokutil --import /var/lib/dkms/mok.pub"));
  EXPECT_THAT(fix, Not(Contains(HasSubstr("generate_mok"))));
  host.Remove("var/lib/dkms/mok.pub");
  EXPECT_THAT(FixOf(host, "secureboot-module-unsigned"), Contains(HasSubstr("dkms generate_mok")));
}

TEST(FixCommandsTest, DebiansNamesOfSourcesAreKnown) {
  const HealthyHost host;
  host.Unload();
  host.Remove("var/lib/dkms/nvidia");
  host.Write("var/lib/dkms/nvidia-current-open/550.54.14/source/x", "");
  host.Write("var/lib/dkms/nvidia-fs/2.17.5/source/x", "");
  host.Write(fmt::format("lib/modules/{}/modules.dep", kRelease), "kernel/fs/ext4.ko:\n");
  EXPECT_THAT(FixOf(host, "driver-module-unbuilt"),
              Contains(HasSubstr("/var/lib/dkms/nvidia-current-open/550.54.14/build/make.log")));
}

TEST(DkmsTest, TheNewestThatIsBuiltCounts) {
  const HealthyHost host;
  host.Write("var/lib/dkms/nvidia/535.9/source/x", "");
  host.Write(fmt::format("var/lib/dkms/nvidia-tesla-470/470.223.02/{}/log", kRelease), "");
  const host::DkmsModule dkms = FactsOf(host).kernel.dkms.value_or(host::DkmsModule{});
  EXPECT_EQ(dkms.version, "535.104.05");
  EXPECT_TRUE(dkms.is_built);
}

TEST(DkmsTest, DebiansNamesOfModulesAreKnown) {
  const HealthyHost host;
  host.Write(fmt::format("lib/modules/{}/modules.dep", kRelease),
             "updates/dkms/nvidia-tesla-470-uvm.ko:\nupdates/dkms/nvidia-tesla-470.ko:\n");
  EXPECT_THAT(FactsOf(host).kernel.nvidia_file, HasSubstr("nvidia-tesla-470.ko"));
}

TEST(FixCommandsTest, AnArmHostIsNotGivenAnX86Parameter) {
  const HealthyHost host;
  host.WriteGpu("iommu_group/type", "DMA\n");
  EXPECT_THAT(FixOf(host, "pci-iommu-translates"), Contains(HasSubstr(" iommu=pt ")));
  host.Write("lib/ld-linux-aarch64.so.1", "");
  EXPECT_THAT(FixOf(host, "pci-iommu-translates"), Contains(HasSubstr("iommu.passthrough=1")));
}

TEST(FixCommandsTest, CgroupV1IsLeftByTheParameterThatIsMissingOrInTheWay) {
  const HealthyHost host;
  host.Remove("sys/fs/cgroup/cgroup.controllers");
  EXPECT_THAT(FixOf(host, "cgroup-v1"),
              Contains(HasSubstr("# add systemd.unified_cgroup_hierarchy=1")));
  host.Write("proc/cmdline", "ro systemd.unified_cgroup_hierarchy=0\n");
  EXPECT_THAT(FixOf(host, "cgroup-v1"),
              Contains(HasSubstr("# remove systemd.unified_cgroup_hierarchy=0")));
}

TEST(FixCommandsTest, ACdiFileOfOthersIsNotTakenAway) {
  const HealthyHost host;
  host.Write("etc/cdi/network.json", "{");
  EXPECT_THAT(FixOf(host, "cdi-broken"), ElementsAre(HasSubstr("# regenerate it with the")));
  host.Remove("etc/cdi/network.json");
  host.Write("etc/cdi/nvidia.yaml", "{");
  EXPECT_THAT(FixOf(host, "cdi-broken"), Contains("rm /etc/cdi/nvidia.yaml"));
}

TEST(FixCommandsTest, ACdiFileOfALaterVersionIsGoodToKnow) {
  const HealthyHost host;
  host.Write("var/run/cdi/nvidia.yaml", "cdiVersion: 1.2.0\nkind: nvidia.com/gpu\ndevices: []\n");
  const Diagnosis diagnosis = host.Look();
  ASSERT_THAT(host.Ids(), ElementsAre("cdi-broken"));
  EXPECT_EQ(diagnosis.findings[0].severity, Severity::kInfo);
  EXPECT_THAT(diagnosis.findings[0].fix.commands, ElementsAre(HasSubstr("update kgpu")));
}

TEST(FixCommandsTest, OfTwoCdiFilesTheStaleOneGoes) {
  const HealthyHost host;
  constexpr std::string_view kOurs = "var/run/cdi/kgpu.dev-gpu.json";
  host.Write("var/run/cdi/zz-copy.json", host.dir().ReadFile(kOurs));
  EXPECT_THAT(FixOf(host, "cdi-declared-twice"),
              AllOf(Contains(HasSubstr("# keep one of")), Not(Contains(HasSubstr("rm ")))));
  host.Write(kOurs, R"({"cdiVersion": "0.5.0", "kind": "kgpu.dev/gpu", "devices": [
      {"name": "0", "containerEdits": {"mounts": [
      {"hostPath": "/usr/lib/libcuda.so.470.1", "containerPath": "/usr/lib/libcuda.so.1"}]}}]})");
  EXPECT_THAT(FixOf(host, "cdi-declared-twice"),
              ElementsAre(HasSubstr("rm /var/run/cdi/kgpu.dev-gpu.json")));
}

TEST(FixCommandsTest, LinksAreMadeWithAFormThatEveryStatHas) {
  const HealthyHost host;
  host.Write(kRuncVersion, "runc version 1.1.5\nspec: 1.0.2\n");
  host.Remove("dev/char/195:1");
  EXPECT_THAT(FixOf(host, "cgroup-device-trap"),
              AllOf(Contains(HasSubstr("stat -c %t")), Not(Contains(HasSubstr("%Hr")))));
}

}  // namespace
}  // namespace kgpu::doctor
