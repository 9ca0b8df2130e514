#include "src/host/features/cpu_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::features {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr std::string_view kNeoverse =
    "processor\t: 0\n"
    "BogoMIPS\t: 50.00\n"
    "Features\t: fp asimd aes cpuid asimdrdm smei16i64 futurething\n"
    "CPU implementer\t: 0x41\n"
    "CPU architecture: 8\n"
    "CPU variant\t: 0x3\n"
    "CPU part\t: 0xd0c\n"
    "CPU revision\t: 1\n"
    "\n"
    "processor\t: 1\n"
    "Features\t: fp sve\n";

TEST(CpuInfoTest, NamesCapabilitiesOfArm) {
  EXPECT_THAT(ParseCpuInfo(kNeoverse).flags,
              ElementsAre("AES", "ASIMD", "ASIMDRDM", "CPUID", "FP", "SMEI16I64"));
}

TEST(CpuInfoTest, TellsTheModelOfArm) {
  EXPECT_EQ(ParseCpuInfo(kNeoverse).model, (CpuModel{"ARM", 0x3f, 0xd0c1}));
}

TEST(CpuInfoTest, TellsNoModelThatProgramsCannotRead) {
  EXPECT_EQ(ParseCpuInfo("Features : fp\nCPU implementer : 0x41\nCPU part : 0xd0c\n").model,
            CpuModel{});
}

TEST(CpuInfoTest, NamesFlagsOfX86InTheSpellingOfCpuid) {
  const CpuInfo info = ParseCpuInfo(
      "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
      "flags\t\t: fpu sep cx8 cmov fxsr mmx sse sse2 pni ssse3 sse4_1 xsave avx512_vnni nopl\n");
  EXPECT_EQ(info.model, (CpuModel{"Intel", 6, 143}));
  EXPECT_THAT(info.flags, AllOf(IsSupersetOf({"X87", "SYSEE", "CMPXCHG8", "SSE3", "SSE4",
                                              "AVX512VNNI", "OSXSAVE", "X86_64_V1"}),
                                Not(Contains("NOPL")), Not(Contains("X86_64_V2"))));
}

TEST(CpuInfoTest, SaysNothingOfOtherTexts) {
  for (const std::string_view text : {"", ":", "flags", "processor : 0\n\n\n"}) {
    EXPECT_THAT(ParseCpuInfo(text).flags, IsEmpty());
    EXPECT_EQ(ParseCpuInfo(text).model, CpuModel{});
  }
}

}  // namespace
}  // namespace kgpu::features
