#include "src/host/features/kernel_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::features {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(KernelConfigTest, KeepsWhatIsSet) {
  EXPECT_THAT(ParseKernelConfig("# Linux/x86 6.1.0\nCONFIG_SMP=y\n# CONFIG_PREEMPT is not set\n"
                                "CONFIG_KVM=m\nCONFIG_LOCALVERSION=\"-generic\"\nCONFIG_HZ=250\n"),
              ElementsAre(Pair("HZ", "250"), Pair("KVM", "m"), Pair("LOCALVERSION", "-generic"),
                          Pair("SMP", "y")));
}

TEST(KernelConfigTest, TakesTheLastOfEqualNames) {
  EXPECT_THAT(ParseKernelConfig("CONFIG_A=m\nCONFIG_B=y\nCONFIG_A=y"),
              ElementsAre(Pair("A", "y"), Pair("B", "y")));
}

TEST(KernelConfigTest, TakesValuesWithEqualsSigns) {
  EXPECT_THAT(ParseKernelConfig("CONFIG_CMDLINE=\"console=ttyS0 quiet\"\n"),
              ElementsAre(Pair("CMDLINE", "console=ttyS0 quiet")));
}

TEST(KernelConfigTest, LeavesOutWhatSetsNothing) {
  EXPECT_THAT(ParseKernelConfig("CONFIG_\nSMP=y\n CONFIG_SMP=y\n\n\n"), IsEmpty());
  EXPECT_THAT(ParseKernelConfig(""), IsEmpty());
}

TEST(KernelConfigTest, KeepsOnlyWhatIsAskedFor) {
  EXPECT_THAT(
      FindKernelOptions("CONFIG_NO_HZ=m\nCONFIG_SMP=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_NO_HZ=y\n",
                        {"NO_HZ", "PREEMPT"}),
      ElementsAre(Pair("NO_HZ", "y")));
}

}  // namespace
}  // namespace kgpu::features
