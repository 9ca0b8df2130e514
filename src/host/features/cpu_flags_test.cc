#include "src/host/features/cpu_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <fmt/format.h>

namespace kgpu::features {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr std::string_view kIntelFlags = "ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69";
constexpr std::string_view kAmd = "ebx=0x68747541 ecx=0x444d4163 edx=0x69746e65";

std::string Leaf(unsigned leaf, unsigned subleaf, unsigned eax, unsigned ebx, unsigned ecx,
                 unsigned edx) {
  return fmt::format("{:#x} {:#x}: eax={:#x} ebx={:#x} ecx={:#x} edx={:#x}\n", leaf, subleaf, eax,
                     ebx, ecx, edx);
}

std::string Maker(std::string_view registers, unsigned last_basic, unsigned last_extended = 0) {
  return fmt::format("0x0 0x0: eax={:#x} {}\n", last_basic, registers) +
         Leaf(0x80000000, 0, last_extended, 0, 0, 0);
}

class Cpu {
 public:
  explicit Cpu(const std::string& text) : reader_(ParseRecordedCpuid(text).value()) {}
  CpuLeaves leaves() const { return CpuLeaves(*reader_); }
  Flags flags() const { return CpuFlags(leaves()); }

 private:
  std::unique_ptr<CpuidReader> reader_;
};

// XSAVE, OSXSAVE, AVX.
constexpr unsigned kAvxBits = 0x1c000000;

TEST(CpuFlagsTest, NamesTheBitsOfLeafOne) {
  const Cpu cpu(Maker(kIntelFlags, 1) + Leaf(1, 0, 0, 0, 0x2, 0x1));
  EXPECT_THAT(cpu.flags(), testing::ElementsAre("CLMUL", "X87"));
}

TEST(CpuFlagsTest, SaysNothingOfAnEmptyCpu) {
  EXPECT_THAT(Cpu("").flags(), IsEmpty());
}

TEST(CpuFlagsTest, ReadsNoLeafPastTheLast) {
  // Such a CPU answers leaf 7 with what its last leaf says.
  const Cpu cpu(Maker(kIntelFlags, 4) + Leaf(7, 0, 0, 0xffffffff, 0xffffffff, 0xffffffff));
  EXPECT_THAT(cpu.flags(), IsEmpty());
}

TEST(CpuFlagsTest, NamesAvxOnlyWhenTheKernelSavesItsRegisters) {
  const std::string cpu =
      Maker(kIntelFlags, 7) + Leaf(1, 0, 0, 0, kAvxBits, 0) + Leaf(7, 0, 0, 0x20, 0, 0);
  EXPECT_THAT(Cpu(cpu + "xcr0 0x7\n").flags(), IsSupersetOf({"AVX", "AVX2"}));
  EXPECT_THAT(Cpu(cpu + "xcr0 0x1\n").flags(), testing::ElementsAre("OSXSAVE", "XSAVE"));
}

TEST(CpuFlagsTest, NamesAvx512OnlyWhenTheKernelSavesItsRegisters) {
  const std::string cpu =
      Maker(kIntelFlags, 7) + Leaf(1, 0, 0, 0, kAvxBits, 0) + Leaf(7, 0, 0, 1 << 16, 0, 1 << 24);
  EXPECT_THAT(Cpu(cpu + "xcr0 0xe7\n").flags(), IsSupersetOf({"AVX512F", "AMXTILE"}));
  EXPECT_THAT(Cpu(cpu + "xcr0 0x7\n").flags(),
              AllOf(Not(Contains("AVX512F")), Not(Contains("AMXTILE"))));
}

TEST(CpuFlagsTest, DoesNotTakeProtectionKeysForMatrixInstructions) {
  const std::string cpu = Maker(kIntelFlags, 0x1e) + Leaf(1, 0, 0, 0, kAvxBits, 0) +
                          "xcr0 0x602e7\n" + Leaf(7, 0, 0, 0, 1 << 3, 1 << 24);
  EXPECT_THAT(Cpu(cpu).flags(), Not(Contains("AMXFP8")));
  EXPECT_THAT(Cpu(cpu + Leaf(0x1e, 1, 1 << 4, 0, 0, 0)).flags(), Contains("AMXFP8"));
}

TEST(CpuFlagsTest, TakesTheSecondBitManipulationsOnlyWithTheFirst) {
  EXPECT_THAT(Cpu(Maker(kIntelFlags, 7) + Leaf(7, 0, 0, 0x100, 0, 0)).flags(), IsEmpty());
  EXPECT_THAT(Cpu(Maker(kIntelFlags, 7) + Leaf(7, 0, 0, 0x108, 0, 0)).flags(),
              testing::ElementsAre("BMI1", "BMI2"));
}

TEST(CpuFlagsTest, KnowsThatCoresHaveThreads) {
  const std::string cpu = Maker(kIntelFlags, 0xb) + Leaf(1, 0, 0, 0, 0, 1 << 28);
  EXPECT_THAT(Cpu(cpu + Leaf(0xb, 0, 1, 2, 0x100, 0)).flags(), Contains("HTT"));
  EXPECT_THAT(Cpu(cpu + Leaf(0xb, 0, 0, 1, 0x100, 0)).flags(), Not(Contains("HTT")));
}

TEST(CpuFlagsTest, CountsThreadsOfOldIntelCpus) {
  // 16 logical processors in a package of 8 cores.
  const std::string cpu = Maker(kIntelFlags, 4) + Leaf(1, 0, 0, 16 << 16, 0, 1 << 28);
  EXPECT_THAT(Cpu(cpu + Leaf(4, 0, 7U << 26, 0, 0, 0)).flags(), Contains("HTT"));
  EXPECT_THAT(Cpu(cpu + Leaf(4, 0, 15U << 26, 0, 0, 0)).flags(), Not(Contains("HTT")));
}

TEST(CpuFlagsTest, CountsThreadsOfAmdByItsOwnLeaf) {
  const std::string cpu = Maker(kAmd, 0xb, 0x8000001e) + Leaf(1, 0, 0x00830f10, 0, 0, 1 << 28);
  EXPECT_THAT(Cpu(cpu + Leaf(0x8000001e, 0, 0, 0x100, 0, 0)).flags(), Contains("HTT"));
  EXPECT_THAT(Cpu(cpu + Leaf(0x8000001e, 0, 0, 0, 0, 0)).flags(), Not(Contains("HTT")));
}

TEST(CpuFlagsTest, ReadsAmdsEncryptionOfAmdAlone) {
  const std::string leaf = Leaf(0x8000001f, 0, 0x1a, 0, 0, 0);
  EXPECT_THAT(Cpu(Maker(kAmd, 1, 0x8000001f) + leaf).flags(),
              IsSupersetOf({"SEV", "SEV_ES", "SEV_SNP"}));
  EXPECT_THAT(Cpu(Maker(kIntelFlags, 1, 0x8000001f) + leaf).flags(), IsEmpty());
}

TEST(CpuFlagsTest, ReadsVirtualMachineFeaturesOnlyWithSvm) {
  const std::string cpu = Maker(kIntelFlags, 1, 0x8000000a) + Leaf(0x8000000a, 0, 0, 0, 0, 0x1);
  EXPECT_THAT(Cpu(cpu).flags(), IsEmpty());
  EXPECT_THAT(Cpu(cpu + Leaf(0x80000001, 0, 0, 0, 0x4, 0)).flags(),
              testing::ElementsAre("SVM", "SVMNP"));
}

TEST(CpuFlagsTest, CallsHalvedAvxSlow) {
  // Zen 1 and Zen 2.
  const std::string rest = Leaf(0xd, 0, 7, 0, 0, 0);
  EXPECT_THAT(Cpu(Maker(kAmd, 0xd) + Leaf(1, 0, 0x00800f12, 0, kAvxBits, 0) + rest).flags(),
              Contains("AVXSLOW"));
  EXPECT_THAT(Cpu(Maker(kAmd, 0xd) + Leaf(1, 0, 0x00830f10, 0, kAvxBits, 0) + rest).flags(),
              Not(Contains("AVXSLOW")));
}

TEST(CpuFlagsTest, NamesTheCountersThatAreThere) {
  const std::string cpu = Maker(kIntelFlags, 0xa);
  EXPECT_THAT(Cpu(cpu + Leaf(0xa, 0, 0x07300805, 0, 0, 0x603)).flags(),
              testing::ElementsAre("PMU_FIXEDCOUNTER_CYCLES", "PMU_FIXEDCOUNTER_INSTRUCTIONS",
                                   "PMU_FIXEDCOUNTER_REFCYCLES"));
  EXPECT_THAT(Cpu(cpu + Leaf(0xa, 0, 0x07300805, 0xe, 0, 0x603)).flags(),
              testing::ElementsAre("PMU_FIXEDCOUNTER_INSTRUCTIONS"));
  EXPECT_THAT(Cpu(cpu).flags(), IsEmpty());
}

TEST(CpuFlagsTest, KnowsGuestsOfTdx) {
  const std::string cpu = Maker(kIntelFlags, 0x21);
  EXPECT_FALSE(IsTdxGuest(Cpu(cpu).leaves()));
  EXPECT_TRUE(IsTdxGuest(Cpu(cpu + Leaf(0x21, 0, 0, 0x65746e49, 0x20202020, 0x5844546c)).leaves()));
  EXPECT_TRUE(IsTdxGuest(Cpu(cpu + Leaf(0x4000000c, 0, 0, 0xbe3, 0, 0)).leaves()));
}

TEST(CpuFlagsTest, AddsLevelsUpToTheFirstThatLacksSomething) {
  Flags flags = {"SYSCALL", "CMOV", "CMPXCHG8", "X87",  "FXSR", "MMX",   "SSE",  "SSE2",
                 "CX16",    "LAHF", "POPCNT",   "SSE3", "SSE4", "SSE42", "SSSE3"};
  AddX86Levels(flags);
  EXPECT_THAT(flags, AllOf(IsSupersetOf({"X86_64_V1", "X86_64_V2"}), Not(Contains("X86_64_V3"))));
}

TEST(CpuFlagsTest, AddsNoLevelToACpuWithoutSystemCalls) {
  Flags flags = {"CMOV", "CMPXCHG8", "X87", "FXSR", "MMX", "SSE", "SSE2"};
  AddX86Levels(flags);
  EXPECT_THAT(flags, Not(Contains("X86_64_V1")));
}

TEST(CpuFlagsTest, TellsTheVersionOfAvx10) {
  const std::string cpu = Maker(kIntelFlags, 0x24) + Leaf(0x24, 0, 0, 0x70001, 0, 0);
  EXPECT_EQ(Avx10Version(Cpu(cpu).leaves()), 0U);
  const Cpu with(cpu + Leaf(7, 1, 0, 0, 0, 1 << 19));
  EXPECT_EQ(Avx10Version(with.leaves()), 1U);
  EXPECT_THAT(with.flags(), IsSupersetOf({"AVX10", "AVX10_128", "AVX10_256", "AVX10_512"}));
}

TEST(CpuFlagsTest, AddsUpSgxMemory) {
  const Cpu cpu(Maker(kIntelFlags, 0x12) + Leaf(7, 0, 0, 0x4, 0, 0) +
                Leaf(0x12, 2, 0x1, 0, 0x80000001, 0x1) + Leaf(0x12, 3, 0x1, 0, 0x10000001, 0));
  EXPECT_EQ(SgxMemory(cpu.leaves()), 0x190000000U);
}

TEST(CpuFlagsTest, NamesWhatCanBeMonitoredAndAllotted) {
  const Cpu cpu(Maker(kIntelFlags, 0x10) + Leaf(7, 0, 0, 0x9000, 0, 0) +
                Leaf(0xf, 0, 0, 0, 0, 0x2) + Leaf(0xf, 1, 0, 0, 0, 0x7) +
                Leaf(0x10, 0, 0, 0xa, 0, 0));
  EXPECT_THAT(RdtFlags(cpu.leaves()),
              testing::ElementsAre("RDTCMT", "RDTL3CA", "RDTMBA", "RDTMBM", "RDTMON"));
}

struct ModelCase {
  std::string_view maker;
  unsigned signature;
  CpuModel model;
};

class CpuModelTest : public testing::TestWithParam<ModelCase> {};

TEST_P(CpuModelTest, IsThatOfTheSignature) {
  const Cpu cpu(Maker(GetParam().maker, 1) + Leaf(1, 0, GetParam().signature, 0, 0, 0));
  EXPECT_EQ(cpu.leaves().model(), GetParam().model);
}

INSTANTIATE_TEST_SUITE_P(
    Makers, CpuModelTest,
    testing::Values(ModelCase{kIntelFlags, 0x000806f8, {"Intel", 6, 143}},
                    ModelCase{kAmd, 0x00a00f11, {"AMD", 25, 1}},
                    ModelCase{kIntelFlags, 0x00000f29, {"Intel", 15, 2}},
                    // Family 5 has no extended model.
                    ModelCase{kIntelFlags, 0x000f0543, {"Intel", 5, 4}},
                    ModelCase{"ebx=0x1 ecx=0x2 edx=0x3", 0x00000600, {"VendorUnknown", 6, 0}}));

TEST(CpuModelTest, NamesHypervisors) {
  const std::string guest = Maker(kIntelFlags, 1) + Leaf(1, 0, 0, 0, 0x80000000, 0);
  const auto hypervisor = [](const std::string& text) { return Hypervisor(Cpu(text).leaves()); };
  EXPECT_EQ(hypervisor(Maker(kIntelFlags, 1)), "none");
  EXPECT_EQ(hypervisor(guest), "unknown");
  EXPECT_EQ(hypervisor(guest + Leaf(0x40000000, 0, 0, 0x4b4d564b, 0x564b4d56, 0x4d)), "kvm");
  EXPECT_EQ(hypervisor(guest + Leaf(0x40000000, 0, 0, 0x72626168, 0x20202072, 0x21)), "habrr_");
}

}  // namespace
}  // namespace kgpu::features
