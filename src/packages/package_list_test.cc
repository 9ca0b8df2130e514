#include "src/packages/package_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(RpmNeedsTest, NamesWhoNeedsIt) {
  EXPECT_THAT(ParseRpmNeeds("error: Failed dependencies:\n"
                            "\tlibcuda.so.1()(64bit) is needed by (installed) app-1-1.x86_64\n"
                            "\tdriver = 1 is needed by (installed) app-1-1.x86_64\n"
                            "\tdriver is needed by (installed) tool-2-1.noarch\n"),
              ElementsAre("app-1-1.x86_64", "tool-2-1.noarch"));
}

}  // namespace
}  // namespace kgpu::packages
