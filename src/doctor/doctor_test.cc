#include "src/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "src/doctor/test_well_host.h"
#include "src/doctor/view.h"
#include "testing/status_matchers.h"

namespace kgpu::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(DoctorTest, TheDocumentationIsTheTable) {
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/docs/doctor.md");
  const std::string docs((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(docs, HasSubstr(ChecksMarkdown()))
      << "docs/doctor.md must hold what `kgpu doctor --list` prints";
}

TEST(DoctorTest, RunsOnlyWhatWasAskedFor) {
  const auto diagnosis = Diagnose(Facts{}, {"driver-nouveau-loaded"});
  ASSERT_OK(diagnosis.status());
  EXPECT_EQ(diagnosis->checks, 1);
  EXPECT_THAT(diagnosis->findings, IsEmpty());
}

TEST(DoctorTest, NamesTheNearestOfAnUnknownCheck) {
  EXPECT_THAT(Diagnose(Facts{}, {"driver-nouveau-loadet"}).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("driver-nouveau-loaded is")));
}

TEST(DoctorTest, OfAHostWithoutGpusOnlyThatIsSaid) {
  const auto diagnosis = Diagnose(Facts{}, {});
  ASSERT_OK(diagnosis.status());
  ASSERT_THAT(diagnosis->findings, SizeIs(1));
  EXPECT_EQ(diagnosis->findings[0].id, "pci-no-gpu");
}

TEST(DoctorTest, TellsWhatItMayNotSee) {
  const WellHost host;
  host.Remove("proc/cmdline");
  host.dir().MakeDir("proc/cmdline");
  EXPECT_THAT(host.Look().unseen, Contains(HasSubstr("proc/cmdline")));
}

TEST(DoctorTest, TellsOfASignatureThatItCanNotRead) {
  const WellHost host(Family::kRhel);
  host.Remove("usr/sbin/modinfo");
  EXPECT_THAT(host.Look().unseen, Contains(HasSubstr("nvidia.ko.xz: it is compressed")));
}

TEST(DoctorTest, TellsOfPackagesThatItCanNotRead) {
  const WellHost host(Family::kSuse);
  host.Remove("usr/bin/rpm");
  EXPECT_THAT(host.Look().unseen, Contains(HasSubstr("packages of the driver: no rpm is here")));
}

TEST(DoctorTest, TellsOfBridgesThatShowAQuarterOnly) {
  const WellHost host;
  host.Write(PortFolder(kGpu) + "/config", std::string(64, 'x'));
  EXPECT_THAT(host.Look().unseen, Contains(HasSubstr("Access Control Services")));
}

TEST(DoctorTest, ABusThatCanNotBeReadIsNotOneWithoutGpus) {
  const WellHost host;
  host.Remove("sys/bus/pci/devices");
  host.Write("sys/bus/pci/devices", "");
  EXPECT_THAT(host.Ids(), Not(Contains("pci-no-gpu")));
  EXPECT_THAT(host.Look().unseen, Contains(HasSubstr("sys/bus/pci/devices")));
}

TEST(DoctorTest, MendsAreInTheWordsOfTheDistribution) {
  const WellHost host(Family::kUbuntu);
  host.Unload();
  host.Write(fmt::format("lib/modules/{}/modules.dep", kRelease), "");
  const Diagnosis diagnosis = host.Look();
  ASSERT_FALSE(diagnosis.findings.empty());
  EXPECT_EQ(diagnosis.findings[0].id, "driver-module-missing");
  EXPECT_THAT(diagnosis.findings[0].mend, Contains("ubuntu-drivers install --gpgpu"));
}

TEST(DoctorTest, OneFixTakesAllOutThatKeepsTheKubeletFromStarting) {
  const WellHost host;
  host.Write(
      "etc/default/kubelet",
      "ARGS=\"--network-plugin=cni --feature-gates=Accelerators=true,DevicePlugins=true\"\n");
  host.Mend();
  EXPECT_THAT(host.Ids(), IsEmpty());
  EXPECT_EQ(host.dir().ReadFile("etc/default/kubelet"), "ARGS=\"\"\n");
}

TEST(DoctorTest, OfAKubeletOfUnknownVersionGatesAreToldAsAWarning) {
  const WellHost host;
  host.Write(kKubeletVersion, "");
  host.Write("etc/default/kubelet", "ARGS=\"--feature-gates=KubeletPodResources=true\"\n");
  EXPECT_THAT(host.Ids(), ElementsAre("kubelet-gate-settled"));
  EXPECT_THAT(host.Look().unseen, Contains(HasSubstr("the kubelet's version")));
}

TEST(DoctorTest, ProgramsGetEvidenceMendAndFile) {
  const WellHost host;
  host.Write("etc/default/kubelet", "ARGS=\"--network-plugin=cni\"\n");
  const boost::json::value tree = DiagnosisJson(host.Look());
  const boost::json::object& first = tree.at("findings").as_array().at(0).as_object();
  EXPECT_EQ(first.at("id").as_string(), "kubelet-flag-gone");
  EXPECT_EQ(first.at("severity").as_string(), "error");
  EXPECT_EQ(first.at("fix").at("path").as_string(), "/etc/default/kubelet");
  EXPECT_FALSE(tree.at("well").as_bool());
}

TEST(DoctorTest, ABlacklistOfTheDriverIsLeftToPeople) {
  const WellHost host;
  host.Load({"nvidia"});
  host.Write("etc/modprobe.d/prime.conf", "install nvidia-uvm /bin/false\n");
  host.Write("lib/modprobe.d/other.conf", "blacklist nvidiafb\nblacklist nvidia\n");
  const Diagnosis diagnosis = host.Look();
  ASSERT_THAT(host.Ids(), ElementsAre("driver-module-blacklisted"));
  EXPECT_EQ(diagnosis.findings[0].mend[1],
            "sed -i.before-kgpu -E 's/^[[:space:]]*install[[:space:]]+nvidia[-_]uvm([[:space:]].*)?"
            "$/# &/' /etc/modprobe.d/prime.conf");
  EXPECT_FALSE(diagnosis.findings[0].fix.has_value());
  host.Unload();
  EXPECT_THAT(host.Look().findings.back().mend,
              Contains(HasSubstr("blacklist[[:space:]]+nvidia([[:space:]].*)?$/# &/' "
                                 "/usr/lib/modprobe.d/other.conf > /etc/modprobe.d/other.conf")));
}

TEST(FindAcsControlTest, AListThatGoesRoundEnds) {
  std::string config(4096, '\0');
  config[0x100] = 0x01;
  config[0x102] = 0x01;
  config[0x103] = 0x10;  // next: itself
  EXPECT_FALSE(FindAcsControl(config).has_value());
  EXPECT_FALSE(FindAcsControl(std::string(64, '\xff')).has_value());
}

TEST(FindAcsControlTest, AListThatLeadsOutEnds) {
  std::string config(0x140, '\xff');
  EXPECT_FALSE(FindAcsControl(config).has_value());
}

}  // namespace
}  // namespace kgpu::doctor
