// The interpreter: what kernels leave in memory.
#include "testing/cuda/ptx_run.h"

#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "testing/cuda/test_module.h"

namespace kgpu::ptx {
namespace {

using ::testing::ElementsAre;

struct Memory {
  std::vector<uint32_t> words;
};

// Addresses count from 0x1000.
void* Resolve(void* memory, uint64_t address, uint32_t size) {
  auto& words = static_cast<Memory*>(memory)->words;
  const uint64_t offset = address - 0x1000;
  return offset < words.size() * 4 && words.size() * 4 - offset >= size
             ? reinterpret_cast<uint8_t*>(words.data()) + offset
             : nullptr;
}

// Runs `body` in `threads` threads of each of two blocks.
Fault RunBody(const std::string& body, Memory& memory, uint32_t threads = 1) {
  const Parsed parsed = ParseBody(body);
  EXPECT_TRUE(parsed.is_good) << parsed.error;
  uint8_t parameters[8];
  const uint64_t start = 0x1000;
  memcpy(parameters, &start, sizeof(start));
  return Run({.module = parsed.module.get(),
              .function = &parsed.module->functions[0],
              .parameters = parameters,
              .grid = {2, 1, 1},
              .block = {threads, 1, 1},
              .resolve = &Resolve,
              .memory = &memory,
              .instruction_limit = 10'000});
}

// What `body` leaves in %r1.
uint32_t Result(const std::string& body) {
  Memory memory{std::vector<uint32_t>(1)};
  EXPECT_EQ(RunBody(body + "\nst.global.u32 [%rd0], %r1;", memory), Fault::kNone) << body;
  return memory.words[0];
}

TEST(PtxRunTest, EveryThreadKnowsItsPlace) {
  Memory memory{std::vector<uint32_t>(6)};
  ASSERT_EQ(RunBody("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
                    "mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd1, %r4, 4;\n"
                    "add.s64 %rd2, %rd0, %rd1; mad.lo.u32 %r5, %r1, 10, %r3;\n"
                    "st.global.u32 [%rd2], %r5; ret;",
                    memory, 3),
            Fault::kNone);
  EXPECT_THAT(memory.words, ElementsAre(0, 1, 2, 10, 11, 12));
}

TEST(PtxRunTest, ComputesIntegers) {
  EXPECT_EQ(Result("mov.u32 %r2, 7; sub.u32 %r1, %r2, 9;"), 0xfffffffeU);
  EXPECT_EQ(Result("mov.s32 %r2, -8; shr.s32 %r1, %r2, 1;"), 0xfffffffcU);
  EXPECT_EQ(Result("mov.s32 %r2, -8; shr.u32 %r1, %r2, 28;"), 15U);
  EXPECT_EQ(Result("mov.u32 %r2, 1; shl.b32 %r1, %r2, 32;"), 0U);
  EXPECT_EQ(Result("mov.u32 %r2, 0xf0; and.b32 %r3, %r2, 0x3c; or.b32 %r4, %r3, 1; "
                   "xor.b32 %r1, %r4, 0xff;"),
            0xceU);
  EXPECT_EQ(Result("mov.s32 %r2, -3; mul.wide.s32 %rd1, %r2, 5; add.s64 %rd2, %rd1, 20; "
                   "setp.eq.s64 %p0, %rd2, 5; mov.u32 %r1, 1; @%p0 mov.u32 %r1, 2;"),
            2U);
}

TEST(PtxRunTest, ComputesFloats) {
  EXPECT_EQ(Result("mov.f32 %f1, 0f40000000; fma.rn.f32 %f2, %f1, %f1, 0f3f800000; "
                   "mov.b32 %r1, %f2;"),
            0x40a00000U)
      << "2 * 2 + 1";
  EXPECT_EQ(Result("mov.f32 %f1, 0f40000000; sub.f32 %f2, %f1, 0f3f800000; mov.b32 %r1, %f2;"),
            0x3f800000U);
}

TEST(PtxRunTest, ComparesByTheType) {
  EXPECT_EQ(Result("mov.s32 %r2, -1; setp.lt.s32 %p0, %r2, 1; mov.u32 %r1, 0; "
                   "@%p0 mov.u32 %r1, 1;"),
            1U);
  EXPECT_EQ(Result("mov.s32 %r2, -1; setp.lt.u32 %p0, %r2, 1; mov.u32 %r1, 0; "
                   "@!%p0 mov.u32 %r1, 1;"),
            1U);
}

TEST(PtxRunTest, LoopsAndBranches) {
  EXPECT_EQ(Result("mov.u32 %r1, 0;\nAGAIN:\nadd.u32 %r1, %r1, 3;\nsetp.lt.u32 %p0, %r1, 10;\n"
                   "@%p0 bra AGAIN;"),
            12U);
}

TEST(PtxRunTest, FaultsOutsideOfItsMemory) {
  Memory memory{std::vector<uint32_t>(2)};
  EXPECT_EQ(RunBody("ld.global.u32 %r1, [%rd0+4];", memory), Fault::kNone);
  EXPECT_EQ(RunBody("ld.global.u32 %r1, [%rd0+8];", memory), Fault::kIllegalAddress);
  EXPECT_EQ(RunBody("st.global.u32 [%rd0+-4], %r1;", memory), Fault::kIllegalAddress);
  EXPECT_EQ(RunBody("ld.global.u32 %r1, [%rd0+2];", memory), Fault::kMisaligned);
}

TEST(PtxRunTest, AKernelWithoutEndIsEnded) {
  Memory memory;
  EXPECT_EQ(RunBody("FOREVER: bra FOREVER;", memory), Fault::kTooLong);
}

}  // namespace
}  // namespace kgpu::ptx
