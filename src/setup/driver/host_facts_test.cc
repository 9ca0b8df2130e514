#include "src/setup/driver/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(DistributionTest, IsKnownByItsIdThenByWhatItIsLike) {
  EXPECT_EQ(ParseDistribution("ID=rocky\nID_LIKE=\"rhel centos fedora\"\n").family, Family::kRhel);
  EXPECT_EQ(ParseDistribution("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n").family, Family::kUbuntu);
  EXPECT_EQ(ParseDistribution("ID=opensuse-leap\nVERSION_ID=15.6\n").family, Family::kSuse);
  EXPECT_EQ(ParseDistribution("ID=arch\n").family, Family::kOther);
  EXPECT_EQ(ParseDistribution("ID=ubuntu\nVERSION_ID=\"24.04\"\n").minor, 4U);
}

TEST(DistributionTest, IsTheReleaseOfUbuntuThatItIsMadeOf) {
  const Distribution mint = ParseDistribution(
      "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22.1\"\nVERSION_CODENAME=xia\n"
      "UBUNTU_CODENAME=noble\n");
  EXPECT_EQ(mint.major, 24U);
  EXPECT_EQ(mint.minor, 4U);
  EXPECT_EQ(mint.codename, "noble");
  EXPECT_EQ(ParseDistribution("ID=x\nID_LIKE=ubuntu\nVERSION_ID=\"24.04\"\n").major, 0U);
}

TEST(DistributionTest, IsAnImageWhereItSaysSo) {
  EXPECT_EQ(ParseDistribution("ID=rhcos\n").immutable, Immutable::kRhcos);
  EXPECT_EQ(ParseDistribution("ID=rhel\nVARIANT_ID=coreos\nOPENSHIFT_VERSION=4.19\n").immutable,
            Immutable::kRhcos);
  EXPECT_EQ(ParseDistribution("ID=fedora\nVARIANT_ID=coreos\n").immutable,
            Immutable::kFedoraCoreOs);
  EXPECT_EQ(ParseDistribution("ID=fedora\nVARIANT_ID=server\n").immutable, Immutable::kNone);
  EXPECT_EQ(ParseDistribution("ID=talos\n").immutable, Immutable::kTalos);
  EXPECT_EQ(ParseDistribution("ID=flatcar\nID_LIKE=coreos\n").immutable, Immutable::kFlatcar);
}

TEST(FlavourTest, IsTheWordBehindTheNumbers) {
  EXPECT_EQ(FlavourOf("6.8.0-1040-aws"), "aws");
  EXPECT_EQ(FlavourOf("6.8.0-85-generic-64k"), "generic-64k");
  EXPECT_EQ(FlavourOf("6.1.0-56-cloud-amd64"), "cloud-amd64");
  EXPECT_EQ(FlavourOf("6.4.0-150600.23.73-default"), "default");
  EXPECT_EQ(FlavourOf("5.14.0-570.55.1.el9_6.x86_64"), "");
  EXPECT_EQ(FlavourOf("6.12"), "");
}

TEST(DpkgStatusTest, HasWhatIsInstalledAndWhatIsHeld) {
  EXPECT_THAT(ParseDpkgStatus("Package: a\nStatus: install ok installed\nVersion: 1:2-3\n\n"
                              "Package: b\nStatus: deinstall ok config-files\nVersion: 1\n\n"
                              "Package: c\nVersion: 4\nStatus: hold ok installed\n"),
              ElementsAre(Pair("a", InstalledPackage{"1:2-3", false}),
                          Pair("c", InstalledPackage{"4", true})));
  EXPECT_THAT(ParseDpkgStatus("Status: install ok installed\n\n"), IsEmpty());
}

TEST(DpkgStatusTest, HasWhatIsNotConfigured) {
  EXPECT_THAT(ParseDpkgStatus("Package: a\nStatus: install ok half-configured\nVersion: 1\n\n"
                              "Package: b\nStatus: install ok unpacked\nVersion: 2\n\n"
                              "Package: c\nStatus: install ok half-installed\nVersion: 3\n\n"
                              "Package: d\nStatus: install ok triggers-awaited\nVersion: 4\n\n"),
              ElementsAre(Pair("a", InstalledPackage{"1", false, true}),
                          Pair("b", InstalledPackage{"2", false, true}),
                          Pair("d", InstalledPackage{"4", false, false})));
}

TEST(RpmListTest, HasNamesAndVersions) {
  EXPECT_THAT(ParseRpmList("kernel-core\t5.14.0-570.el9\nno version\n\t1\n"),
              ElementsAre(Pair("kernel-core", InstalledPackage{"5.14.0-570.el9", false})));
}

TEST(UpstreamVersionTest, LeavesOutWhatThePackagersAdded) {
  EXPECT_EQ(UpstreamVersion("3:580.95.05-1.el9"), "580.95.05");
  EXPECT_EQ(UpstreamVersion("535.261.03-1~deb12u1"), "535.261.03");
  EXPECT_EQ(UpstreamVersion("580.95.05_k6.4.0_150600-1"), "580.95.05");
}

TEST(AptListTest, ReadsLinesWithAndWithoutOptions) {
  const auto sources = ParseAptList(
      "# deb http://no main\n"
      "deb http://mirror.example/debian bookworm main contrib # a remark\n"
      "deb-src http://mirror.example/debian bookworm main\n"
      "deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] https://a.example ./\n"
      "deb [ signed-by=/y.gpg ] https://b.example stable main\n"
      "deb [broken\n",
      "f");
  ASSERT_EQ(sources.size(), 3U);
  EXPECT_THAT(sources[0].components, ElementsAre("main", "contrib"));
  EXPECT_EQ(sources[1].signed_by, "/usr/share/keyrings/x.gpg");
  EXPECT_EQ(sources[1].suite, "./");
  EXPECT_EQ(sources[2].signed_by, "/y.gpg");
  EXPECT_EQ(sources[2].suite, "stable");
}

TEST(AptParagraphsTest, GiveOneSourceForEachSuite) {
  const auto sources = ParseAptParagraphs(
      "Types: deb deb-src\nURIs: http://a\nSuites: x\n x-updates\nComponents: main\n"
      "# a remark\nSigned-By: /k.gpg\n\n"
      "Types: deb\nURIs: http://b\nSuites: y\nEnabled: no\n",
      "f");
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[1].suite, "x-updates");
  EXPECT_EQ(sources[1].signed_by, "/k.gpg");
}

TEST(RepoFileTest, TellsWhichSectionsAreOn) {
  EXPECT_THAT(ParseRepoFile("[a]\nname=A\nbaseurl=http://a\n\n[b]\nenabled = 0\nbaseurl=http://b\n"
                            "[c]\nmetalink=http://c\nenabled=1\n",
                            "/f"),
              ElementsAre(RpmRepository{"a", "http://a", "/f", true},
                          RpmRepository{"b", "http://b", "/f", false},
                          RpmRepository{"c", "http://c", "/f", true}));
}

TEST(RpmRepositoriesTest, AreOnOrOffAsDnf5WasTold) {
  const TempDir dir;
  dir.WriteFile("etc/yum.repos.d/a.repo", "[a]\nbaseurl=http://a\n[b]\nenabled=0\n");
  dir.WriteFile("etc/dnf/repos.override.d/99-config_manager.repo",
                "[a*]\nenabled=0\n[b]\nenabled=1\n[c]\npriority=1\n");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(ReadRpmRepositories(*root),
              ElementsAre(RpmRepository{"a", "http://a", "/etc/yum.repos.d/a.repo", false},
                          RpmRepository{"b", "", "/etc/yum.repos.d/a.repo", true}));
}

TEST(LockedVersionsTest, AreEntriesWithoutRemarks) {
  const TempDir dir;
  dir.WriteFile("etc/dnf/plugins/versionlock.list",
                "\n# Added lock on Sun Nov 22\nnvidia-driver-3:580.95.05-1.el10.*\n !bash\n");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  EXPECT_THAT(ReadLockedVersions(*host),
              ElementsAre("nvidia-driver-3:580.95.05-1.el10.*", "!bash"));
}

TEST(ModuleStreamTest, IsReadWhereDnfKeepsIt) {
  const TempDir dir;
  dir.WriteFile("etc/dnf/modules.d/nvidia-driver.module",
                "[nvidia-driver]\nname=nvidia-driver\nstream=535-dkms\nprofiles=\nstate=enabled\n");
  dir.WriteFile("etc/dnf/modules.d/off.module", "[off]\nname=off\nstream=\nstate=disabled\n");
  dir.WriteFile("etc/dnf/modules.d/reset.module", "[reset]\nstream=1\nstate=\n");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_EQ(ReadModuleStream(*root, "nvidia-driver"), (ModuleStream{"535-dkms", false}));
  EXPECT_EQ(ReadModuleStream(*root, "off"), (ModuleStream{"", true}));
  EXPECT_EQ(ReadModuleStream(*root, "reset"), ModuleStream());
  EXPECT_EQ(ReadModuleStream(*root, "never"), ModuleStream());
}

TEST(DriverFileTest, IsKnownByItsHeaderAndName) {
  const auto run = ParseDriverFile("/root/x.run",
                                   "#!/bin/sh\nskip=1\nlabel=\"NVIDIA Accelerated Graphics Driver "
                                   "for Linux-x86_64 580.95.05\"\n");
  ASSERT_OK(run);
  EXPECT_EQ(run->version, "580.95.05");
  EXPECT_EQ(run->arch, "x86_64");
  const auto cuda = ParseDriverFile("/root/cuda_12.4.1_550.54.15_linux_sbsa.run",
                                    "#!/bin/sh\nlabel=\"CUDA Installer\"\n");
  ASSERT_OK(cuda);
  EXPECT_EQ(cuda->kind, FileKind::kCudaRun);
  EXPECT_EQ(cuda->version, "550.54.15");
  EXPECT_EQ(cuda->arch, "aarch64");
  const auto rpm = ParseDriverFile(
      "/root/nvidia-driver-local-repo-rhel9-580.95.05-1.0-1.x86_64.rpm", "\xed\xab\xee\xdb");
  ASSERT_OK(rpm);
  EXPECT_EQ(rpm->package, "nvidia-driver-local-repo-rhel9-580.95.05");
}

TEST(DriverFileTest, RefusesWhatIsNoDriver) {
  EXPECT_THAT(ParseDriverFile("/a.run",
                              "\x7f"
                              "ELF"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not begin as a script")));
  EXPECT_THAT(ParseDriverFile("/a.run", "#!/bin/sh\nlabel=\"A game\"\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("A game")));
  EXPECT_THAT(ParseDriverFile("/nvidia-repo.deb", "!<arch>\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("can not be told")));
}

}  // namespace
}  // namespace kgpu::driver
