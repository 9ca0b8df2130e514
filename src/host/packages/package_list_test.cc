#include "src/host/packages/package_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/host/packages/package_manager.h"

namespace kgpu::packages {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(DpkgQueryTest, TellsWholeFromUnfinishedFromGone) {
  EXPECT_THAT(ParseDpkgQuery("ii \tdkms\tall\t3.0.10-8\n"
                             "hi \theld\tamd64\t1\n"
                             "iF \tnvidia-kernel-dkms\tamd64\t535.309.01-0+deb12u1\n"
                             "iUR\tbroken\tamd64\t2\n"
                             "it \tman-db\tamd64\t3\n"
                             "rc \told\tamd64\t4\n"
                             "un \tnever\t\t\n"),
              UnorderedElementsAre(
                  Pair("dkms", Package{"3.0.10-8", State::kWhole}),
                  Pair("held", Package{"1", State::kWhole}),
                  Pair("nvidia-kernel-dkms", Package{"535.309.01-0+deb12u1", State::kUnfinished}),
                  Pair("broken", Package{"2", State::kUnfinished}),
                  Pair("man-db", Package{"3", State::kWhole}),
                  Pair("old", Package{"4", State::kConfigOnly})));
}

TEST(DpkgQueryTest, NamesForeignArchitecturesOnly) {
  EXPECT_THAT(ParseDpkgQuery("ii \tdpkg\tamd64\t1\nii \tlibc6\tamd64\t2\nii \tlibc6\ti386\t2\n"),
              UnorderedElementsAre(Pair("dpkg", Package{"1"}), Pair("libc6", Package{"2"}),
                                   Pair("libc6:i386", Package{"2"})));
}

TEST(DpkgQueryTest, LeavesOutWhatIsNoLine) {
  EXPECT_THAT(ParseDpkgQuery("\n\t\t\t\nx\ny\tz\n"), IsEmpty());
}

TEST(RpmQueryTest, NamesKernelsWithTheirVersions) {
  EXPECT_THAT(
      ParseRpmQuery("rpm\t4.16-1.el9\tx86_64\n"
                    "nvidia-driver\t3:580.95.05-1.el9\tx86_64\n"
                    "glibc\t2.34-1.el9\ti686\n"
                    "tzdata\t2025a-1\tnoarch\n"
                    "kernel-devel\t5.14.0-1.el9\tx86_64\n"
                    "kernel-devel\t5.14.0-2.el9\tx86_64\n"
                    "gpg-pubkey\td42d0685-62589a51\t(none)\n"),
      UnorderedElementsAre(
          Pair("rpm", Package{"4.16-1.el9"}), Pair("nvidia-driver", Package{"3:580.95.05-1.el9"}),
          Pair("glibc:i686", Package{"2.34-1.el9"}), Pair("tzdata", Package{"2025a-1"}),
          Pair("kernel-devel-5.14.0-1.el9", Package{"5.14.0-1.el9"}),
          Pair("kernel-devel-5.14.0-2.el9", Package{"5.14.0-2.el9"}),
          Pair("gpg-pubkey-d42d0685-62589a51", Package{"d42d0685-62589a51"})));
}

TEST(AptSimulationTest, TellsWhatComesAndWhatGoes) {
  EXPECT_EQ(ParseAptSimulation("NOTE: This is only a simulation!\n"
                               "Purg libcuda1 [535.309.01-0+deb12u1] [dkms:amd64 ]\n"
                               "Remv foo:i386 [1]\n"
                               "Inst bar (2 Debian:12 [amd64])\n"
                               "Conf bar (2 Debian:12 [amd64])\n"),
            (Simulated{.installed = {"bar"}, .removed = {"libcuda1", "foo:i386"}}));
}

TEST(DnfTrialTest, ReadsTheTableOfVersion4WithItsBrokenRows) {
  EXPECT_THAT(ParseDnfTrial("Dependencies resolved.\n"
                            "==========\n"
                            " Package     Architecture  Version    Repository    Size\n"
                            "==========\n"
                            "Installing:\n"
                            " nvidia-driver-cuda-with-a-long-name\n"
                            "             x86_64        3:580-1    cuda-rhel9-x86_64\n"
                            "                                                  2.3 M\n"
                            "     replacing  nvidia-old.x86_64 3:535-1\n"
                            "Installing dependencies:\n"
                            " dkms        noarch        3.1-1      epel         88 k\n"
                            " glibc       i686          2.34-1     baseos       2 M\n"
                            "Enabling module streams:\n"
                            " nvidia-driver             580-open\n"
                            "\n"
                            "Transaction Summary\n"
                            "Install  3 Packages\n"
                            "Operation aborted.\n"),
              UnorderedElementsAre("nvidia-driver-cuda-with-a-long-name", "nvidia-old", "dkms",
                                   "glibc:i686"));
}

TEST(DnfTrialTest, ReadsTheTableOfVersion5) {
  EXPECT_THAT(ParseDnfTrial("Package        Arch   Version          Repository     Size\n"
                            "Installing:\n"
                            " nvidia-driver x86_64 3:580.95.05-1.fc cuda-fedora 12.0 KiB\n"
                            "Upgrading:\n"
                            " dkms          noarch 0:3.2-1.fc42     updates     88.0 KiB\n"
                            "   replacing dkms noarch 0:3.1-1.fc42  fedora      87.0 KiB\n"
                            "   replacing dkms-old noarch 0:1-1.fc42 fedora     87.0 KiB\n"
                            "\n"
                            "Transaction Summary:\n"
                            " Installing:         1 package\n"
                            "Operation aborted by the user.\n"),
              UnorderedElementsAre("nvidia-driver", "dkms", "dkms-old"));
}

TEST(DnfTrialTest, ReadsNothingFromAFailure) {
  EXPECT_THAT(ParseDnfTrial("Error: \n Problem: package a-1.x86_64 requires b, but none of the "
                            "providers can be installed\n"),
              IsEmpty());
}

TEST(ZypperTrialTest, NamesPackagesOfTheSummary) {
  EXPECT_THAT(
      ParseZypperTrial("<?xml version='1.0'?>\n<stream>\n"
                       "<message type=\"info\">Loading repository data...</message>\n"
                       "<install-summary download-size=\"1\" packages-to-change=\"2\">\n"
                       "<to-upgrade><solvable type=\"package\" name=\"kmod\" edition=\"29-1\" "
                       "arch=\"x86_64\" edition-old=\"28-1\" summary=\"a &gt; b\"/></to-upgrade>\n"
                       "<to-install><solvable type=\"patch\" name=\"p\" arch=\"noarch\"/>\n"
                       "<solvable status=\"not-installed\" name=\"driver\" type=\"package\" "
                       "arch=\"x86_64\"/></to-install>\n"
                       "</install-summary>\n</stream>\n"),
      UnorderedElementsAre("kmod", "driver"));
}

TEST(ForeseenTest, KnowsPackagesByTheirKeys) {
  const Foreseen foreseen{{"kernel-devel", "driver", "libc6:i386"}, {}};
  EXPECT_TRUE(foreseen.Has("kernel-devel-5.14.0-1.el9", "5.14.0-1.el9"));
  EXPECT_TRUE(foreseen.Has("driver", "3:580-1"));
  EXPECT_TRUE(foreseen.Has("libc6:i386", "2"));
  EXPECT_TRUE(foreseen.Has("gpg-pubkey-aa-bb", "aa-bb"));
  EXPECT_FALSE(foreseen.Has("libc6", "2"));
  EXPECT_FALSE(foreseen.Has("driver-tools", "3:580-1"));
}

TEST(NameTest, IsAKeyWithoutItsVersion) {
  EXPECT_EQ(NameOf("kernel-devel-5.14-1:i686", "5.14-1"), "kernel-devel:i686");
  EXPECT_EQ(NameOf("driver-3-1", "9:3-1"), "driver");
  EXPECT_EQ(NameOf("driver", "3-1"), "driver");
}

TEST(RpmVerifyTest, NamesConfigurationWhoseTextChanged) {
  EXPECT_THAT(ParseRpmVerify("SM5....T.  c /etc/nvidia/kernel.conf\n"
                             ".M.......  c /etc/only-mode.conf\n"
                             "S.5....T.    /usr/lib64/libcuda.so\n"
                             "missing     c /etc/gone.conf\n"
                             "S.5....T.  c /etc/with blank\n"
                             "package a is not installed\n"),
              ElementsAre("/etc/nvidia/kernel.conf", "/etc/with blank"));
}

TEST(RpmNeedsTest, NamesWhoNeedsIt) {
  EXPECT_THAT(ParseRpmNeeds("error: Failed dependencies:\n"
                            "\tlibcuda.so.1()(64bit) is needed by (installed) app-1-1.x86_64\n"
                            "\tdriver = 1 is needed by (installed) app-1-1.x86_64\n"
                            "\tdriver is needed by (installed) tool-2-1.noarch\n"),
              ElementsAre("app-1-1.x86_64", "tool-2-1.noarch"));
}

}  // namespace
}  // namespace kgpu::packages
