#include "src/host/features/kernel_version.h"
#include "src/host/features/test_host.h"
#include "src/platform/compress/test_pack.h"

namespace kgpu::features {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

struct VersionCase {
  std::string_view release;
  Attributes parts;
};

class KernelVersionTest : public testing::TestWithParam<VersionCase> {};

TEST_P(KernelVersionTest, HasItsParts) {
  EXPECT_EQ(ParseKernelVersion(GetParam().release), GetParam().parts);
}

INSTANTIATE_TEST_SUITE_P(
    Releases, KernelVersionTest,
    testing::Values(
        VersionCase{
            "6.1.0-18-amd64",
            {{"full", "6.1.0-18-amd64"}, {"major", "6"}, {"minor", "1"}, {"revision", "0"}}},
        VersionCase{"5.14.0-427.13.1.el9_4.x86_64",
                    {{"full", "5.14.0-427.13.1.el9_4.x86_64"},
                     {"major", "5"},
                     {"minor", "14"},
                     {"revision", "0"}}},
        VersionCase{"6.8-rc1", {{"full", "6.8-rc1"}, {"major", "6"}, {"minor", "8"}}},
        VersionCase{"6", {{"full", "6"}, {"major", "6"}}},
        // What a label cannot have; and a plus at the end, which unclean trees have.
        VersionCase{"6.9.3-own+",
                    {{"full", "6.9.3-own"}, {"major", "6"}, {"minor", "9"}, {"revision", "3"}}},
        VersionCase{"4.9.140-l4t-r32.3.1+g47e7e1cb0b49",
                    {{"full", "4.9.140-l4t-r32.3.1_g47e7e1cb0b49"},
                     {"major", "4"},
                     {"minor", "9"},
                     {"revision", "140"}}},
        VersionCase{"6.9.3~own", {{"full", "6.9.3_own"}}},
        VersionCase{"6.9.3.4", {{"full", "6.9.3.4"}}}, VersionCase{"6..3", {{"full", "6..3"}}},
        VersionCase{"next", {{"full", "next"}}}, VersionCase{"", {{"full", ""}}}));

constexpr const char* kKernel = "[proc/sys/kernel]\nosrelease = 6.1.0-18-amd64\n";

Reading ReadKernel(const std::string& rest, const FeatureOptions& options = {}) {
  return TestHost(kKernel + rest).Read("kernel", options);
}

TEST(KernelTest, ReadsItsConfigurationWhereDistributionsKeepIt) {
  for (const char* place :
       {"usr/src/linux-6.1.0-18-amd64/.config", "usr/src/linux-rt-6.1.0-18-amd64/.config",
        "usr/src/linux/.config", "usr/lib/modules/6.1.0-18-amd64/config",
        "usr/lib/ostree-boot/config-6.1.0-18-amd64", "usr/lib/kernel/config-6.1.0-18-amd64",
        "usr/src/linux-headers-6.1.0-18-amd64/.config", "lib/modules/6.1.0-18-amd64/build/.config",
        "usr/src/linux-rt-headers-6.1.0-18-amd64/.config", "boot/config-6.1.0-18-amd64"}) {
    const Reading reading = ReadKernel(fmt::format("[]\n{} <<<\nCONFIG_SMP=y\n>>>", place));
    EXPECT_THAT(reading.features.attributes.at("kernel.config"), ElementsAre(Pair("SMP", "y")))
        << place;
    EXPECT_THAT(reading.problems, IsEmpty()) << place;
  }
}

TEST(KernelTest, PrefersTheRunningKernelsOwnWord) {
  const TestHost host(std::string(kKernel) + "[boot]\nconfig-6.1.0-18-amd64 <<<\nCONFIG_A=y\n>>>");
  host.dir().WriteFile("proc/config.gz", compress::Gzip("CONFIG_B=y\n"));
  EXPECT_THAT(host.Read("kernel").features.attributes.at("kernel.config"),
              ElementsAre(Pair("B", "y")));
}

TEST(KernelTest, TakesTheNextPlaceWhenOneIsDamaged) {
  const TestHost host(std::string(kKernel) + "[boot]\nconfig-6.1.0-18-amd64 <<<\nCONFIG_A=y\n>>>");
  host.dir().WriteFile("proc/config.gz", "not gzip");
  const Reading reading = host.Read("kernel");
  EXPECT_THAT(reading.features.attributes.at("kernel.config"), ElementsAre(Pair("A", "y")));
  EXPECT_THAT(reading.problems,
              Contains(Field(&Problem::text, HasSubstr("config.gz: is not a valid gzip file"))));
}

TEST(KernelTest, ComplainsOfItsOwnFileThatIsMissing) {
  FeatureOptions options;
  options.kernel_config_file = "etc/kernel.config";
  EXPECT_THAT(ReadKernel("", options).problems,
              Contains(Field(&Problem::text, HasSubstr("etc/kernel.config"))));
}

TEST(KernelTest, KeepsOnlyOptionsForLabelsWhenRulesNeedNoMore) {
  FeatureOptions options;
  options.has_whole_kernel_config = false;
  EXPECT_THAT(
      ReadKernel("[boot]\nconfig-6.1.0-18-amd64 <<<\nCONFIG_SMP=y\nCONFIG_NO_HZ=y\n>>>", options)
          .features.attributes.at("kernel.config"),
      ElementsAre(Pair("NO_HZ", "y")));
}

TEST(KernelTest, SaysHowToShowAConfiguration) {
  const Reading reading = ReadKernel("");
  EXPECT_FALSE(reading.features.attributes.contains("kernel.config"));
  EXPECT_THAT(reading.problems, Contains(Field(&Problem::text, HasSubstr("load the module"))));
}

TEST(KernelTest, NamesModules) {
  const Reading reading = ReadKernel(
      "[proc]\nmodules <<<\nib_uverbs 163840 2 rdma_ucm, Live 0x0\nnvme 57344 3 - Live 0x0\n>>>\n"
      "[lib/modules/6.1.0-18-amd64]\nmodules.builtin <<<\nkernel/drivers/block/loop.ko\n"
      "kernel/README\n>>>");
  EXPECT_THAT(reading.features.flags.at("kernel.loadedmodule"), ElementsAre("ib_uverbs", "nvme"));
  EXPECT_THAT(reading.features.flags.at("kernel.enabledmodule"),
              ElementsAre("ib_uverbs", "loop", "nvme"));
}

TEST(KernelTest, ClaimsNoEnabledModulesWhenThoseBuiltInAreNotKnown) {
  const Reading reading = ReadKernel("[proc]\nmodules = nvme 57344 3 - Live 0x0");
  EXPECT_FALSE(reading.features.flags.contains("kernel.enabledmodule"));
}

TEST(KernelTest, TellsSelinuxAndKvm) {
  const auto without = ReadKernel("").features.attributes;
  EXPECT_EQ(without.at("kernel.selinux").at("enabled"), "false");
  EXPECT_EQ(without.at("kernel.kvm").at("enabled"), "false");
  const auto with =
      ReadKernel("[sys]\nfs/selinux/enforce = 1\ndevices/virtual/misc/kvm/dev = 10:232")
          .features.attributes;
  EXPECT_EQ(with.at("kernel.selinux").at("enabled"), "true");
  EXPECT_EQ(with.at("kernel.kvm").at("enabled"), "true");
  const auto permissive = ReadKernel("[sys/fs/selinux]\nenforce = 0").features.attributes;
  EXPECT_EQ(permissive.at("kernel.selinux").at("enabled"), "false");
}

TEST(KernelTest, LooksNowhereElseForAReleaseThatIsAPath) {
  const TestHost host("[proc/sys/kernel]\nosrelease = ../../etc\n[etc]\nconfig = CONFIG_A=y");
  EXPECT_FALSE(host.Read("kernel").features.attributes.contains("kernel.config"));
}

TEST(KernelTest, SaysThatProcIsMissing) {
  EXPECT_THAT(TestHost("[sys]").Read("kernel").problems,
              Contains(Field(&Problem::text, HasSubstr("osrelease is missing or empty"))));
}

}  // namespace
}  // namespace kgpu::features
