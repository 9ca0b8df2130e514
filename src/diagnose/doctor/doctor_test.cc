#include "src/diagnose/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"
#include "src/diagnose/doctor/view.h"
#include "testing/status_matchers.h"

namespace kgpu::doctor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(DoctorTest, TheDocumentationIsTheTable) {
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/docs/reference/doctor.md");
  const std::string docs((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(docs, HasSubstr(ChecksMarkdown()))
      << "docs/reference/doctor.md must hold what `kgpu doctor --list --output markdown` prints";
}

TEST(DoctorTest, RunsOnlyWhatWasAskedFor) {
  const auto diagnosis = Diagnose(Facts{}, {"driver-nouveau-loaded"});
  ASSERT_OK(diagnosis.status());
  EXPECT_EQ(diagnosis->checks, 0) << "there is no GPU";
  EXPECT_EQ(diagnosis->skipped, 1);
  EXPECT_THAT(diagnosis->findings, IsEmpty());
}

TEST(DoctorTest, NamesTheNearestOfAnUnknownCheck) {
  EXPECT_THAT(Diagnose(Facts{}, {"driver-nouveau-loadet"}).status(),
              StatusIs(StatusCode::kInvalidArgument,
                       Eq("unknown check \"driver-nouveau-loadet\": did you mean "
                          "driver-nouveau-loaded?")));
  EXPECT_THAT(Diagnose(Facts{}, {"x"}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("kgpu doctor --list")));
}

TEST(DoctorTest, OfAHostWithoutGpusOnlyThatIsSaid) {
  const auto diagnosis = Diagnose(Facts{}, {});
  ASSERT_OK(diagnosis.status());
  ASSERT_THAT(diagnosis->findings, SizeIs(1));
  EXPECT_EQ(diagnosis->findings[0].id, "pci-no-gpu");
  EXPECT_EQ(report::WorstOf(diagnosis->findings), Severity::kInfo);
}

TEST(DoctorTest, TellsWhatItMayNotSee) {
  const HealthyHost host;
  host.Remove("proc/cmdline");
  host.dir().MakeDir("proc/cmdline");
  EXPECT_THAT(host.Look().unreadable, Contains(HasSubstr("proc/cmdline")));
}

TEST(DoctorTest, TellsOfASignatureThatItCannotRead) {
  const HealthyHost host(host::Family::kRhel);
  host.Remove("usr/sbin/modinfo");
  EXPECT_THAT(host.Look().unreadable, Contains(HasSubstr("nvidia.ko.xz: it is compressed")));
}

TEST(DoctorTest, TellsOfPackagesThatItCannotRead) {
  const HealthyHost host(host::Family::kSuse);
  host.Remove("usr/bin/rpm");
  EXPECT_THAT(host.Look().unreadable, Contains(HasSubstr("packages of the driver: rpm not found")));
}

TEST(DoctorTest, TellsOfBridgesThatShowAQuarterOnly) {
  const HealthyHost host;
  host.Write(PortFolder(kGpu) + "/config", std::string(64, 'x'));
  EXPECT_THAT(host.Look().unreadable, Contains(HasSubstr("Access Control Services")));
}

TEST(DoctorTest, ABusThatCannotBeReadIsNotOneWithoutGpus) {
  const HealthyHost host;
  host.Remove("sys/bus/pci/devices");
  host.Write("sys/bus/pci/devices", "");
  EXPECT_THAT(host.Ids(), Not(Contains("pci-no-gpu")));
  EXPECT_THAT(host.Look().unreadable, Contains(HasSubstr("sys/bus/pci/devices")));
}

// A simulated host shows no processes, for one: that is no problem of the checks that were chosen.
TEST(DoctorTest, TellsOfWhatTheChosenChecksUseOnly) {
  const HealthyHost host;
  host.Remove("proc/stat");
  host.Write(PortFolder(kGpu) + "/config", std::string(64, 'x'));
  const auto processes = Contains(HasSubstr("which engines, kubelets and daemons run"));
  EXPECT_THAT(host.Look().unreadable, processes);
  EXPECT_THAT(host.Look("", {"kubelet-socket-missing"}).unreadable, processes);
  for (const char* id : {"driver-libraries-missing", "dev-gpu-missing"}) {
    EXPECT_THAT(host.Look("", {id}).unreadable, Not(processes)) << id;
  }
  EXPECT_THAT(host.Look("", {"pci-no-gpu"}).unreadable,
              ElementsAre(HasSubstr("Access Control Services")));
}

TEST(DoctorTest, TheWorstFindingCounts) {
  Diagnosis diagnosis;
  EXPECT_EQ(DiagnosisJson(diagnosis).at("healthy"), true);
  diagnosis.findings = {{.severity = Severity::kWarning}, {.severity = Severity::kInfo}};
  EXPECT_EQ(report::WorstOf(diagnosis.findings), Severity::kWarning);
  diagnosis.findings.push_back({.severity = Severity::kError});
  EXPECT_EQ(report::WorstOf(diagnosis.findings), Severity::kError);
  EXPECT_EQ(DiagnosisJson(diagnosis).at("healthy"), false);
}

TEST(DoctorTest, WithoutSysfsNothingIsSaidOfGpus) {
  const HealthyHost host;
  host.Remove("sys");
  EXPECT_THAT(host.Ids(), Not(Contains("pci-no-gpu")));
  EXPECT_THAT(host.Look().unreadable, Contains(HasSubstr("/sys/bus not found")));
}

TEST(DoctorTest, AListOfKeysThatIsNotShownIsNotOneWithoutTheKey) {
  const HealthyHost host;
  host.Unload();
  host.Remove("sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23");
  EXPECT_THAT(host.Ids(), Not(Contains("secureboot-key-unknown")));
  EXPECT_THAT(host.Look().unreadable, Contains(HasSubstr("whether the firmware knows")));
}

TEST(DoctorTest, ALongListOfKeysIsReadWhole) {
  const HealthyHost host;
  host.Unload();
  const std::string list = "sys/firmware/efi/efivars/MokListRT";
  host.Write(list + "-605dab50-e046-4300-abb6-3dd810dd8b23", "others");
  EXPECT_THAT(host.Ids(), Contains("secureboot-key-unknown"));
  host.Write(list + "1-605dab50-e046-4300-abb6-3dd810dd8b23", "a key of this host");
  EXPECT_THAT(host.Ids(), Not(Contains("secureboot-key-unknown")));
  host.Write("sys/firmware/efi/mok-variables/MokListRT", "others");
  EXPECT_THAT(host.Ids(), Contains("secureboot-key-unknown"));
}

TEST(DoctorTest, FilesOfDistributionsSetGatesToo) {
  const HealthyHost host;
  host.Write("etc/rancher/k3s/config.yaml",
             "kubelet-arg:\n  - feature-gates=Accelerators=true\n  - v=2\n");
  host.Write("var/snap/microk8s/current/args/kubelet", "--feature-gates=\"HugePages=true\"\n");
  host.AddProcess(720, "kubelet",
                  {"/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml",
                   "--config-dir=/etc/kubernetes/kubelet.conf.d"});
  host.Write("etc/kubernetes/kubelet.conf.d/10.conf",
             "cgroupDriver: systemd\nfeatureGates:\n  DevicePlugins: true\n");
  std::vector<std::string> evidence;
  for (const Finding& finding : host.Look().findings) {
    EXPECT_EQ(finding.id, "kubelet-gate-gone");
    evidence.push_back(finding.evidence.at(0));
  }
  EXPECT_THAT(evidence, UnorderedElementsAre(HasSubstr("k3s/config.yaml sets Accelerators"),
                                             HasSubstr("args/kubelet sets HugePages"),
                                             HasSubstr("10.conf sets DevicePlugins")));
  host.Fix();
  EXPECT_EQ(host.dir().ReadFile("etc/kubernetes/kubelet.conf.d/10.conf"),
            "cgroupDriver: systemd\n");
}

TEST(DoctorTest, ALaterFileOfTheKubeletDecides) {
  const HealthyHost host;
  host.Write(kKubeletVersion, "Kubernetes v1.29.4\n");
  host.AddProcess(720, "kubelet", {"/usr/bin/kubelet", "--config-dir=/etc/kubelet.conf.d"});
  host.Write("var/lib/kubelet/config.yaml",
             "cgroupDriver: systemd\nfeatureGates:\n  DevicePluginCDIDevices: false\n");
  EXPECT_THAT(host.Ids(), Contains("kubelet-gate-off"));
  host.Write("etc/kubelet.conf.d/10.conf", "featureGates:\n  DevicePluginCDIDevices: true\n");
  EXPECT_THAT(host.Ids(), Not(Contains("kubelet-gate-off")));
}

TEST(DoctorTest, TheRootOfMicrok8sIsFound) {
  const HealthyHost host;
  host.AddProcess(720, "kubelite", {"/snap/microk8s/1/kubelite"});
  host.Write("var/snap/microk8s/current/args/kubelet",
             "--root-dir=${SNAP_COMMON}/var/lib/kubelet\n");
  const Diagnosis diagnosis = host.Look();
  const auto moved = std::ranges::find(diagnosis.findings, "kubelet-root-moved", &Finding::id);
  ASSERT_NE(moved, diagnosis.findings.end());
  EXPECT_THAT(moved->evidence.at(0), HasSubstr("/var/snap/microk8s/common/var/lib/kubelet"));
}

TEST(DoctorTest, KgpuInstallsTheDriverThatIsMissingWhereItKnowsTheDistribution) {
  const HealthyHost host(host::Family::kUbuntu);
  host.Unload();
  host.Write(fmt::format("lib/modules/{}/modules.dep", kRelease), "");
  const Diagnosis diagnosis = host.Look();
  ASSERT_FALSE(diagnosis.findings.empty());
  EXPECT_EQ(diagnosis.findings[0].id, "driver-module-missing");
  EXPECT_THAT(diagnosis.findings[0].fix.commands,
              ElementsAre(StartsWith("kgpu driver install   # kgpu driver plan")));

  host.Write("etc/os-release", "ID=azurelinux\nVERSION_ID=3.0\n");
  EXPECT_THAT(host.Look().findings.at(0).fix.commands,
              AllOf(Not(Contains(StartsWith("kgpu driver"))), Contains(HasSubstr("nvidia-open"))));
}

TEST(DoctorTest, AnEngineIsMissedBeforeTheDriverIsThere) {
  Facts facts;
  facts.containers.install = "kgpu runtime install --engine podman";
  EXPECT_THAT(Diagnose(facts, {"engine-missing"})->findings, IsEmpty()) << "there is no GPU";
  facts.pci.gpus.emplace_back();
  EXPECT_THAT(Diagnose(facts, {"engine-missing"})->findings.at(0).fix.commands,
              ElementsAre("kgpu runtime install --engine podman"));
}

TEST(DoctorTest, KgpuBlocksNouveauWhereItInstallsTheDriver) {
  Facts facts;
  facts.pci.gpus.emplace_back();
  facts.kernel.loaded = {"nouveau"};
  facts.driver.rival = "nouveau";
  facts.system.can_plan_driver = true;
  const auto fix = [&facts] {
    return Diagnose(facts, {"driver-nouveau-loaded"})->findings.at(0).fix.commands;
  };
  EXPECT_THAT(fix(), Contains(StartsWith("kgpu driver install")));
  facts.kernel.nvidia_file = "/lib/modules/6.1/nvidia.ko";
  EXPECT_THAT(fix(), Contains("reboot")) << "there is a driver, which nouveau keeps out";
}

TEST(DoctorTest, OneFixTakesAllOutThatKeepsTheKubeletFromStarting) {
  const HealthyHost host;
  host.Write(
      "etc/default/kubelet",
      "ARGS=\"--network-plugin=cni --feature-gates=Accelerators=true,DevicePlugins=true\"\n");
  host.Fix();
  EXPECT_THAT(host.Ids(), IsEmpty());
  EXPECT_EQ(host.dir().ReadFile("etc/default/kubelet"), "ARGS=\"\"\n");
}

TEST(DoctorTest, OfAKubeletOfUnknownVersionGatesAreReportedAsAWarning) {
  const HealthyHost host;
  host.Write(kKubeletVersion, "");
  host.Write("etc/default/kubelet", "ARGS=\"--feature-gates=KubeletPodResources=true\"\n");
  EXPECT_THAT(host.Ids(), ElementsAre("kubelet-gate-settled"));
  EXPECT_THAT(host.Look().unreadable, Contains(HasSubstr("the kubelet's version")));
}

TEST(DoctorTest, ProgramsGetEvidenceFixAndFile) {
  const HealthyHost host;
  host.Write("etc/default/kubelet", "ARGS=\"--network-plugin=cni\"\n");
  const boost::json::value tree = DiagnosisJson(host.Look());
  const boost::json::object& first = tree.at("findings").as_array().at(0).as_object();
  EXPECT_EQ(first.at("id").as_string(), "kubelet-flag-gone");
  EXPECT_EQ(first.at("severity").as_string(), "error");
  EXPECT_EQ(first.at("fix").at("edits").at(0).at("path").as_string(), "/etc/default/kubelet");
  EXPECT_FALSE(tree.at("healthy").as_bool());
}

TEST(DoctorTest, ABlacklistOfTheDriverIsLeftToPeople) {
  const HealthyHost host;
  host.Load({"nvidia"});
  host.Write("etc/modprobe.d/prime.conf", "install nvidia-uvm /bin/false\n");
  host.Write("lib/modprobe.d/other.conf", "blacklist nvidiafb\nblacklist nvidia\n");
  const Diagnosis diagnosis = host.Look();
  ASSERT_THAT(host.Ids(), ElementsAre("driver-module-blacklisted"));
  EXPECT_EQ(diagnosis.findings[0].fix.commands[1],
            "sed -i.before-kgpu -E 's/^[[:space:]]*install[[:space:]]+nvidia[-_]uvm([[:space:]].*)?"
            "$/# &/' /etc/modprobe.d/prime.conf");
  EXPECT_THAT(diagnosis.findings[0].fix.edits, IsEmpty());
  host.Unload();
  EXPECT_THAT(host.Look().findings.back().fix.commands,
              Contains(HasSubstr("blacklist[[:space:]]+nvidia([[:space:]].*)?$/# &/' "
                                 "/usr/lib/modprobe.d/other.conf > /etc/modprobe.d/other.conf")));
}

}  // namespace
}  // namespace kgpu::doctor
