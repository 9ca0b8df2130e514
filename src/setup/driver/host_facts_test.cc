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

TEST(FlavourTest, IsTheWordBehindTheNumbers) {
  EXPECT_EQ(FlavourOf("6.8.0-1040-aws"), "aws");
  EXPECT_EQ(FlavourOf("6.8.0-85-generic-64k"), "generic-64k");
  EXPECT_EQ(FlavourOf("6.1.0-56-cloud-amd64"), "cloud-amd64");
  EXPECT_EQ(FlavourOf("6.4.0-150600.23.73-default"), "default");
  EXPECT_EQ(FlavourOf("5.14.0-570.55.1.el9_6.x86_64"), "");
  EXPECT_EQ(FlavourOf("6.12"), "");
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

TEST(RpmRepositoriesTest, AreOnOrOffAsDnf5WasConfigured) {
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
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not begin like a script")));
  EXPECT_THAT(ParseDriverFile("/a.run", "#!/bin/sh\nlabel=\"A game\"\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("A game")));
  EXPECT_THAT(
      ParseDriverFile("/nvidia-repo.deb", "!<arch>\n"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not contain the driver's version")));
}

}  // namespace
}  // namespace kgpu::driver
