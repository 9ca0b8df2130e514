#include "src/host/features/kernel_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <string>

#include "src/host/features/test_gzip.h"
#include "testing/status_matchers.h"

namespace kgpu::features {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

TEST(GunzipTest, GivesBackWhatWasPacked) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "CONFIG_OPTION_" + std::to_string(i) + "=y\n";
  }
  EXPECT_THAT(Gunzip(Gzip(text)), IsOkAndHolds(text));
  EXPECT_THAT(Gunzip(Gzip("")), IsOkAndHolds(std::string()));
}

TEST(GunzipTest, StopsAtTheLimit) {
  EXPECT_THAT(Gunzip(Gzip(std::string(100'000, 'a')), 99'999),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("99999")));
  EXPECT_THAT(Gunzip(Gzip(std::string(100'000, 'a')), 100'000), IsOk());
}

TEST(GunzipTest, RefusesWhatIsDamagedOrCutOff) {
  const std::string whole = Gzip(std::string(1000, 'x') + "end");
  EXPECT_THAT(Gunzip("CONFIG_SMP=y\n"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(Gunzip(""), StatusIs(StatusCode::kInvalidArgument));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(Gunzip(whole.substr(0, length)), StatusIs(StatusCode::kInvalidArgument)) << length;
  }
}

}  // namespace
}  // namespace kgpu::features
